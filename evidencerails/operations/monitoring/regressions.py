"""Changes after which the scores are higher at once than before (control stack 20.7.3)."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import NamedTuple

from evidencerails.operations.monitoring.changes import Change
from evidencerails.operations.monitoring.estimates import difference
from evidencerails.operations.store.queries import Summary
from evidencerails.settings.monitoring import RegressionSettings


class Regression(NamedTuple):
    """One change, or several with too few reports between them to be told apart, after which scores rose."""

    changes: tuple[Change, ...]
    before: float
    """Mean score of the reports before."""
    after: float
    """Mean score of the reports after."""
    is_over: bool
    """The newest reports are nearer to the level before."""


def regressions(
    scored: Sequence[Summary], known: Sequence[Change], settings: RegressionSettings
) -> tuple[Regression, ...]:
    """The regressions, oldest first.

    A window holds at most `settings.window` reports and ends at the next change, so that no change answers for another.
    By order of arrival, not by clock.

    Args:
        scored: reports that have a score, in the order of arrival.
    """
    groups = _groups(scored, known, settings.min_reports)
    edges = [_place(scored, group[0].after_seq) for group in groups]
    found = []
    for number, group in enumerate(groups):
        begin = _place(scored, groups[number - 1][-1].after_seq) if number else 0
        end = edges[number + 1] if number + 1 < len(groups) else len(scored)
        before = _scores(scored[begin : edges[number]][-settings.window :])
        after = _scores(scored[_place(scored, group[-1].after_seq) : end][: settings.window])
        if min(len(before), len(after)) < settings.min_reports:
            continue
        seen = difference(before, after)
        if seen is not None and seen.rise > settings.rise and seen.low > 0.0:
            since = max(_place(scored, group[-1].after_seq), len(scored) - settings.window)
            now = statistics.fmean(_scores(scored[since:]))
            found.append(Regression(tuple(group), seen.before, seen.after, now - seen.before <= seen.rise / 2.0))
    return tuple(found)


def _groups(scored: Sequence[Summary], known: Sequence[Change], min_reports: int) -> list[list[Change]]:
    """Changes with at least so many reports between them; others stand together."""
    groups: list[list[Change]] = []
    for change in sorted(known, key=lambda one: (one.after_seq, one.at)):
        is_near = bool(groups) and (
            _place(scored, change.after_seq) - _place(scored, groups[-1][-1].after_seq) < min_reports
        )
        if is_near:
            groups[-1].append(change)
        else:
            groups.append([change])
    return groups


def _place(scored: Sequence[Summary], after_seq: int) -> int:
    """How many reports came up to this number."""
    low, high = 0, len(scored)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if scored[middle].seq <= after_seq else (low, middle)
    return low


def _scores(rows: Sequence[Summary]) -> list[float]:
    return [float(row.hallucination_score or 0.0) for row in rows]
