"""Plots as inline SVG, drawn with nothing but text: no script, no font, no request. Colours are the page's classes."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from markupsafe import Markup

Point = tuple[float, float]
WIDTH, HEIGHT = 320, 260
LEFT, RIGHT, TOP, BOTTOM = 46, 20, 14, 40
SERIES = 8
"""Colours of the page; further series begin again with the first."""


class Series(NamedTuple):
    """A named line."""

    name: str
    points: Sequence[Point]


class Axis(NamedTuple):
    """One axis: its name, its range, and the values that are named on it."""

    name: str
    low: float
    high: float
    ticks: tuple[float, ...]

    def at(self, value: float) -> float:
        """Where a value lies, 0 to 1; values beyond the ends are moved to them."""
        span = (self.high - self.low) or 1.0
        return min(1.0, max(0.0, (value - self.low) / span))


UNIT_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)


def unit(name: str) -> Axis:
    """An axis from 0 to 1."""
    return Axis(name, 0.0, 1.0, UNIT_TICKS)


def counted(name: str, most: float) -> Axis:
    """An axis from 0 to at least `most`, with round ticks."""
    step = 1.0
    while most / step > 5:
        step *= 2.5 if str(step)[0] == "2" else 2.0
    top = max(step, -(-most // step) * step)
    return Axis(name, 0.0, top, tuple(step * number for number in range(int(top / step) + 1)))


class Plot:
    """A frame into which marks are drawn; `svg()` gives the whole."""

    def __init__(self, title: str, x: Axis, y: Axis) -> None:
        self.title, self.x, self.y = title, x, y
        self._marks: list[str] = []

    def place(self, point: Point) -> tuple[float, float]:
        """Pixel coordinates of a point."""
        wide, high = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
        return round(LEFT + self.x.at(point[0]) * wide, 1), round(HEIGHT - BOTTOM - self.y.at(point[1]) * high, 1)

    def line(self, points: Sequence[Point], kind: str) -> None:
        """A line through points in order."""
        if points:
            path = " ".join(f"{x},{y}" for x, y in map(self.place, points))
            self._marks.append(f'<polyline class="line {kind}" points="{path}"/>')

    def dot(self, point: Point, kind: str, radius: float, label: str) -> None:
        """A dot that says something when pointed at."""
        x, y = self.place(point)
        self._marks.append(
            f'<circle class="dot {kind}" cx="{x}" cy="{y}" r="{radius:.1f}"><title>{escape(label)}</title></circle>'
        )

    def bar(self, left: float, right: float, top: float, kind: str, label: str, bottom: float = 0.0) -> None:
        """A bar from `bottom` to `top`."""
        x0, y0 = self.place((left, top))
        x1, y1 = self.place((right, bottom))
        if y1 > y0:
            self._marks.append(
                f'<rect class="bar {kind}" x="{x0}" y="{y0}" width="{max(0.5, x1 - x0 - 0.5):.1f}" '
                f'height="{y1 - y0:.1f}"><title>{escape(label)}</title></rect>'
            )

    def svg(self) -> Markup:
        """The plot as an element."""
        return Markup(  # every text in it is escaped
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(self.title, quote=True)}">'
            f"{self._frame()}{''.join(self._marks)}</svg>"
        )

    def _frame(self) -> str:
        bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
        parts = []
        for tick in self.x.ticks:
            x, _ = self.place((tick, 0))
            parts.append(f'<line class="grid" x1="{x}" y1="{TOP}" x2="{x}" y2="{bottom}"/>')
            parts.append(f'<text class="tick" x="{x}" y="{bottom + 14}" text-anchor="middle">{tick:g}</text>')
        for tick in self.y.ticks:
            _, y = self.place((0, tick))
            parts.append(f'<line class="grid" x1="{LEFT}" y1="{y}" x2="{right}" y2="{y}"/>')
            parts.append(f'<text class="tick" x="{LEFT - 6}" y="{y + 3.5}" text-anchor="end">{tick:g}</text>')
        middle_x, middle_y = (LEFT + right) / 2, (TOP + bottom) / 2
        parts.append(
            f'<text class="name" x="{middle_x}" y="{HEIGHT - 6}" text-anchor="middle">{escape(self.x.name)}</text>'
        )
        parts.append(
            f'<text class="name" x="12" y="{middle_y}" text-anchor="middle" '
            f'transform="rotate(-90 12 {middle_y})">{escape(self.y.name)}</text>'
        )
        return "".join(parts)


def curves(title: str, x: str, y: str, series: Sequence[Series], *, chance: Sequence[Point] = ()) -> Markup:
    """Lines over the unit square, such as ROC curves; `chance` is drawn dashed."""
    plot = Plot(title, unit(x), unit(y))
    plot.line(chance, "chance")
    for number, one in enumerate(series):
        plot.line(one.points, f"s{number % SERIES}")
    return plot.svg()


def reliability(title: str, groups: Sequence[tuple[str, Sequence[dict[str, float]]]]) -> Markup:
    """Observed share over stated probability; a dot's area grows with its rows."""
    plot = Plot(title, unit("stated probability"), unit("share hallucinated"))
    plot.line([(0, 0), (1, 1)], "chance")
    for number, (name, bins) in enumerate(groups):
        most = max((one["rows"] for one in bins), default=1)
        points = [(one["mean_probability"], one["share_hallucinated"]) for one in bins]
        plot.line(points, f"s{number % SERIES}")
        for point, one in zip(points, bins, strict=True):
            label = f"{name}: stated {point[0]:.2f}, observed {point[1]:.2f}, {one['rows']} rows"
            plot.dot(point, f"s{number % SERIES}", 2 + 4 * (one["rows"] / most) ** 0.5, label)
    return plot.svg()


def score_histogram(title: str, hallucinated: Sequence[int], clean: Sequence[int]) -> Markup:
    """Scores of hallucinated rows above, of clean ones stacked on top of them."""
    totals = [a + b for a, b in zip(hallucinated, clean, strict=True)]
    plot = Plot(title, unit("score"), counted("rows", max(totals, default=1)))
    width = 1 / max(1, len(totals))
    for place, (bad, total) in enumerate(zip(hallucinated, totals, strict=True)):
        left, right = place * width, (place + 1) * width
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
