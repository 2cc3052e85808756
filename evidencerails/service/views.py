"""What the pages show, as plain values: kept reports, and charts as points."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pydantic import ValidationError

from evidencerails.report_page import Piece, pieces_of

if TYPE_CHECKING:
    from evidencerails.operations.store.queries import Summary

CHART_WIDTH, CHART_HEIGHT = 720, 180
CHART_LEFT, CHART_TOP = 52, 14
"""Where the plot begins, right of the labels of its axis and below those of its lines."""
MAX_BAR_WIDTH = 40.0
"""Wider bars of few values would look like an area."""
STEPS = 5
"""Of an axis."""
BINS = 10
GAUGE_WIDTH = 400
NEAR = 0.75
"""Part of a budget from which its bar warns."""
QUANTILES = (("Median", 0.5), ("95th percentile", 0.95), ("99th percentile", 0.99))
Unit = Literal["share", "score", "count"]


class Bar(NamedTuple):
    """One bar of a chart, in the coordinates of its drawing."""

    x: float
    y: float
    width: float
    height: float
    label: str
    value: str


class Chart(NamedTuple):
    """Bars with their axis: each tick and the threshold as height in the drawing and words."""

    bars: Sequence[Bar]
    ticks: Sequence[tuple[float, str]]
    threshold: tuple[float, str] | None = None


class Gauge(NamedTuple):
    """A level bar of something that may be overspent, in the coordinates of its drawing."""

    width: float
    limit_x: float
    """Where 100 % is."""
    share: str
    state: Literal["good", "near", "over"]


def pieces(plain: Mapping[str, Any], answer: str) -> list[Piece]:
    """The answer cut at the words that a kept report marks; whole if too much of the report was redacted."""
    from evidencerails.report import Report

    try:
        report = Report.model_validate({key: value for key, value in plain.items() if key != "truncated"})
    except ValidationError:
        return [Piece(answer)]
    return pieces_of(report, answer)


def moment(seconds: float | None) -> str:
    """A time for people, in UTC."""
    if seconds is None:
        return "-"
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S")


def share(part: float, whole: float) -> str:
    """A percentage; a dash of nothing."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


def chart(values: Sequence[tuple[str, float, str]], unit: Unit, *, threshold: tuple[float, str] | None = None) -> Chart:
    """A chart of label, height and words of each value, from 0 to a round number above the highest.

    Args:
        unit: what the axis shows: percent, scores or counts.
        threshold: a level and its words, drawn as a line.
    """
    highest = max([value for _, value, _ in values] + ([threshold[0]] if threshold else []), default=0.0)
    step = _round_step(highest, smallest=1.0 if unit == "count" else 0.01)
    top = STEPS * step
    slot = (CHART_WIDTH - CHART_LEFT) / max(1, len(values))
    width = round(min(MAX_BAR_WIDTH, max(1.0, slot - 2)), 1)
    drawn = [
        Bar(
            round(CHART_LEFT + place * slot + (slot - width) / 2, 1),
            level_y(value, top),
            width,
            round(CHART_HEIGHT - level_y(value, top), 1),
            label,
            words,
        )
        for place, (label, value, words) in enumerate(values)
    ]
    ticks = [(level_y(n * step, top), _tick(n * step, unit)) for n in range(STEPS + 1)]
    return Chart(drawn, ticks, (level_y(threshold[0], top), threshold[1]) if threshold else None)


def gauge(spent: float, allowed: float) -> Gauge | None:
    """How much of what is allowed is spent; None if nothing is allowed. Past 100 % the scale grows with it."""
    if not allowed:
        return None
    part = spent / allowed
    full = max(1.25, part)
    state: Literal["good", "near", "over"] = "over" if part > 1 else "near" if part > NEAR else "good"
    return Gauge(round(GAUGE_WIDTH * part / full, 1), round(GAUGE_WIDTH / full, 1), f"{100 * part:.0f} %", state)


def level_y(value: float, top: float) -> float:
    """Where a value stands in a drawing whose axis ends at `top`."""
    return round(CHART_TOP + (CHART_HEIGHT - CHART_TOP) * (1 - value / top), 1)


def _round_step(highest: float, *, smallest: float) -> float:
    """The smallest of 1, 2, 5, 10, 20 ... times a power of ten of which `STEPS` reach the highest value."""
    step = smallest
    for factor in cycle((2.0, 2.5, 2.0)):
        if round(STEPS * step, 9) >= round(highest, 9):
            return step
        step *= factor
    raise AssertionError("a cycle has no end")


def _tick(value: float, unit: Unit) -> str:
    return f"{100 * value:.6g} %" if unit == "share" else f"{value:.6g}"


def histogram(scores: Sequence[float]) -> list[tuple[str, float, str]]:
    """Counts of scores from 0 to 1 in ten bins; the last one holds 1."""
    counts = [0] * BINS
    for score in scores:
        counts[min(BINS - 1, max(0, math.floor(score * BINS)))] += 1
    return [(f"{n / BINS:.1f} to {(n + 1) / BINS:.1f}", float(c), f"{c} reports") for n, c in enumerate(counts)]


def latency_and_cost(rows: Sequence[Summary]) -> list[tuple[str, str]]:
    """Milliseconds a report and LLM work, in words."""
    times = sorted(row.total_ms for row in rows if row.total_ms is not None)
    ranks = [min(len(times) - 1, math.ceil(at * len(times)) - 1) for _, at in QUANTILES] if times else []
    lines = [(f"{name} of a report", f"{times[n]:.0f} ms") for (name, _), n in zip(QUANTILES, ranks, strict=False)]
    calls, tokens = sum(row.llm_calls for row in rows), sum(row.llm_tokens for row in rows)
    per = f"{calls / len(rows):.2f} calls, {tokens / len(rows):.0f} tokens" if rows else "-"
    return [*lines, ("LLM calls", str(calls)), ("LLM tokens", str(tokens)), ("LLM work a report", per)]
