"""The plots of an evaluation: numbers come in, an `<svg>` element in the page's colours comes out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from evidencerails.text.vega import DIM, Layer, axis, svg

if TYPE_CHECKING:
    from markupsafe import Markup

Point = tuple[float, float]
WIDTH, HEIGHT = 400, 320
COLOURS = [f"var(--c{number})" for number in range(8)]
"""Of the page; further series begin again with the first."""
DASHES: tuple[list[int], ...] = ([], [7, 2], [2, 2], [9, 3, 2, 3])
"""Colour is not the only difference between neighbouring series."""


def curves(
    title: str, x: str, y: str, series: Mapping[str, Sequence[Point]], *, chance: Sequence[Point] = ()
) -> Markup:
    """Lines over the unit square, such as ROC curves; `chance` is drawn dashed."""
    layers = [_line("chance", DIM, [4, 4], chance, x, y)] if chance else []
    layers += [
        _line(name, COLOURS[number % len(COLOURS)], DASHES[number % len(DASHES)], points, x, y)
        for number, (name, points) in enumerate(series.items())
    ]
    return svg(title, layers, width=WIDTH, height=HEIGHT)


def _line(name: str, colour: str, dash: list[int], points: Sequence[Point], x: str, y: str) -> Layer:
    values = [{"x": point[0], "y": point[1], "n": number} for number, point in enumerate(points)]
    encoding = {"x": axis("x", x), "y": axis("y", y), "order": {"field": "n"}}
    return Layer(name, colour, {"type": "line", "strokeDash": dash}, values, encoding)


def reliability(title: str, groups: Mapping[str, Sequence[Mapping[str, float]]]) -> Markup:
    """Observed share over stated probability; a dot's area grows with its rows."""
    x, y = "stated probability", "share hallucinated"
    layers = [_line("as stated", DIM, [4, 4], [(0, 0), (1, 1)], x, y)]
    for number, (name, bins) in enumerate(groups.items()):
        colour = COLOURS[number % len(COLOURS)]
        values = [{"x": one["mean_probability"], "y": one["share_hallucinated"], "rows": one["rows"]} for one in bins]
        size = {"field": "rows", "type": "quantitative", "scale": {"range": [12, 120]}, "legend": None}
        encoding = {"x": axis("x", x), "y": axis("y", y)}
        layers.append(_line(name, colour, DASHES[number % len(DASHES)], [(v["x"], v["y"]) for v in values], x, y))
        layers.append(Layer(name, colour, {"type": "circle", "opacity": 1}, values, {**encoding, "size": size}))
    return svg(title, layers, width=WIDTH, height=HEIGHT)


def score_histogram(title: str, hallucinated: Sequence[int], clean: Sequence[int]) -> Markup:
    """Scores of hallucinated rows below, of clean ones stacked on top of them."""
    edges = [place / len(clean) for place in range(len(clean) + 1)]
    both = [a + b for a, b in zip(hallucinated, clean, strict=True)]
    layers = [
        _bars("hallucinated", "var(--bad)", "score", edges, [0] * len(clean), hallucinated),
        _bars("clean", "var(--good)", "score", edges, hallucinated, both),
    ]
    return svg(title, layers, width=WIDTH, height=HEIGHT)


def _bars(name: str, colour: str, x: str, edges: Sequence[float], bottoms: Sequence[int], tops: Sequence[int]) -> Layer:
    values = [
        {"left": left, "right": right, "bottom": bottom, "top": top}
        for left, right, bottom, top in zip(edges, edges[1:], bottoms, tops, strict=False)
    ]
    encoding = {
        "x": {**axis("left", x, domain=(0, edges[-1] if edges else 1)), "bin": {"binned": True}},
        "x2": {"field": "right"},
        "y": axis("top", "rows", domain=None, format="d", tickMinStep=1),
        "y2": {"field": "bottom"},
    }
    return Layer(name, colour, "bar", values, encoding)
