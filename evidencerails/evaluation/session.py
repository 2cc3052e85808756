"""An evaluation from data set to results: what the command does, without the terminal; and two runs compared.

A comparison is McNemar's exact test on the rows that only one run judges rightly (unverified is wrong), and paired
bootstrap intervals of the differences of the metrics, whole documents drawn.
"""

from __future__ import annotations

import asyncio
import datetime
import os
import platform
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from evidencerails.errors import InputError
from evidencerails.evaluation import metrics
from evidencerails.evaluation.datasets import Dataset
from evidencerails.evaluation.methods import for_evaluation, known, verdict_of
from evidencerails.evaluation.metrics import Estimate, Interval, intervals
from evidencerails.evaluation.outcomes import Outcome, RunFile, Verdict, header_of, outcome_of, outcomes_in, read_header
from evidencerails.evaluation.results import columns_of, features, results_of
from evidencerails.evaluation.rows import Row
from evidencerails.guard import Guard
from evidencerails.version import __version__

DEFAULT_CONCURRENCY = 4
OnOutcome: TypeAlias = "Callable[[Outcome | None], None]"
"""Called for each outcome; with None for one that was there already."""


async def run(
    guard: Guard,
    methods: Sequence[str],
    rows: Iterable[Row],
    into: RunFile,
    *,
    concurrency: int = DEFAULT_CONCURRENCY,
    on_outcome: OnOutcome = lambda outcome: None,
) -> None:
    """Evaluate every row with every method that the file has no outcome for.

    Rows are taken from the iterator as there is room: no more than `concurrency` are held. Whatever a method raises
    becomes an unverified outcome; a cancelled run leaves the finished outcomes in the file.
    """
    under_way: set[asyncio.Task[None]] = set()

    async def one(row: Row, method: str) -> None:
        try:
            verdict = await verdict_of(guard, method, row)
        except Exception as error:  # boundary to inputs and providers: one bad row must not end the run
            verdict = Verdict("unverified", reason=f"failed: {type(error).__name__}: {error}"[:300])
        outcome = outcome_of(row, method, verdict, features(row))
        into.add(outcome)
        on_outcome(outcome)

    try:
        for row in rows:
            for method in methods:
                if (row.id, method) in into.done:
                    on_outcome(None)
                    continue
                if len(under_way) >= concurrency:
                    finished, under_way = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
                    for task in finished:
                        task.result()  # an error in writing the file ends the run
                under_way.add(asyncio.create_task(one(row, method)))
        await asyncio.gather(*under_way)
    finally:
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)


@dataclass(frozen=True, kw_only=True)
class Plan:
    dataset: Dataset
    methods: Sequence[str]
    run_file: Path
    sample: int | None = None
    seed: int = 0
    concurrency: int = DEFAULT_CONCURRENCY
    fresh: bool = False


def evaluate(
    plan: Plan,
    guard: Guard,
    *,
    on_start: Callable[[int, int], None] = lambda total, done: None,
    on_outcome: OnOutcome = lambda outcome: None,
) -> dict[str, Any]:
    """Run what is not done yet, and give the results of the whole.

    Args:
        on_start: called with the number of outcomes wanted and of those that were there already.

    Raises:
        InputError: the data set has no labelled row.
        SettingsError: a method is unknown.
        RunFileError: the file belongs to another run.
    """
    methods = known(plan.methods)
    total = sum(1 for _ in plan.dataset.rows(sample=plan.sample, seed=plan.seed))
    if not total:
        problems = plan.dataset.problems
        reasons = "; ".join([problems.described() or "it is empty", *problems.examples[:3]])
        raise InputError(f"{plan.dataset.name} has no row to evaluate: {reasons}")
    guard.config = for_evaluation(guard.config)
    header = header_of(plan.dataset.name, plan.dataset.fingerprint(), plan.sample, plan.seed, guard.config)
    with RunFile(plan.run_file, header, fresh=plan.fresh) as into:
        on_start(total * len(methods), len(into.done))
        rows = plan.dataset.rows(sample=plan.sample, seed=plan.seed)
        asyncio.run(run(guard, methods, rows, into, concurrency=plan.concurrency, on_outcome=on_outcome))
    columns = columns_of(one for one in outcomes_in(plan.run_file) if one.method in methods)
    problems = plan.dataset.problems
    about = {
        "dataset": plan.dataset.name,
        "rows": total,
        "sample": plan.sample,
        "seed": plan.seed,
        "problems": problems.described(),
        "problem_counts": problems.counts(),
        "problem_examples": list(problems.examples),
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "concurrency": plan.concurrency,
        "version": __version__,
        "run": plan.run_file.name,
    }
    found = results_of({name: columns[name] for name in methods if name in columns}, seed=plan.seed)
    return {"schema_version": 1, "run": about, **found}


