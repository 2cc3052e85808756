"""Thresholds of abstention, fitted on answers of public data sets and tried on others.

    python benchmarks/abstention.py --data DIR/bench [--rows 100] [--json out.json]

For each data set, `rows` answers are used to fit `answer_from` and `partial_from` (`mitigation.abstain.fit_thresholds`,
both errors at the same cost), and as many others to try them, beside the defaults. Confidence is made of what a guard
measures without a model: groundedness, and where there is a question the quality of what was retrieved.

Columns: `withheld right` = right answers on which the app abstains (false abstention rate); `shown wrong` = wrong
answers that stand as they are (leak rate); `wrong with caveats` = wrong answers that are shown marked.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from pathlib import Path
from typing import Any

from evidencerails import Guard
from evidencerails.mitigation.abstain import LabelledConfidence, Thresholds, fit_thresholds

try:
    from benchmarks.real_rows import read_rows
    from benchmarks.tables import publish
except ImportError:  # run as a file
    from real_rows import read_rows
    from tables import publish

SETS = ("halueval_qa", "summeval")


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
