"""`evidencerails redteam`: attacks made from the user's own evidence, on the engine or a whole app."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from evidencerails.cli.check_input import refuse_unwritable
from evidencerails.cli.errors import EXIT_UNVERIFIED, CliError
from evidencerails.cli.redteam_target import Attacked, documents_in, opened
from evidencerails.cli.redteam_written import Written
from evidencerails.cli.terminal import ProgressBar, say

if TYPE_CHECKING:
    from evidencerails.evaluation.redteam.attacks import Attack, Category
    from evidencerails.evaluation.redteam.session import Run

EXIT_BELOW = 1


def redteam(
    evidence: list[Path] = typer.Option(
        [], "--evidence", "-e", metavar="PATH", help="Text files and folders of them that attacks are made from."
    ),
    config: Path | None = typer.Option(
        None,
        "--config",
        "-c",
        metavar="PATH",
        help="Settings of the engine: a YAML file or a guardrails config folder.",
    ),
    app: Path | None = typer.Option(
        None, "--app", metavar="DIR", help="Attack a whole guardrails config with its rails instead of the engine."
    ),
    ask: bool | None = typer.Option(
        None, "--ask/--no-ask", help="Put the questions to the model, too. Default: if one is configured."
    ),
    categories: list[str] = typer.Option([], "--category", metavar="NAMES", help="Only these. Default: all."),
    per_category: int = typer.Option(3, "--per-category", "-n", min=1, help="Attacks made a category."),
    seed: int = typer.Option(0, "--seed", help="Of the attacks."),
    suite: list[Path] = typer.Option([], "--suite", metavar="FILE", help="Further attacks that stay the same."),
    static: bool = typer.Option(True, "--static/--no-static", help="Use the suite that ships, too."),
    save_suite: Path | None = typer.Option(None, "--save-suite", metavar="FILE", help="Write all attacks as a suite."),
    propose: Path | None = typer.Option(
        None, "--propose", metavar="FILE", help="Append new attacks that got through: candidates for your suite."
    ),
    history: Path | None = typer.Option(
        None, "--history", metavar="FILE", help="A line a run; later runs aim at what changed and notice a fall."
    ),
    only_changes: bool = typer.Option(False, "--only-changes", help="Make attacks only from what changed."),
    max_drop: float = typer.Option(0.05, "--max-drop", min=0.0, max=1.0, help="A fall beyond this is an alarm."),
    min_score: float | None = typer.Option(None, "--min-score", min=0.0, max=1.0, help="A lower score is exit code 1."),
    min_coverage: float = typer.Option(
        1.0, "--min-coverage", min=0.0, max=1.0, help="Share of the categories that must get a verdict, or exit code 3."
    ),
    schedule: str | None = typer.Option(
        None, "--schedule", metavar="TIME", help="Run again every 30m, 12h, 7d, until Ctrl-C."
    ),
    runs: int | None = typer.Option(None, "--runs", min=1, help="With --schedule: end after so many runs."),
    store: str | None = typer.Option(
        None, "--store", metavar="URL", help="Store that keeps alerts and the change log. Default: the settings'."
    ),
    json_file: Path | None = typer.Option(None, "--json", metavar="FILE", help="Write everything as JSON."),
    html: Path | None = typer.Option(None, "--html", metavar="FILE", help="Write the report as one HTML page."),
    markdown: Path | None = typer.Option(None, "--markdown", metavar="FILE", help="Write the report as Markdown."),
) -> int:
    """Attack the guard with answers and questions made from your own evidence, and score what it does.

    evidencerails redteam --evidence docs/ --html redteam.html

    Exit code: 0 done, 1 below --min-score or fallen since the last run, 3 fewer categories got a verdict than
    --min-coverage asks for, 2 wrong usage.
    """
    written = Written(json_file, html, markdown, save_suite, propose)
    for file in (*written.files, history):
        if file is not None:
            refuse_unwritable(file)
    if config is not None and app is not None:
        raise CliError("give --config for the engine or --app for a whole app, not both")
    options = {"categories": _categories(categories), "per_category": per_category, "seed": seed, "history": history,
               "only_changes": only_changes, "max_drop": max_drop}  # fmt: skip
    static_attacks = _static(suite, static)

    def once() -> int:
        attacked = opened(config, app, ask=ask, store=store, history=history)  # anew: settings may have changed
        found = _run(attacked, documents_in(evidence, app), static_attacks, **options)
        written.take(found)
        attacked.tell(found)
        return _exit_code(found, min_score, min_coverage)

    return _repeated(once, _seconds(schedule, runs), runs)


def _repeated(once: Callable[[], int], every_s: float | None, runs: int | None) -> int:
    """The exit code of one run, or the worst of a schedule's; a schedule without an end runs until Ctrl-C."""
    worst = once()
    if every_s is None:
        return worst
    for _ in range(1, runs) if runs is not None else itertools.count():
        time.sleep(every_s)
        worst = max(worst, once())
    return worst


def _seconds(schedule: str | None, runs: int | None) -> float | None:
    from evidencerails.cli.span import seconds_of

    if schedule is None and runs is not None:
        raise CliError("--runs needs --schedule, as in --schedule 12h --runs 10")
    return None if schedule is None else seconds_of(schedule)


def _categories(given: Sequence[str]) -> Sequence[Category]:
    from evidencerails.evaluation.redteam.attacks import CATEGORIES
    from evidencerails.settings.problems import nearest

    names = [name.strip().replace("-", "_") for part in given for name in part.split(",") if name.strip()]
    for name in names:
        if name not in CATEGORIES:
            raise CliError(f"unknown category {name!r}{nearest(name, CATEGORIES)}; available: {', '.join(CATEGORIES)}")
    return tuple(name for name in CATEGORIES if name in names) if names else CATEGORIES


def _static(files: Sequence[Path], shipped: bool) -> list[Attack]:
    from evidencerails.evaluation.redteam.suite import SHIPPED, read_suite, together

    return together(*([read_suite(SHIPPED)] if shipped else []), *(read_suite(file) for file in files))


def _run(attacked: Attacked, documents: Any, static: Sequence[Attack], **options: Any) -> Run:
    from evidencerails.adapters.nemo_watch import quiet
    from evidencerails.evaluation.redteam.session import Plan, run

    progress = ProgressBar("attacking")
    plan = Plan(
        documents=documents, static=static, target=attacked.target, name=attacked.name, config=attacked.config,
        change_log=attacked.change_log, **options,
    )  # fmt: skip
    if attacked.target.can_be_asked:
        say("questions go to the configured model, too; --no-ask leaves them out")
    try:
        with quiet():
            return asyncio.run(run(plan, on_start=progress.start, on_shot=progress.step))
    finally:
        progress.stop()


def _exit_code(run: Run, min_score: float | None, min_coverage: float) -> int:
    score = run.data["score"]["value"]
    if score is None:
        say("no attack got a verdict")
        return EXIT_UNVERIFIED
    if run.fall is not None:
        say(run.fall.told())
        return EXIT_BELOW
    if min_score is not None and score < min_score:
        say(f"the robustness score {score:.3f} is below {min_score:g}")
        return EXIT_BELOW
    if run.data["coverage"]["value"] < min_coverage:
        from evidencerails.evaluation.redteam.wording import coverage_line

        say(f"{coverage_line(run.data)}; --category names the ones you want, --min-coverage accepts fewer")
        return EXIT_UNVERIFIED
    return 0
