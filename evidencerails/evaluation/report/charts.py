"""Plots as inline SVG without script, font or request.

In: numbers. Out: an `<svg>` element, which `charts.svg.j2` draws; colours are the page's classes. Values beyond the
ends of an axis are moved to them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from evidencerails.text.html import templates_of

Point = tuple[float, float]
WIDTH, HEIGHT = 320, 260
LEFT, RIGHT, TOP, BOTTOM = 46, 20, 14, 40
SERIES = 8
"""Colours of the page; further series begin again with the first."""


class Axis(NamedTuple):
    """An axis from 0: its name, and the values that are named on it, the last one at its end."""

    name: str
    ticks: Sequence[float] = (0.0, 0.25, 0.5, 0.75, 1.0)

    def at(self, value: float) -> float:
        """Where a value lies, 0 to 1."""
        return min(1.0, max(0.0, value / self.ticks[-1]))


def counted(name: str, most: float) -> Axis:
    """An axis from 0 to at least `most`, with round ticks."""
    step = 1.0
    while most / step > 5:
        step *= 2.5 if str(step)[0] == "2" else 2.0
    return Axis(name, [step * number for number in range(int(max(1, -(-most // step))) + 1)])


class Plot:
    """A frame into which marks are drawn; `svg()` gives the whole."""

    def __init__(self, title: str, x: Axis, y: Axis) -> None:
        self.title, self.x, self.y = title, x, y
        self.marks: list[dict[str, Any]] = []

    def place(self, point: Point) -> Point:
        """Pixel coordinates of a point."""
        wide, high = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
        return round(LEFT + self.x.at(point[0]) * wide, 1), round(HEIGHT - BOTTOM - self.y.at(point[1]) * high, 1)

    def line(self, points: Sequence[Point], kind: str) -> None:
        """A line through points in order."""
        if points:
            self.marks.append({"shape": "line", "kind": kind, "points": [self.place(point) for point in points]})

    def dot(self, point: Point, kind: str, radius: float, label: str) -> None:
        """A dot that says something when pointed at."""
        self.marks.append({"shape": "dot", "kind": kind, "at": self.place(point), "radius": radius, "label": label})

    def bar(self, left: float, right: float, top: float, kind: str, label: str, bottom: float = 0.0) -> None:
        """A bar from `bottom` to `top`."""
        corners = self.place((left, top)), self.place((right, bottom))
        if corners[1][1] > corners[0][1]:
            self.marks.append({"shape": "bar", "kind": kind, "corners": corners, "label": label})

    def svg(self) -> Markup:
        """The plot as an element; every text in it is escaped."""
        template = templates_of(Path(__file__).resolve().parent).get_template("charts.svg.j2")
        frame = {"width": WIDTH, "height": HEIGHT, "left": LEFT, "right": WIDTH - RIGHT, "top": TOP,
                 "bottom": HEIGHT - BOTTOM}  # fmt: skip
        return Markup(template.render(plot=self, **frame))


def curves(
    title: str, x: str, y: str, series: Mapping[str, Sequence[Point]], *, chance: Sequence[Point] = ()
) -> Markup:
    """Lines over the unit square, such as ROC curves; `chance` is drawn dashed."""
    plot = Plot(title, Axis(x), Axis(y))
    plot.line(chance, "chance")
    for number, points in enumerate(series.values()):
        plot.line(points, f"s{number % SERIES}")
    return plot.svg()


def reliability(title: str, groups: Mapping[str, Sequence[Mapping[str, float]]]) -> Markup:
    """Observed share over stated probability; a dot's area grows with its rows."""
    plot = Plot(title, Axis("stated probability"), Axis("share hallucinated"))
    plot.line([(0, 0), (1, 1)], "chance")
    for number, (name, bins) in enumerate(groups.items()):
        kind, most = f"s{number % SERIES}", max((one["rows"] for one in bins), default=1)
        points = [(one["mean_probability"], one["share_hallucinated"]) for one in bins]
        plot.line(points, kind)
        for point, one in zip(points, bins, strict=True):
            label = f"{name}: stated {point[0]:.2f}, observed {point[1]:.2f}, {one['rows']} rows"
            plot.dot(point, kind, 2 + 4 * (one["rows"] / most) ** 0.5, label)
    return plot.svg()


def score_histogram(title: str, hallucinated: Sequence[int], clean: Sequence[int]) -> Markup:
    """Scores of hallucinated rows below, of clean ones stacked on top of them."""
    totals = [a + b for a, b in zip(hallucinated, clean, strict=True)]
    plot = Plot(title, Axis("score"), counted("rows", max(totals, default=1)))
    for place, (bad, total) in enumerate(zip(hallucinated, totals, strict=True)):
        left, right = place / len(totals), (place + 1) / len(totals)
        label = f"{left:.2f} to {right:.2f}: {bad} hallucinated, {total - bad} clean"
        plot.bar(left, right, bad, "bad", label)
        plot.bar(left, right, total, "good", label, bottom=bad)
    return plot.svg()


def value_histogram(title: str, name: str, edges: Sequence[float], counts: Sequence[int]) -> Markup:
    """Counts between edges."""
    plot = Plot(title, counted(name, edges[-1] if edges else 1), counted("rows", max(counts, default=1)))
    for left, right, count in zip(edges, edges[1:], counts, strict=False):
        plot.bar(left, right, count, "s0", f"{left:g} to {right:g}: {count} rows")
    return plot.svg()
