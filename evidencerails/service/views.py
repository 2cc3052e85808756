"""What the pages show, as plain values: marked answers, charts as points, and texts without hidden characters."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pydantic import ValidationError

from evidencerails.report_page import marks
from evidencerails.text.visible import visible

if TYPE_CHECKING:
    from evidencerails.operations.store.queries import Summary
    from evidencerails.report import Report

ABOUT = {
    "supported": "The evidence says so.",
    "partially_supported": "The evidence says a part of it.",
    "contradicted": "The evidence says otherwise.",
    "absent": "The evidence does not say it.",
    "unevaluatable": "It could not be checked.",
}
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
Unit = Literal["share", "score", "count"]


class Piece(NamedTuple):
    """A stretch of an answer; `label` is empty for words that nothing is wrong with."""

    text: str
    label: str = ""
    claim: int = 0


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


def harmless(value: Any) -> Any:
    """Plain data with every text made visible: escaping alone lets bidirectional controls through."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, Mapping):
        return {key: harmless(item) for key, item in value.items()}
    return [harmless(item) for item in value] if isinstance(value, (list, tuple)) else value


def pieces(report: Report | None, answer: str) -> list[Piece]:
    """The answer cut at its marked words; whole if there is no report to mark it by."""
    found, place = [], 0
    for mark in marks(report, answer) if report is not None else ():
        found.append(Piece(visible(answer[place : mark.start])))
        found.append(Piece(visible(answer[mark.start : mark.end]), mark.label, mark.claim))
        place = mark.end
    return [piece for piece in (*found, Piece(visible(answer[place:]))) if piece.text]


def report_of(plain: Mapping[str, Any]) -> Report | None:
    """A kept report as a value; None if too much of it was redacted or left out."""
    from evidencerails.report import Report

    try:
        return Report.model_validate({key: value for key, value in plain.items() if key != "truncated"})
    except ValidationError:
        return None


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


def quantile(values: Sequence[float], at: float) -> float | None:
    """The nearest-rank quantile; None of nothing."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, math.ceil(at * len(ordered)) - 1)] if ordered else None


def latency_and_cost(rows: Sequence[Summary]) -> list[tuple[str, str]]:
    """Milliseconds a report and LLM work, in words."""
    times = [row.total_ms for row in rows if row.total_ms is not None]
    told = [(f"{name} of a report", f"{quantile(times, at):.0f} ms") for name, at in QUANTILES] if times else []
    calls, tokens = sum(row.llm_calls for row in rows), sum(row.llm_tokens for row in rows)
    per = f"{calls / len(rows):.2f} calls, {tokens / len(rows):.0f} tokens" if rows else "-"
    return [*told, ("LLM calls", str(calls)), ("LLM tokens", str(tokens)), ("LLM work a report", per)]


QUANTILES = (("Median", 0.5), ("95th percentile", 0.95), ("99th percentile", 0.99))
