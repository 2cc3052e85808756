"""Runs methods over rows: a bounded number at once, each outcome written when it is there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from evidencerails.evaluation import baselines
from evidencerails.evaluation.methods import verdict_of
from evidencerails.evaluation.outcomes import Outcome, Verdict, outcome_of
from evidencerails.evaluation.rows import Row
from evidencerails.evaluation.runs import RunFile
from evidencerails.guard import Guard

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
        outcome = await evaluated(guard, row, method)
        into.add(outcome)
        on_outcome(outcome)

    try:
        for row in rows:
            for method in methods:
                if into.has(row.id, method):
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


async def evaluated(guard: Guard, row: Row, method: str) -> Outcome:
    """The outcome of one method on one row."""
    try:
        verdict = await verdict_of(guard, method, row)
    except Exception as error:  # boundary to inputs and providers: one bad row must not end the run
        verdict = Verdict("unverified", None, f"failed: {type(error).__name__}: {error}"[:300], (), 0, 0, 0.0)
    return outcome_of(row, method, verdict, baselines.features(row))
