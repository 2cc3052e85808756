"""How a service does, from its kept reports: error budget, CUSUM with alarms, changes. Blocking: use a thread."""

from __future__ import annotations

import time
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import select

from groundrails.config_monitoring import CusumSettings, MonitoringSettings
from groundrails.monitoring.budget import Budget, Scored, budget_of
from groundrails.monitoring.changes import Change, changes, nearest_change
from groundrails.monitoring.cusum import Alarm, Chart, Cusum, chart_of
from groundrails.store.engine import reading
from groundrails.store.models import ReportRow

if TYPE_CHECKING:
    from groundrails.store import Store

DAY_S = 86_400.0
MAX_ROWS = 100_000
"""Newest reports that are looked at."""
MAX_POINTS = 240
"""Of a drawn line."""


class Shift(NamedTuple):
    """An alarm of the CUSUM with the change that may be behind it."""

    alarm: Alarm
    at: float
    began: float
    change: Change | None


class Watch(NamedTuple):
    """Where a service stands."""

    budget: Budget
    chart: Chart | None
    """None until there are enough reports to learn from."""
    learnt: int
    """Scores that there are, at most those that the chart learns from."""
    wanted: int
    statistic: float | None
    """Of the upper chart, now."""
    line: list[tuple[float, float]]
    """Time and upper statistic, thinned out for drawing."""
    shifts: list[Shift]
    changes: list[Change]


def watch(store: Store, settings: MonitoringSettings) -> Watch:
    """The state now.

    Raises:
        StoreError: the database cannot be read.
    """
    rows = _rows(store)
    since = time.time() - settings.budget.window_days * DAY_S
    known = changes(store)
    budget = budget_of(
        (Scored(score, 1 / rate if rate else 1.0) for _, at, score, rate in rows if at >= since), settings.budget
    )
    scored = [(seq, at, score) for seq, at, score, _ in rows if score is not None]
    size = settings.cusum.baseline_size
    if len(scored) < size:
        return Watch(budget, None, len(scored), size, None, [], [], known)
    chart = _chart(tuple(score for _, _, score in scored[:size]), settings.cusum)
    line, shifts, now = _run(chart, scored[size:], known)
    return Watch(budget, chart, size, size, now, line, shifts, known)


def _rows(store: Store) -> list[Any]:
    columns = (ReportRow.seq, ReportRow.created_at, ReportRow.hallucination_score, ReportRow.sample_rate)
    query = select(*columns).order_by(ReportRow.seq.desc()).limit(MAX_ROWS)
    with reading(store.engine) as connection:
        return list(reversed(connection.execute(query).all()))


@lru_cache(maxsize=4)
def _chart(scores: tuple[float, ...], settings: CusumSettings) -> Chart:
    return chart_of(scores, settings)


def _run(
    chart: Chart, scored: list[tuple[int, float, float]], known: list[Change]
) -> tuple[list[tuple[float, float]], list[Shift], float]:
    cusum, line, shifts = Cusum(chart), [], []
    for _, at, score in scored:
        alarm = cusum.add(score)
        line.append((at, alarm.statistic if alarm and alarm.direction == "up" else cusum.up))
        if alarm is not None:
            seq, began, _ = scored[alarm.began]
            shifts.append(Shift(alarm, at, began, nearest_change(known, seq)))
    step = max(1, len(line) // MAX_POINTS)
    thinned = [max(line[place : place + step], key=lambda point: point[1]) for place in range(0, len(line), step)]
    return thinned, shifts, cusum.up
