"""The tables of docs/reference/lists.md: what the weights of severity come to."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import get_args

from evidencerails.exchange import Stakes
from evidencerails.mitigation.severity import SeverityScore, severity_of
from evidencerails.report import Finding, FindingKind, Severity

LEVELS: tuple[Severity, ...] = ("low", "medium", "high", "critical")


def severities() -> str:
    """Severity by kind of finding and level of the check, at medium stakes; and what the stakes change."""
    heading = "| kind of finding | " + " | ".join(f"check says {level}" for level in LEVELS) + " |"
    rows = [heading, "|---" * (len(LEVELS) + 1) + "|"]
    for name, finding in _findings():
        found = [_score(finding.model_copy(update={"severity": level})) for level in LEVELS]
        rows.append(f"| {name} | " + " | ".join(f"{one.score:.2f} {one.level}" for one in found) + " |")
    return "\n".join([*rows, "", _what_moves_it()])


def _findings() -> Iterator[tuple[str, Finding]]:
    """A finding of each kind, and those of the two that weigh differently."""
    for kind in get_args(FindingKind):
        yield f"`{kind}`", _finding(kind)
    yield "`unsupported_claim`, `contradicted`", _finding("unsupported_claim", label="contradicted")
    yield "`unsupported_claim`, confabulatory", _finding("unsupported_claim", category="confabulatory")


def _finding(kind: FindingKind, **fields: str) -> Finding:
    values = {"category": "factual", "origin": "extrinsic", "reason": "", "check": "", "version": "", **fields}
    return Finding(kind=kind, severity="medium", **values)  # type: ignore[arg-type]


def _score(finding: Finding, stakes: Stakes = "medium") -> SeverityScore:
    return severity_of(finding, stakes, feeds_tools=False)


def _what_moves_it() -> str:
    """How many of the cells change their level with the stakes."""
    findings = [one.model_copy(update={"severity": level}) for (_, one), level in product(_findings(), LEVELS)]
    level = {stakes: [_score(one, stakes).level for one in findings] for stakes in get_args(Stakes)}
    by_stakes = ", ".join(
        f"{stakes} stakes {sum(a != b for a, b in zip(level[stakes], level['medium'], strict=True))}"
        for stakes in ("low", "high")
    )
    return f"Of these {len(findings)} cells the level is another with {by_stakes}."
