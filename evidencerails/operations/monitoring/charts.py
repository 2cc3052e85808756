"""CUSUM charts over hallucination scores: how long one runs until it alarms, and what it says of the stored scores.

The average run length is that of the Markov chain of Brook and Evans (Biometrika 59, 1972): the statistic between 0 and
the threshold is cut into states, and the mean number of steps until it leaves them follows from one linear system. It
holds for any distribution of scores, also for those of hallucination scores, which accumulate near 0 and 1.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from evidencerails.operations.monitoring.changes import WINDOW, Change, nearest_change
from evidencerails.operations.store.queries import Summary
from evidencerails.settings.operations import CusumSettings, MonitoringSettings

Distribution = Callable[[Any], Any]
"""P(score <= x) for an array of x."""
Direction = Literal["up", "down"]

MIN_STATES, MAX_STATES, STATES_PER_UNIT = 80, 600, 30
"""More change the run length by less than one in a hundred, for scores between 0 and 1 as for standard normal ones."""
MIN_THRESHOLD, MAX_THRESHOLD = 0.01, 20.0
"""The smallest is for a statistic that never moved: the run length is infinite with any threshold then."""
MIN_AFTER = 30
"""Reports after an alarm before it can be over: a mean of fewer says little."""
MAX_POINTS = 240
"""Of a drawn line."""


def empirical(scores: Any) -> Distribution:
    """The distribution function of observed scores."""
    ordered = np.sort(np.asarray(scores, dtype=float))
    return lambda x: np.searchsorted(ordered, np.asarray(x, dtype=float), side="right") / len(ordered)


def shifted(below: Distribution, by: float) -> Distribution:
    """The same distribution, moved up by `by`."""
    return lambda x: below(np.asarray(x, dtype=float) - by)


def average_run_length(below: Distribution, reference: float, threshold: float) -> float:
    """Mean number of scores until S = max(0, S + score - reference) exceeds the threshold, from S = 0; or infinite."""
    states = min(MAX_STATES, max(MIN_STATES, math.ceil(threshold * STATES_PER_UNIT)))
    width = 2.0 * threshold / (2 * states - 1)
    steps = np.arange(states)
    difference = steps[None, :] - steps[:, None] + states - 1
    edges = below((np.arange(2 * states) - states + 0.5) * width + reference)  # of the differences of two states
    upper, lower = edges[difference + 1], edges[difference].copy()
    lower[:, 0] = 0.0  # everything below 0 is 0
    stays = upper - lower
    try:
        length = float(np.linalg.solve(np.eye(states) - stays, np.ones(states))[0])
    except np.linalg.LinAlgError:  # from some state it cannot leave
        return math.inf
    return length if math.isfinite(length) and 0 < length < 1e15 else math.inf


def threshold_for(below: Distribution, reference: float, run_length: float) -> float:
    """The smallest threshold from 0.01 on whose average run length is at least `run_length`. There is none up to 20 if
    the mean of the scores lies above the reference."""
    low = high = MIN_THRESHOLD
    while average_run_length(below, reference, high) < run_length:
        low, high = high, high * 2.0
        if high > MAX_THRESHOLD:
            raise ValueError("the chart alarms too soon with any threshold: the reference is not above the mean score")
    while high - low > 1e-3 * high:
        middle = (low + high) / 2.0
        low, high = (middle, high) if average_run_length(below, reference, middle) < run_length else (low, middle)
    return high


class Chart(NamedTuple):
    """A chart's constants, and what they promise, by the distribution of the baseline: on average so many reports
    between two false alarms of the upper chart (`arl0`), and until a shift of the settings' size is found (`arl1`)."""

    baseline: float
    slack: float
    threshold_up: float
    threshold_down: float
    arl0: float
    arl1: float


