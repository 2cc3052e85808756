"""`evidencerails bisect`: which change of the configuration made the answers worse."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import typer

from evidencerails.adapters.nemo_watch import recorded, started_for_trial
from evidencerails.cli.common import (
    CONFIG,
    EXIT_UNVERIFIED,
    JSON,
    STORE,
    CliError,
    folder_of,
    opened,
    say,
    seconds_of,
    settings_for,
)
from evidencerails.config import GuardConfig
from evidencerails.errors import InputError
from evidencerails.evaluation.methods import for_evaluation
from evidencerails.exchange import Exchange
from evidencerails.guard import Guard
from evidencerails.operations.batch.rows import format_of, rows_of
from evidencerails.operations.monitoring.bisection import Case, Found, Scored, bisected, case_of, scored
from evidencerails.report import Report
from evidencerails.text.visible import visible

EXIT_FOUND = 1
_ROWS = "JSON lines: response or prompt, evidence, optionally hallucinated."
_CONFIGS = "Settings or config folders, oldest first. Default: those of the change log."
_MAX_SCORE = "Score above which a configuration is bad. Default: halfway between the first and the last."
_MIN_RISE = "Minimum increase of the score from first to last; below it no cause is searched for."


class State(NamedTuple):
    """One configuration, and the change that led to it."""

    path: Path
    change: str


def bisect(
    rows: Path = typer.Argument(..., metavar="ROWS", help=_ROWS),
    configs: list[Path] = typer.Argument(None, metavar="[CONFIG]...", help=_CONFIGS),
    since: str = typer.Option("4w", metavar="TIME", help="How far back the change log is read."),
    max_score: float | None = typer.Option(None, min=0.0, max=1.0, help=_MAX_SCORE),
    min_rise: float = typer.Option(0.05, min=0.0, max=1.0, help=_MIN_RISE),
    concurrency: int = typer.Option(8, min=1, help="Rows with a response under way at once."),
    as_json: bool = JSON,
    config: Path | None = CONFIG,
    store: str | None = STORE,
) -> int:
    """Find the configuration after which answers got worse, by trying few of them on an evaluation set.

    evidencerails bisect rows.jsonl configs/v1 configs/v2 configs/v3

    A row with a `response` is checked with each configuration's settings; one with only a `prompt` is answered by the
    app in the config folder first. The score is the share of rows judged wrongly where rows say `hallucinated`, else
    the mean hallucination score. Without CONFIG it tries what `evidencerails change TEXT --state CONFIG` recorded.

    Exit code: 0 the last is not worse than the first, 1 cause found, 3 too much could not be verified, 2 wrong usage.
    """
    cases = _cases(rows)
    states = [State(path, "") for path in configs or ()] or _states(config, store, seconds_of(since))
    for state in states:
        if not state.path.exists():
            raise CliError(f"there is no configuration {str(state.path)!r}")

    async def evaluate(place: int) -> Scored:
        found = await _evaluated(states[place].path, cases, concurrency)
        say(f"{states[place].path}: score {found.score:.3f} over {found.rows} rows, {found.unverified} unverified")
        return found

    try:
        found = asyncio.run(bisected(len(states), evaluate, max_score=max_score, min_rise=min_rise))
    except InputError as error:
        say(str(error))
        return EXIT_UNVERIFIED if "could not be verified" in str(error) else 2
    _print(found, states, as_json)
    return 0 if found.first_bad is None else EXIT_FOUND


def _cases(file: Path) -> list[Case]:
    cases = []
    for row in rows_of(str(file), format_of(str(file))):
        try:
            if row.problem:
                raise InputError(row.problem)
            cases.append(case_of(dict(row.fields)))
        except InputError as error:
            raise CliError(f"{file}, row {row.number}: {error}") from None
    if not cases:
        raise CliError(f"{file} has no rows")
    return cases


def _states(config: Path | None, store: str | None, span_s: float) -> list[State]:
    """The configurations of the change log; the last one before the span is the first to try: it was good."""
    from evidencerails.operations.monitoring.changes import changes

    with opened(settings_for(config, store)) as kept:
        known = [change for change in changes(kept) if change.state]
        begin = kept.now() - span_s
    inside = [change for change in known if change.at >= begin]
    chosen = [*[change for change in known if change.at < begin][-1:], *inside]
    if len(chosen) < 2:
        raise CliError(
            f"the change log names {len(chosen)} configurations; give them as arguments, or write them down with "
            "`evidencerails change TEXT --state CONFIG`"
        )
    return [State(Path(change.state or ""), change.description) for change in chosen]


async def _evaluated(path: Path, cases: Sequence[Case], concurrency: int) -> Scored:
    app = _app_of(path) if any(not case.exchange.response for case in cases) else None
    guard = Guard(for_evaluation(GuardConfig.load(path)), folder=folder_of(path))
    limit = asyncio.Semaphore(concurrency if app is None else 1)  # an app records its turns one at a time

    async def one(case: Case) -> Report:
        async with limit:
            if app is not None and not case.exchange.response:
                return await _answered(app, case.exchange, guard)
            return await guard.check_exchange(case.exchange, mitigate=False)

    try:
        return scored(cases, await asyncio.gather(*(one(case) for case in cases)))
    finally:
        await asyncio.to_thread(guard.close)


def _app_of(folder: Path) -> Any:
    """The guardrails app of a config folder, which answers questions."""
    from nemoguardrails import RailsConfig

    if not folder.is_dir():
        raise CliError(f"{str(folder)!r} is no config folder; rows without a response need an app to answer them")
    return started_for_trial(RailsConfig.from_path(str(folder)))


async def _answered(app: Any, question: Exchange, guard: Guard) -> Report:
    """What the app's own rails say of its answer; if none of them ran, what its settings say of it."""
    chunks = "\n\n".join(passage.text for passage in question.evidence)
    messages = [{"role": "context", "content": {"relevant_chunks": chunks}}] if chunks else []
    messages.append({"role": "user", "content": question.user_input})
    with recorded(app) as reports:
        try:
            reply = await app.generate_async(messages=messages)
        except Exception as error:  # boundary to the app and its model
            return Report(status="unverified", reason=f"the app failed: {type(error).__name__}")
    if reports:
        return max(reports, key=lambda report: report.hallucination_score or 0.0)
    answer = str(reply.get("content", ""))
    return await guard.check_exchange(question.model_copy(update={"response": answer}), mitigate=False)


def _print(found: Found, states: Sequence[State], as_json: bool) -> None:
    bad = None if found.first_bad is None else states[found.first_bad]
    if as_json:
        data = {
            "first_bad": None if bad is None else {"config": str(bad.path), "change": bad.change or None},
            "max_score": found.max_score,
            "scores": {str(states[place].path): one._asdict() for place, one in sorted(found.scores.items())},
            "at": time.time(),
        }
        print(json.dumps(data, indent=2))
    elif bad is None:
        print("no regression: the last configuration is not worse than the first")
    else:
        change = f" ({visible(bad.change, one_line=True)})" if bad.change else ""
        print(f"first bad: {bad.path}{change}; {len(found.scores)} of {len(states)} configurations tried")
