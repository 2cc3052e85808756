"""One look at the stored reports: rate, chart, budget, breakdowns, and what is alarming. Blocking; no turn waits.

Everything is computed anew from the rows, in the order in which they came: a monitor that is killed, or runs twice, or
on a machine whose clock is wrong, sees the same.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from groundrails.config_monitoring import MonitoringSettings
from groundrails.monitoring.budget import Budget, Scored, budget_of
from groundrails.monitoring.changes import Change, changes, nearest_change
from groundrails.monitoring.cusum import Alarm, Chart, Cusum, alarms_in, chart_of
from groundrails.store import queries
from groundrails.store.queries import Count, Filter, Summary

if TYPE_CHECKING:
    from groundrails.store.store import Store

DAY_S = 86_400.0
MIN_AFTER = 30
"""Reports after an alarm before it can be over: a mean of fewer says little."""
BREAKDOWNS: tuple[queries.GroupBy, ...] = ("flow", "agent", "model", "stakes")


class Window(NamedTuple):
    """The last reports."""

    reports: int
    hallucinated: int
    unverified: int
    mean_score: float | None
    low: float | None
    """Lower end of the 95% interval (Wilson) of the share of hallucinated ones among those checked."""
    high: float | None


class Shift(NamedTuple):
    """An alarm of the chart, in words of the store."""

    direction: str
    report_id: str
    """At which the chart alarmed."""
    at: float
    began_at: float
    """When the shift began, most likely."""
    mean_since: float
    """Mean score since then."""
    change: Change | None
    """The change that is likeliest behind it."""


class View(NamedTuple):
    """What the monitor sees."""

    window: Window
    chart: Chart | None
    """None until there are enough reports."""
    cusum_up: float | None
    cusum_down: float | None
    shifts: tuple[Shift, ...]
    is_shifted: bool
    """The last shift was upwards, and the scores since its alarm have not come back to the baseline."""
    budget: Budget
    worst: tuple[Summary, ...]
    breakdowns: dict[str, list[Count]]
    findings: dict[str, int]
    """Reports by category of their findings, in the window of the budget."""
    retrieval_correlation: float | None
    """Spearman's, of hallucination score and retrieval quality, over the window; None if too few have both."""


def view_of(store: Store, settings: MonitoringSettings) -> View:
    """Look at the store.

    Raises:
        StoreError: it cannot be read.
    """
    engine = store.engine
    rows = list(queries.summaries(engine))
    scored = [row for row in rows if row.hallucination_score is not None]
    since = store.clock.now() - settings.budget.window_days * DAY_S
    recent = Filter(since=since)
    chart, cusum, shifts = _chart(scored, settings, changes(store))
    return View(
        window=window_of(rows[-settings.window :]),
        chart=chart,
        cusum_up=cusum.up if cusum else None,
        cusum_down=cusum.down if cusum else None,
        shifts=tuple(shifts),
        is_shifted=bool(shifts)
        and shifts[-1].direction == "up"
        and _has_not_come_back(shifts[-1], scored, chart, settings),
        budget=budget_of(_weighed(store, recent), settings.budget),
        worst=tuple(queries.worst(engine, recent, limit=settings.worst)) if settings.worst else (),
        breakdowns={name: queries.counts(engine, name, recent) for name in BREAKDOWNS},
        findings=queries.finding_counts(engine, "category", recent),
        retrieval_correlation=_retrieval_correlation(store, rows[-settings.window :]),
    )


def window_of(rows: Sequence[Summary]) -> Window:
    """Counts, mean and interval of some reports."""
    scores = [row.hallucination_score for row in rows if row.hallucination_score is not None]
    bad = sum(1 for row in rows if row.status == "hallucinated")
    unverified = sum(1 for row in rows if row.status == "unverified")
    low, high = wilson(bad, len(rows) - unverified)
    return Window(len(rows), bad, unverified, statistics.fmean(scores) if scores else None, low, high)


