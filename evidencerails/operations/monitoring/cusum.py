"""CUSUM charts over hallucination scores, up and down (control stack 20.7.2)."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Literal, NamedTuple

from evidencerails.operations.monitoring.run_length import average_run_length, empirical, shifted, threshold_for
from evidencerails.settings.monitoring import CusumSettings

Direction = Literal["up", "down"]


class Chart(NamedTuple):
    """A chart's constants, and what they promise."""

    baseline: float
    slack: float
    threshold_up: float
    threshold_down: float
    arl0: float
    """Reports between two false alarms of the upper chart, on average, by the distribution of the baseline."""
    arl1: float
    """Reports until a shift of the settings' size is found, on average."""


class Alarm(NamedTuple):
    """A shift that was found."""

    direction: Direction
    at: int
    """Place in the series at which the chart alarmed, from 0."""
    began: int
    """Where the statistic left 0 for the last time: the likeliest place of the change."""
    statistic: float


class Cusum:
    """S = max(0, S + (score - baseline - slack)), and the same downwards; it starts again at 0 after an alarm."""

    def __init__(self, chart: Chart) -> None:
        self.chart = chart
        self.up = self.down = 0.0
        self._place = -1
        self._up_began = self._down_began = 0

    def add(self, score: float) -> Alarm | None:
        """Take the next score; an alarm if it takes the statistic above its threshold."""
        self._place += 1
        chart = self.chart
        if self.up == 0.0:
            self._up_began = self._place
        if self.down == 0.0:
            self._down_began = self._place
        self.up = max(0.0, self.up + score - chart.baseline - chart.slack)
        self.down = max(0.0, self.down + chart.baseline - chart.slack - score)
        if self.up > chart.threshold_up:
            alarm = Alarm("up", self._place, self._up_began, self.up)
            self.up = 0.0
            return alarm
        if self.down > chart.threshold_down:
            alarm = Alarm("down", self._place, self._down_began, self.down)
            self.down = 0.0
            return alarm
        return None


def chart_of(scores: Sequence[float], settings: CusumSettings) -> Chart:
    """The chart for scores like these, which were made while all was well.

    Raises:
        ValueError: there are none.
    """
    if not scores:
        raise ValueError("a chart needs scores of a time in which all was well")
    mean = statistics.fmean(scores)
    baseline = mean if settings.baseline is None else settings.baseline
    # Each score about its own mean: the spread is learnt, the level is the one that was asked for.
    about = [score - mean + baseline for score in scores]
    slack = settings.shift / 2.0
    wanted = settings.false_alarm_every
    below, below_mirrored = empirical(about), empirical([-score for score in about])
    up = threshold_for(below, baseline + slack, wanted)
    down = threshold_for(below_mirrored, -baseline + slack, wanted)
    return Chart(
        baseline=baseline,
        slack=slack,
        threshold_up=up,
        threshold_down=down,
        arl0=average_run_length(below, baseline + slack, up),
        arl1=average_run_length(shifted(below, settings.shift), baseline + slack, up),
    )
