"""The CUSUM chart over the stored scores: where it stands, how it came there, and the shifts it found."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import NamedTuple

from evidencerails.operations.monitoring.changes import Change, nearest_change
from evidencerails.operations.monitoring.cusum import Alarm, Chart, Cusum, chart_of
from evidencerails.operations.store.queries import Summary
from evidencerails.settings.monitoring import MonitoringSettings

MIN_AFTER = 30
"""Reports after an alarm before it can be over: a mean of fewer says little."""
MAX_POINTS = 240
"""Of a drawn line."""


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


class Charted(NamedTuple):
    """The chart over all scores that came after those it was learnt from."""

    chart: Chart | None
    """None until there are enough reports."""
    up: float | None
    down: float | None
    shifts: tuple[Shift, ...]
    is_shifted: bool
    """The last shift was upwards, and the scores since its alarm have not come back to the baseline."""
    line: tuple[tuple[float, float, float], ...]
    """Time, upper and lower statistic; of long series the highest of each stretch."""
    learnt: int
    """Scores that there are, at most those that the chart learns from."""


def charted(scored: Sequence[Summary], settings: MonitoringSettings, known: Sequence[Change]) -> Charted:
    """The chart of these reports, all of which have a score."""
    size = settings.cusum.baseline_size
    if len(scored) < size:
        return Charted(None, None, None, (), False, (), len(scored))
    scores = [float(row.hallucination_score or 0.0) for row in scored]
    chart, watched = chart_of(scores[:size], settings.cusum), scored[size:]
    cusum, shifts, line = Cusum(chart), [], []
    for row, score in zip(watched, scores[size:], strict=True):
        alarm = cusum.add(score)
        at = {"up": cusum.up, "down": cusum.down}
        if alarm is not None:
            at[alarm.direction] = alarm.statistic  # the chart itself is at 0 again
            shifts.append(_shift(alarm, watched, known))
        line.append((row.created_at, at["up"], at["down"]))
    is_shifted = bool(shifts) and shifts[-1].direction == "up" and not _is_back(shifts[-1], scored, chart, settings)
    return Charted(chart, cusum.up, cusum.down, tuple(shifts), is_shifted, tuple(_thinned(line)), size)


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


def _is_back(shift: Shift, scored: Sequence[Summary], chart: Chart, settings: MonitoringSettings) -> bool:
    """True once the mean of the last reports is within the slack of the baseline."""
    place = next(place for place, row in enumerate(scored) if row.id == shift.report_id)
    after = [float(row.hallucination_score or 0.0) for row in scored[place + 1 :]][-settings.window :]
    return len(after) >= MIN_AFTER and statistics.fmean(after) <= chart.baseline + chart.slack


def _thinned(line: list[tuple[float, float, float]]) -> list[tuple[float, float, float]]:
    step = max(1, -(-len(line) // MAX_POINTS))
    parts = [line[place : place + step] for place in range(0, len(line), step)]
    return [(part[0][0], max(p[1] for p in part), max(p[2] for p in part)) for part in parts]
