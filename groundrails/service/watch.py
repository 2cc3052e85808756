"""What monitoring sees, with the line of its chart for drawing. Blocking: call it in a thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from groundrails.monitoring.changes import Change, changes
from groundrails.monitoring.cusum import Chart, Cusum
from groundrails.monitoring.monitor import View, view_of
from groundrails.store import queries

if TYPE_CHECKING:
    from groundrails.config_monitoring import MonitoringSettings
    from groundrails.store import Store

MAX_POINTS = 240
"""Of a drawn line."""


class Watch(NamedTuple):
    """Where a service stands, and how it came there."""

    view: View
    learnt: int
    """Scores that there are, at most those that the chart learns from."""
    wanted: int
    line: list[tuple[float, float]]
    """Time and upper statistic, the highest of each stretch."""
    changes: list[Change]


def watch(store: Store, settings: MonitoringSettings) -> Watch:
    """The state now.

    Raises:
        StoreError: the database cannot be read.
    """
    view, size = view_of(store, settings), settings.cusum.baseline_size
    scored = [
        (row.created_at, row.hallucination_score)
        for row in queries.summaries(store.engine)
        if row.hallucination_score is not None
    ]
    line = _line(view.chart, scored[size:]) if view.chart is not None else []
    return Watch(view, min(size, len(scored)), size, line, changes(store))


def _line(chart: Chart, scored: list[tuple[float, float]]) -> list[tuple[float, float]]:
    cusum, line = Cusum(chart), []
    for at, score in scored:
        alarm = cusum.add(score)
        line.append((at, alarm.statistic if alarm and alarm.direction == "up" else cusum.up))
    step = max(1, -(-len(line) // MAX_POINTS))
    return [max(line[place : place + step], key=lambda point: point[1]) for place in range(0, len(line), step)]