def comparisons(first: Path, second: Path, methods: Sequence[str]) -> list[dict[str, Any]]:
    """Each method of the second run against the same one of the first. `RunFileError`: a file is not one of a run.
    `InputError`: no method is in both."""
    read_header(first), read_header(second)
    found = []
    for method in methods:
        pair = [verdicts_of(outcomes_in(path), method) for path in (first, second)]
        if pair[0] and pair[1]:
            found.append(comparison(pair[0], pair[1], (f"{method} ({first.name})", f"{method} ({second.name})")))
    if not found:
        raise InputError(f"{str(first)!r} has no outcome of {', '.join(methods)}; nothing to compare")
    return found


def machine() -> str:
    """The processor and its usable cores, for people."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8", errors="replace").splitlines() if info.exists() else []
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return f"{model or platform.processor() or platform.machine()}, {cores} cores, Python {platform.python_version()}"


COMPARED = {"f1": "flag", "balanced_accuracy": "flag", "auroc": "score", "auprc": "score"}


class RowVerdict(NamedTuple):
    """The verdict of one run on a row; an unverified row has the wrong flag and the wrong score."""

    label: bool
    flag: bool
    score: float
    document: str


def verdicts_of(outcomes: Iterable[Outcome], method: str) -> dict[str, RowVerdict]:
    found = {}
    for one in outcomes:
        if one.method == method:
            is_blind, wrong = one.status == "unverified", not one.hallucinated
            score = float(wrong) if is_blind or one.score is None else one.score
            found[one.id] = RowVerdict(one.hallucinated, wrong if is_blind else one.flagged, score, one.document)
    return found


def comparison(first: dict[str, RowVerdict], second: dict[str, RowVerdict], names: tuple[str, str]) -> dict[str, Any]:
    """The comparison of the second with the first, on the rows that both have and label alike.

    `differences` are second minus first; `p_mcnemar` is None where they are right on the same rows.
    """
    common = [row for row in first if row in second and first[row].label == second[row].label]
    one, other = [first[row] for row in common], [second[row] for row in common]
    right = [(a.flag == a.label, b.flag == b.label) for a, b in zip(one, other, strict=True)]
    only_first, only_second = right.count((True, False)), right.count((False, True))
    discordant, binomtest = only_first + only_second, metrics.library("scipy.stats").binomtest
    return {
        "first": names[0],
        "second": names[1],
        "rows": len(common),
        "only_first_right": only_first,
        "only_second_right": only_second,
        "p_mcnemar": float(binomtest(only_second, discordant, 0.5).pvalue) if discordant else None,
        "differences": {name: _difference(name, one, other).as_dict() for name in COMPARED},
    }


def _difference(name: str, first: Sequence[RowVerdict], second: Sequence[RowVerdict]) -> Interval:
    labels = np.array([one.label for one in first], dtype=np.bool_)
    metric = {**metrics.FLAG_METRICS, **metrics.SCORE_METRICS}[name]
    before, after = (
        metric.estimate(labels, np.array([getattr(one, COMPARED[name]) for one in run], dtype=np.float64))
        for run in (first, second)
    )
    change = Estimate(lambda at: after.of_places(at) - before.of_places(at), len(first), before.reason)
    return intervals({"": change}, [one.document for one in first])[""]
