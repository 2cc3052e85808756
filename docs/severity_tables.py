"""The tables of docs/reference/lists.md: what the weights of severity come to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from evidencerails.mitigation.severity import SeverityScore, severity_of
from evidencerails.report import Finding, FindingKind, Severity

LEVELS: tuple[Severity, ...] = ("low", "medium", "high", "critical")


def severities() -> str:
    """Severity by kind of finding and level of the check, at medium stakes."""
    heading = "| kind of finding | " + " | ".join(f"check says {level}" for level in LEVELS) + " |"
    rows = [heading, "|---" * (len(LEVELS) + 1) + "|"]
    for name, finding in _findings():
        found = [_score(finding.model_copy(update={"severity": level})) for level in LEVELS]
        rows.append(f"| {name} | " + " | ".join(f"{one.score:.2f} {one.level}" for one in found) + " |")
    return "\n".join(rows)


def _findings() -> Iterator[tuple[str, Finding]]:
    """A finding of each kind, and the two with other parts."""
    for kind in get_args(FindingKind):
        yield f"`{kind}`", _finding(kind)
    yield "`unsupported_claim`, `contradicted`", _finding("unsupported_claim", label="contradicted")
    yield "`unsupported_claim`, confabulatory", _finding("unsupported_claim", category="confabulatory")


def _finding(kind: FindingKind, **fields: str) -> Finding:
    values = {"category": "factual", "origin": "extrinsic", "reason": "", "check": "", "version": "", **fields}
    return Finding(kind=kind, severity="medium", **values)  # type: ignore[arg-type]


def _score(finding: Finding) -> SeverityScore:
    return severity_of(finding, "medium", feeds_tools=False)
