"""The charts of the trends page and of `evidencerails report --html`: what `trends` gives comes in, SVG goes out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from evidencerails.text.vega import Layer, axis, level, svg

if TYPE_CHECKING:
    from markupsafe import Markup

    from evidencerails.operations.monitoring.changes import Change
    from evidencerails.operations.monitoring.charts import Charted

WIDTH, HEIGHT = 900, 240
NEAR = 0.75
"""Part of a budget from which its bar warns."""
MS = 1000
"""Vega-Lite counts milliseconds since 1970."""


class Bar(NamedTuple):
    """A value from `begin` to `end`: seconds since 1970, or scores."""

    begin: float
    end: float
    value: float | None
    """None: nothing was measured there."""
    label: str
    words: str
    """The value for people."""


def charts(found: Mapping[str, Any], begin: float, end: float) -> dict[str, Markup]:
    """Each chart of these trends between two times, in seconds since 1970, by its name."""
    changes = [change for change in found["view"].changes if begin <= change.at <= end]
    span = (begin, end)
    made = {
        "trend": _share(found["trend"], found["allowed"], changes, span),
        "mean_scores": _mean(found["mean_scores"], changes, span),
        "faithfulness": _histogram("Reports by faithfulness", "faithfulness", found["faithfulness"]),
        "scores": _histogram("Reports by hallucination score", "hallucination score", found["scores"]),
    }
    budget, cusum = found["view"].budget, found["view"].cusum
    if budget.share_spent is not None:
        made["budget"] = _budget(budget.share_spent)
    if cusum.chart is not None and cusum.line:
        made["cusum"] = _cusum(cusum, found["view"].changes)
    return made


def _time(field: str, span: tuple[float, float]) -> dict[str, Any]:
    scale = {"type": "utc", "domain": [at * MS for at in span]}
    ticks = {"format": "%b %d, %H:%M", "tickCount": 8, "labelFlush": False}
    return {"field": field, "type": "temporal", "scale": scale, "title": "time (UTC)", "axis": ticks}


def _share(bars: Sequence[Bar], allowed: float, changes: Sequence[Change], span: tuple[float, float]) -> Markup:
    (begin, end), gap = span, 0.15 * min((bar.end - bar.begin for bar in bars), default=0.0)
    highest = max((bar.value for bar in bars if bar.value is not None), default=0.0)
    top = min(1.0, max(2 * allowed, highest))  # the budget's line is in the middle, or the answers are worse
    drawn = Layer(
        "hallucinated, of those verified",
        "var(--link)",
        {"type": "bar", "strokeWidth": 1},  # a bar of 0 % is a line on the axis
        [
            {"begin": max(bar.begin, begin) * MS, "end": min(bar.end - gap, end) * MS, "value": bar.value}
            for bar in bars
            if bar.value is not None
        ],
        {"x": _time("begin", span), "x2": {"field": "end"}, "stroke": {"value": "var(--link)"},
         "y": axis("value", "share of answers", domain=(0, top), format=".0%"), "y2": {"datum": 0}},
    )  # fmt: skip
    line = level(f"error budget {allowed:.0%}", "var(--bad)", allowed)
    return svg("Share of hallucinated answers over time", [drawn, line, *_marks(changes)], width=WIDTH, height=HEIGHT)


def _mean(bars: Sequence[Bar], changes: Sequence[Change], span: tuple[float, float]) -> Markup:
    values = [{"at": min((bar.begin + bar.end) / 2, span[1]) * MS, "value": bar.value} for bar in bars]
    encoding = {"x": _time("at", span), "y": axis("value", "mean score")}
    drawn = Layer("mean hallucination score", "var(--link)", {"type": "line", "point": True}, values, encoding)
    return svg("Mean hallucination score over time", [drawn, *_marks(changes)], width=WIDTH, height=HEIGHT)


def _cusum(cusum: Charted, changes: Iterable[Change]) -> Markup:
    assert cusum.chart is not None
    span = (cusum.line[0][0], cusum.line[-1][0])
    limits = (cusum.chart.threshold_up, cusum.chart.threshold_down)
    layers = []
    for side, name, colour, dash in ((1, "upwards", "var(--bad)", []), (2, "downwards", "var(--link)", [2, 3])):
        values = [{"at": point[0] * MS, "value": point[side] / limits[side - 1]} for point in cusum.line]
        part = axis("value", "part of the threshold", domain=None, format=".0%")
        layers.append(
            Layer(name, colour, {"type": "line", "strokeDash": dash}, values, {"x": _time("at", span), "y": part})
        )
    known = [change for change in changes if span[0] <= change.at <= span[1]]
    layers += [level("alarm", "var(--text)", 1.0), *_marks(known)]
    return svg("CUSUM statistics over time, as parts of their thresholds", layers, width=WIDTH, height=HEIGHT)


def _marks(changes: Sequence[Change]) -> list[Layer]:
    """Upright lines, numbered as the list of the changes is."""
    values = [{"at": change.at * MS, "number": change.id} for change in changes]
    at = {"x": {"field": "at", "type": "temporal", "scale": {"type": "utc"}}}
    name, colour = "a change, by its number below", "var(--unsure)"
    rule = Layer(name, colour, {"type": "rule", "strokeDash": [4, 3], "strokeWidth": 2}, values, at)
    number = {**at, "y": {"value": 0}, "text": {"field": "number"}}
    words = {"type": "text", "align": "left", "baseline": "top", "dx": 4, "fontSize": 12}
    return [rule, Layer(name, colour, words, values, number)] if values else []


def _histogram(title: str, name: str, bars: Sequence[Bar]) -> Markup:
    encoding = {
        "x": {**axis("begin", name, format=".1f"), "bin": {"binned": True, "step": 0.1}},
        "x2": {"field": "end"},
        "y": axis("value", "reports", domain=None, format="d", tickMinStep=1),
    }
    values = [{"begin": bar.begin, "end": bar.end, "value": bar.value} for bar in bars]
    return svg(title, [Layer("reports", "var(--link)", "bar", values, encoding)], width=WIDTH, height=HEIGHT)


def _budget(share: float) -> Markup:
    """A level bar with its limit; past 100 % the scale grows with it."""
    state = "over" if share > 1 else "near" if share > NEAR else "good"
    colour = {"over": "var(--bad)", "near": "var(--unsure)", "good": "var(--good)"}[state]
    named = [0, 0.5, 1, *([share] if share > 1.25 else [])]
    scale = axis("share", "part of the error budget", domain=(0, max(1.25, share)), format=".0%", values=named)
    bar = Layer(f"{share:.0%} spent", colour, {"type": "bar", "height": 20}, [{"share": share}], {"x": scale})
    full = {"x": {"field": "share", "type": "quantitative"}}
    limit = Layer("all of it", "var(--text)", {"type": "rule", "strokeWidth": 3}, [{"share": 1.0}], full)
    return svg(f"{share:.0%} of the error budget is spent", [bar, limit], width=WIDTH // 2, height=90)
