"""What the pages show, as plain values: marked answers, charts as points, and texts without hidden characters."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import ValidationError

from evidencerails.cli.render import marks
from evidencerails.cli.terminal import visible

if TYPE_CHECKING:
    from evidencerails.report import Report
    from evidencerails.store.queries import Summary

ABOUT = {
    "supported": "The evidence says so.",
    "partially_supported": "The evidence says a part of it.",
    "contradicted": "The evidence says otherwise.",
    "absent": "The evidence does not say it.",
    "unevaluatable": "It could not be checked.",
}
CHART_WIDTH, CHART_HEIGHT = 720, 180
BINS = 10


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


def bars(values: Sequence[tuple[str, float, str]]) -> list[Bar]:
    """Bars for label, height and words of each value, scaled to the highest."""
    highest = max((value for _, value, _ in values), default=0.0) or 1.0
    width = CHART_WIDTH / max(1, len(values))
    return [
        Bar(
            round(place * width + 1, 1),
            round(CHART_HEIGHT * (1 - value / highest), 1),
            round(max(1.0, width - 2), 1),
            round(CHART_HEIGHT * value / highest, 1),
            label,
            words,
        )
        for place, (label, value, words) in enumerate(values)
    ]


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