def wilson(hits: int, total: int, *, z: float = 1.96) -> tuple[float | None, float | None]:
    """Wilson's interval of a share; `(None, None)` of nothing."""
    if total <= 0:
        return None, None
    share = hits / total
    middle = (share + z * z / (2 * total)) / (1 + z * z / total)
    half = z / (1 + z * z / total) * ((share * (1 - share) / total + z * z / (4 * total * total)) ** 0.5)
    return max(0.0, middle - half), min(1.0, middle + half)


def mean_change_at(scores_before: Sequence[float], scores_after: Sequence[float]) -> float | None:
    """Mean after a change less the mean before it (control stack 20.7.3); None if either is empty."""
    if not scores_before or not scores_after:
        return None
    return statistics.fmean(scores_after) - statistics.fmean(scores_before)


def _chart(
    scored: Sequence[Summary], settings: MonitoringSettings, known: Sequence[Change]
) -> tuple[Chart | None, Cusum | None, list[Shift]]:
    size = settings.cusum.baseline_size
    if len(scored) < size:
        return None, None, []
    scores = [float(row.hallucination_score or 0.0) for row in scored]
    chart = chart_of(scores[:size], settings.cusum)
    alarms, cusum = alarms_in(scores[size:], chart)
    return chart, cusum, [_shift(alarm, scored[size:], known) for alarm in alarms]


def _shift(alarm: Alarm, rows: Sequence[Summary], known: Sequence[Change]) -> Shift:
    since = [row.hallucination_score for row in rows[alarm.began : alarm.at + 1]]
    return Shift(
        direction=alarm.direction,
        report_id=rows[alarm.at].id,
        at=rows[alarm.at].created_at,
        began_at=rows[alarm.began].created_at,
        mean_since=statistics.fmean(score for score in since if score is not None),
        change=nearest_change(known, rows[alarm.began].seq, rows[alarm.at].seq),
    )


def _has_not_come_back(
    shift: Shift, scored: Sequence[Summary], chart: Chart | None, settings: MonitoringSettings
) -> bool:
    """True while the mean of the last reports is nearer to the shifted level than to the baseline."""
    assert chart is not None
    place = next(place for place, row in enumerate(scored) if row.id == shift.report_id)
    after = [float(row.hallucination_score or 0.0) for row in scored[place + 1 :]][-settings.window :]
    return len(after) < MIN_AFTER or statistics.fmean(after) > chart.baseline + chart.slack


def _weighed(store: Store, where: Filter) -> list[Scored]:
    rates = queries.sample_rates(store.engine, where)
    return [Scored(score, 1.0 / rate if rate > 0 else 1.0) for score, rate in rates]


def _retrieval_correlation(store: Store, rows: Sequence[Summary]) -> float | None:
    """Of those reports whose abstention weighed the retrieval."""
    if not rows:
        return None
    pairs = []
    for kept in queries.each(store.engine, after_seq=rows[0].seq - 1):
        parts = (kept.body["report"].get("abstention") or {}).get("parts") or {}
        quality, score = parts.get("retrieval_quality"), kept.summary.hallucination_score
        if quality is not None and score is not None:
            pairs.append((float(quality), float(score)))
    return spearman(pairs)


MIN_PAIRS = 20


def spearman(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Rank correlation with ties at their mean rank; None of fewer than 20 pairs, or if one side is constant."""
    if len(pairs) < MIN_PAIRS:
        return None
    left, right = (_ranks([pair[side] for pair in pairs]) for side in (0, 1))
    if len(set(left)) < 2 or len(set(right)) < 2:
        return None
    return statistics.correlation(left, right)


def _ranks(values: Sequence[float]) -> list[float]:
    ordered = sorted(values)
    first = {value: place for place, value in reversed(list(enumerate(ordered)))}
    last = {value: place for place, value in enumerate(ordered)}
    return [(first[value] + last[value]) / 2.0 for value in values]
