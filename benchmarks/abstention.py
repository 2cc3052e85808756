"""Thresholds of abstention, fitted on answers of public data sets and tried on others.

    python benchmarks/abstention.py --data DIR/bench [--rows 100] [--json out.json]

For each data set, `rows` answers are used to fit `answer_from` and `partial_from` (both errors at
the same cost), and as many others to try them, beside the defaults. Confidence is made of what a guard
measures without a model: groundedness, and where there is a question the quality of what was retrieved.

Columns: `withheld right` = right answers on which the app abstains (false abstention rate); `shown wrong` = wrong
answers that stand as they are (leak rate); `wrong with caveats` = wrong answers that are shown marked.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from evidencerails import Guard

try:
    from benchmarks.real_rows import read_rows
    from benchmarks.tables import publish
except ImportError:  # run as a file
    from real_rows import read_rows
    from tables import publish

SETS = ("halueval_qa", "summeval")


class LabelledConfidence(NamedTuple):
    """An answer's confidence, and whether it was right."""

    confidence: float
    is_right: bool


class Thresholds(NamedTuple):
    """Thresholds fitted to labelled answers, and what they cost there."""

    answer_from: float
    partial_from: float
    false_abstention_rate: float
    """Share of right answers below `partial_from`."""
    leak_rate: float
    """Share of wrong answers at or above `answer_from`."""


def fit_thresholds(
    rows: Sequence[LabelledConfidence], *, false_abstention_cost: float = 1.0, leak_cost: float = 1.0
) -> Thresholds:
    """The thresholds with the least cost on held-out answers.

    Each is argmin of false_abstention_cost * rate of right answers below + leak_cost * rate of wrong answers at or
    above it; for `partial_from` a leak costs half, since such an answer leaves with caveats.

    Raises:
        ValueError: there are not both right and wrong answers.
    """
    right = [row.confidence for row in rows if row.is_right]
    wrong = [row.confidence for row in rows if not row.is_right]
    if not right or not wrong:
        raise ValueError(f"needs right and wrong answers, got {len(right)} right and {len(wrong)} wrong ones")
    places = sorted({0.0, *(round(row.confidence, 6) for row in rows), 1.0})

    def cost(place: float, leak: float) -> float:
        return false_abstention_cost * _below(right, place) + leak * (1.0 - _below(wrong, place))

    answer_from = min(places, key=lambda place: (cost(place, leak_cost), place))
    below = [place for place in places if place <= answer_from]
    partial_from = min(below, key=lambda place: (cost(place, leak_cost / 2), place))
    return Thresholds(answer_from, partial_from, _below(right, partial_from), 1.0 - _below(wrong, answer_from))


def _below(values: Sequence[float], place: float) -> float:
    return sum(value < place for value in values) / len(values)


async def confidences(guard: Guard, rows: list[dict[str, Any]]) -> list[LabelledConfidence]:
    """Confidence and label of each answer; one that could not be measured counts as not confident at all."""
    found = []
    for row in rows:
        report = await guard.check(row["response"], evidence=row["evidence"], prompt=row.get("prompt"))
        confidence = report.abstention.confidence if report.abstention else None
        found.append(LabelledConfidence(confidence or 0.0, not row["hallucinated"]))
    return found


def rates(rows: list[LabelledConfidence], thresholds: Thresholds) -> list[str]:
    """Withheld right, shown wrong, wrong with caveats."""
    right = [row.confidence for row in rows if row.is_right]
    wrong = [row.confidence for row in rows if not row.is_right]
    withheld = sum(confidence < thresholds.partial_from for confidence in right)
    shown = sum(confidence >= thresholds.answer_from for confidence in wrong)
    caveats = sum(thresholds.partial_from <= confidence < thresholds.answer_from for confidence in wrong)
    return [_share(withheld, len(right)), _share(shown, len(wrong)), _share(caveats, len(wrong))]


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%} of {whole}" if whole else "-"


def main() -> None:
    """Fit, try, publish."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with the data sets")
    parser.add_argument("--rows", type=int, default=100, help="answers to fit on, and to try on (default: 100)")
    parser.add_argument("--json", type=Path, help="also write the figures into this file")
    options = parser.parse_args()
    guard = Guard({"checks": ["grounding"], "abstention": {"enabled": True}})
    settings = guard.config.abstention
    default = Thresholds(settings.answer_from, settings.partial_from, 0.0, 0.0)
    heading = ["data set", "thresholds", "answer_from", "partial_from"]
    rows = [[*heading, "withheld right", "shown wrong", "wrong with caveats"]]
    data: dict[str, Any] = {"rows": options.rows, "sets": {}}
    for name in SETS:
        found = asyncio.run(confidences(guard, read_rows(options.data, name, 2 * options.rows)))
        fitted = fit_thresholds(found[: options.rows])
        for label, thresholds in (("default", default), ("fitted", fitted)):
            shown = [f"{thresholds.answer_from:.2f}", f"{thresholds.partial_from:.2f}"]
            rows.append([name, label, *shown, *rates(found[options.rows :], thresholds)])
        data["sets"][name] = {"fitted": fitted._asdict(), "confidences": [list(row) for row in found]}
    if options.json:
        options.json.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
    publish("abstention", rows, {"rows": options.rows, "sets": {n: s["fitted"] for n, s in data["sets"].items()}})


if __name__ == "__main__":
    main()
