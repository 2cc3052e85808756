"""What the judge brings for what it costs: the cascade at every threshold, put together from two runs.

The cascade asks about each claim by itself, so its report is known once every claim was read locally and judged: one
that is asked about has the judge's label, any other the local one (`checks.claims.llm.second_opinion`). `judge.py` runs
the rail at its default thresholds too and counts where that differs."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tables import DOCS, save_picture

from evidencerails import Report
from evidencerails.evaluation.metrics import balanced_accuracy, checked
from evidencerails.measures.asking import planned_calls
from evidencerails.measures.metrics import is_between
from evidencerails.settings.scoring import CascadeSettings
from evidencerails.text.vega import Layer, axis, level, svg

PICTURE = DOCS / "images" / "judge-curve.svg"
LOWS = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
HIGHS = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 1.0)
SHARE_OF_GAIN = 0.95
LEAST_STEP = 0.01
UNSUPPORTED = ("contradicted", "absent", "partially_supported")
Done = Sequence[tuple[Any, Report]]
"""Cases with their reports."""


@dataclass(frozen=True)
class Point:
    """The cascade with one pair of thresholds; without any for "never" and "always"."""

    name: str
    low: float
    high: float
    calls: float
    """For one answer, second questions left out; the mean of the sets."""
    accuracy: float
    """Balanced accuracy, the mean of the sets."""
    claims: float
    """Share of the claims that are asked about; the mean of the sets."""
    by_set: dict[str, tuple[float, float, float]] = field(hash=False)
    """Calls, balanced accuracy and share of the claims of each set."""


class Curve(NamedTuple):
    """All points, and what follows from them."""

    never: Point
    always: Point
    points: list[Point]

    @property
    def best(self) -> list[Point]:
        """From "never" to "always": points that no cheaper one is as good as."""
        found: list[Point] = []
        for point in sorted([self.never, *self.points, self.always], key=lambda one: (one.calls, -one.accuracy)):
            if not found or point.accuracy > found[-1].accuracy:
                found.append(point)
        return found

    @property
    def budget(self) -> Point:
        """The cheapest point with 95 % of the gain."""
        wanted = self.never.accuracy + SHARE_OF_GAIN * (self.always.accuracy - self.never.accuracy)
        return min((one for one in self.best if one.accuracy >= wanted), key=lambda one: one.calls)

    def at(self, low: float, high: float) -> Point:
        """The point with these thresholds."""
        return next(one for one in self.points if (one.low, one.high) == (low, high))


def merged(local: Report, judged: Report, asks: Callable[[Any], bool]) -> tuple[Report, int]:
    """The report of a cascade that asks about those of the local claims, and how many they are."""
    by_place = {(one.span.start, one.span.end): one for one in judged.claims}
    claims, asked = [], 0
    for claim in local.claims:
        other = by_place.get((claim.span.start, claim.span.end))
        if not asks(claim):
            claims.append(claim)
            continue
        asked += 1
        is_kept = other is None or (other.label == "unevaluatable" and claim.label in UNSUPPORTED)
        claims.append(claim if is_kept or other is None else other)
    return local.model_copy(update={"claims": tuple(claims)}), asked


def curve(local: Done, judged: Done, outcomes_of: Callable[[Any, Report], Iterator[Any]]) -> Curve:
    """Every pair of thresholds, over cases that were read without a judge and with one."""

    def point(name: str, low: float, high: float, asks: Callable[[Any], bool]) -> Point:
        outcomes: dict[str, list[Any]] = defaultdict(list)
        counts: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for (case, read), (_, other) in zip(local, judged, strict=True):
            report, asked = merged(read, other, asks)
            counts[case.set].append((asked, len(report.claims)))
            outcomes[case.set] += outcomes_of(case, report)
        by_set = {}
        for part, own in outcomes.items():
            asked_of, claims = zip(*counts[part], strict=True)
            by_set[part] = (_mean([*map(planned_calls, asked_of)]), accuracy_of(own), sum(asked_of) / sum(claims))
        means = [_mean(column) for column in zip(*by_set.values(), strict=True)]
        return Point(name, low, high, means[0], means[1], means[2], by_set)

    points = []
    for low, high in itertools.product(LOWS, HIGHS):
        if low < high:
            band = CascadeSettings(low=low, high=high)
            asks = lambda claim, band=band: is_between(claim.score, band)  # noqa: E731
            points.append(point(f"{low:g} to {high:g}", low, high, asks))
    return Curve(point("never", 0, 0, lambda _: False), point("always", 0, 1, lambda _: True), points)


def accuracy_of(outcomes: Sequence[Any]) -> float:
    """Balanced accuracy; what is not verified counts as wrong."""
    flags = [float(one.is_flagged or (one.is_unverified and one.is_right)) for one in outcomes]
    return balanced_accuracy.estimate(*checked([not one.is_right for one in outcomes], flags)).value or 0.0


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def draw(found: Curve, default: Point, path: Path = PICTURE) -> None:
    """The best points as a line, the budget and the default marked."""
    x, y = axis("x", "calls for one answer", domain=(0, 1)), axis("y", "balanced accuracy", domain=(0.6, 1))
    encoding = {"x": x, "y": y}
    rows = [{"x": one.calls, "y": one.accuracy, "n": n} for n, one in enumerate(found.best)]
    line = {**encoding, "order": {"field": "n"}}
    marks = {"budget of 95 % of the gain": found.budget, "default": default}
    layers = [
        Layer("best thresholds", "var(--c0)", {"type": "line", "point": True}, rows, line),
        level("every claim asked about", "var(--dim)", found.always.accuracy),
        *(
            Layer(
                name,
                colour,
                {"type": "point", "size": 140, "filled": is_filled},
                [{"x": one.calls, "y": one.accuracy}],
                encoding,
            )
            for (name, one), colour, is_filled in zip(
                marks.items(), ("var(--c1)", "var(--text)"), (True, False), strict=True
            )
        ),
    ]
    picture = svg("Balanced accuracy over calls of the cascade", layers, width=720, height=380)
    save_picture(picture, path)


def rows_of(found: Curve, default: Point) -> list[list[str]]:
    """The curve as a table: points that gain at least .01, the budget in bold, the default."""
    head = ["asked about", "calls an answer", "claims asked about", "bal. acc.", "share of the gain"]
    rows = [[*head, *found.never.by_set]]
    gain = found.always.accuracy - found.never.accuracy
    kept = {found.never, found.budget, default, found.always}
    last = 0.0
    for one in sorted({*found.best, *kept}, key=lambda one: (one.calls, one.accuracy)):
        if one not in kept and one.accuracy < last + LEAST_STEP:
            continue
        last = max(last, one.accuracy)
        name = f"**{one.name}**" if one == found.budget else one.name
        name += " (default)" if one == default else ""
        share = (one.accuracy - found.never.accuracy) / gain
        sets = (f"{accuracy:.3f}, {calls:.2f}" for calls, accuracy, _ in one.by_set.values())
        rows.append([name, f"{one.calls:.2f}", f"{one.claims:.0%}", f"{one.accuracy:.3f}", f"{share:.0%}", *sets])
    return rows