def chart_of(scores: Sequence[float], settings: CusumSettings) -> Chart:
    """The chart for scores like these, which were made while all was well."""
    mean, slack = statistics.fmean(scores), settings.shift / 2.0
    baseline = mean if settings.baseline is None else settings.baseline
    # Each score about its own mean: the spread is learnt, the level is the one that was asked for.
    about = np.asarray(scores) - mean + baseline
    below, reference = empirical(about), baseline + slack
    up = threshold_for(below, reference, settings.false_alarm_every)
    return Chart(
        baseline=baseline,
        slack=slack,
        threshold_up=up,
        threshold_down=threshold_for(empirical(-about), slack - baseline, settings.false_alarm_every),
        arl0=average_run_length(below, reference, up),
        arl1=average_run_length(shifted(below, settings.shift), reference, up),
    )


class Alarm(NamedTuple):
    """A shift that was found: at this place of the series, from 0, and likely begun at that one, where the statistic
    left 0 for the last time."""

    direction: Direction
    at: int
    began: int
    statistic: float


class Cusum:
    """S = max(0, S + (score - baseline - slack)), and the same downwards; it starts again at 0 after an alarm."""

    def __init__(self, chart: Chart) -> None:
        self.chart = chart
        self.up = self.down = 0.0
        self._place = -1
        self._began: dict[Direction, int] = {"up": 0, "down": 0}

    def add(self, score: float) -> Alarm | None:
        """Take the next score; an alarm if it takes the statistic above its threshold."""
        self._place += 1
        chart = self.chart
        for direction, statistic in self._statistics():
            if statistic == 0.0:
                self._began[direction] = self._place
        self.up = max(0.0, self.up + score - chart.baseline - chart.slack)
        self.down = max(0.0, self.down + chart.baseline - chart.slack - score)
        limits: dict[Direction, float] = {"up": chart.threshold_up, "down": chart.threshold_down}
        for direction, statistic in self._statistics():
            if statistic > limits[direction]:
                setattr(self, direction, 0.0)
                return Alarm(direction, self._place, self._began[direction], statistic)
        return None

    def _statistics(self) -> tuple[tuple[Direction, float], ...]:
        return ("up", self.up), ("down", self.down)


class Shift(NamedTuple):
    """An alarm of the chart, in terms of the store: at which report, when it likely began, the mean score since then,
    and the change that is likeliest behind it."""

    direction: Direction
    report_id: str
    at: float
    began_at: float
    mean_since: float
    change: Change | None


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
    """Time, upper and lower statistic; of long series the highest of each interval."""
    learnt: int
    """Scores that there are, at most those that the chart learns from."""


def charted(scored: Sequence[Summary], settings: MonitoringSettings, known: Sequence[Change]) -> Charted:
    """The chart of these reports, all of which have a score."""
    size = settings.cusum.baseline_size
    if len(scored) < size:
        return Charted(None, None, None, (), False, (), len(scored))
    scores = [float(row.hallucination_score or 0.0) for row in scored]
    chart, watched, scores = chart_of(scores[:size], settings.cusum), scored[size:], scores[size:]
    cusum, line = Cusum(chart), []
    shifts: list[Shift] = []
    is_shifted = False
    for place, row in enumerate(watched):
        alarm = cusum.add(scores[place])
        at = {"up": cusum.up, "down": cusum.down}
        if alarm is not None:
            at[alarm.direction] = alarm.statistic  # the chart itself is at 0 again
            began, since = watched[alarm.began], statistics.fmean(scores[alarm.began : place + 1])
            change = nearest_change(known, began.seq, row.seq)
            shifts.append(Shift(alarm.direction, row.id, row.created_at, began.created_at, since, change))
            after = scores[place + 1 :][-WINDOW:]
            is_over = len(after) >= MIN_AFTER and statistics.fmean(after) <= chart.baseline + chart.slack
            is_shifted = alarm.direction == "up" and not is_over
        line.append((row.created_at, at["up"], at["down"]))
    step = max(1, -(-len(line) // MAX_POINTS))
    parts = [line[place : place + step] for place in range(0, len(line), step)]
    thinned = tuple((part[0][0], max(p[1] for p in part), max(p[2] for p in part)) for part in parts)
    return Charted(chart, cusum.up, cusum.down, tuple(shifts), is_shifted, thinned, size)
