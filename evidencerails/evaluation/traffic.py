"""An app's own traffic in place of an evaluation: the reports of `evidencerails store export`, marked by a person.

In: JSON lines, one stored report each; `hallucinated: true` was added to those whose answer is wrong. Out: outcomes. An
answer without a mark counts as right, so that nobody has to read all of them: a share of false warnings found so is an
upper bound.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evidencerails.evaluation.outcomes import Outcome, Part
from evidencerails.evaluation.runs import RunFileError


def is_traffic(path: Path) -> bool:
    """True if the file begins with an exported report."""
    try:
        with path.open(encoding="utf-8") as lines:
            first = json.loads(lines.readline())
    except (OSError, ValueError):
        return False
    return isinstance(first, dict) and isinstance(first.get("report"), dict)


def outcomes_of_traffic(path: Path) -> Iterator[Outcome]:
    """The outcome of each check of each report, with the scores that it had.

    Raises:
        RunFileError: a line is not an exported report, or its mark is neither true nor false.
    """
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                row = json.loads(line)
                yield from _outcomes(row)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                remedy = "give the lines that `evidencerails store export` wrote, with hallucinated: true or false"
                raise RunFileError(f"{path.name}:{number}: not an exported report ({error!r}); {remedy}") from None


def _outcomes(row: dict[str, Any]) -> Iterator[Outcome]:
    is_wrong, report = row.get("hallucinated", False), row["report"]
    if not isinstance(is_wrong, bool):
        raise TypeError(f"hallucinated: {is_wrong!r}")
    parts = tuple(
        Part(claim["span"]["start"], claim["span"]["end"], claim["score"], claim["label"] not in _SUPPORTED)
        for claim in report["claims"]
    )
    for name, check in report["checks"].items():
        if check["status"] == "skipped":
            continue
        if "raw_score" in check.get("details", {}):
            raise ValueError("its scores are calibrated already")
        yield Outcome(
            id=row["id"],
            document=str(row.get("question") or row["id"]),
            method=name,
            hallucinated=is_wrong,
            status=check["status"],
            score=check["score"],
            reason=check.get("reason", ""),
            parts=parts,
        )


_SUPPORTED = ("supported", "unevaluatable")
