"""The tables of docs/reference/lists.md: what the default weights come to, and how much hangs on them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import get_args

from evidencerails.exchange import Stakes
from evidencerails.mitigation.severity import SeverityScore, severity_of
from evidencerails.report import Finding, FindingKind, Severity
from evidencerails.settings.mitigation import SeveritySettings

LEVELS: tuple[Severity, ...] = ("low", "medium", "high", "critical")
CHANGES = (0.5, 1.0, 1.5)
"""Factors by which each weight is moved to see what hangs on it."""


def severities() -> str:
    """Severity by kind of finding and level of the check, at medium stakes; and what the stakes and weights change."""
    heading = "| kind of finding | " + " | ".join(f"check says {level}" for level in LEVELS) + " |"
    rows = [heading, "|---" * (len(LEVELS) + 1) + "|"]
    for name, finding in _findings():
        found = [_score(finding.model_copy(update={"severity": level})) for level in LEVELS]
        rows.append(f"| {name} | " + " | ".join(f"{one.score:.2f} {one.level}" for one in found) + " |")
    return "\n".join([*rows, "", *_what_moves_it()])


def _findings() -> Iterator[tuple[str, Finding]]:
    """A finding of each kind, and those of the two that weigh differently."""
    for kind in get_args(FindingKind):
        yield f"`{kind}`", _finding(kind)
    yield "`unsupported_claim`, `contradicted`", _finding("unsupported_claim", label="contradicted")
    yield "`unsupported_claim`, confabulatory", _finding("unsupported_claim", category="confabulatory")


def _finding(kind: FindingKind, **fields: str) -> Finding:
    values = {"category": "factual", "origin": "extrinsic", "reason": "", "check": "", "version": "", **fields}
    return Finding(kind=kind, severity="medium", **values)  # type: ignore[arg-type]


def _score(finding: Finding, stakes: Stakes = "medium", settings: SeveritySettings | None = None) -> SeverityScore:
    return severity_of(finding, stakes, settings or SeveritySettings(), feeds_tools=False)


def _what_moves_it() -> list[str]:
    """How many of the cells, over all stakes, change their level with the stakes, and with the weights."""
    findings = [one.model_copy(update={"severity": level}) for (_, one), level in product(_findings(), LEVELS)]
    level = {stakes: [_score(one, stakes).level for one in findings] for stakes in get_args(Stakes)}
    by_stakes = ", ".join(
        f"{stakes} stakes {sum(a != b for a, b in zip(level[stakes], level['medium'], strict=True))}"
        for stakes in ("low", "high")
    )
    cells = [(one, stakes) for one in findings for stakes in get_args(Stakes)]
    before = [_score(one, stakes).level for one, stakes in cells]
    moved = [
        sum(_score(one, stakes, settings).level != old for (one, stakes), old in zip(cells, before, strict=True))
        for settings in _other_weights()
    ]
    return [
        f"Of these {len(findings)} cells the level is another with {by_stakes}.",
        f"Over all three stakes ({len(cells)} cells),",
        f"halving each weight or raising it by a half, in all {len(moved)} ways, changes the level of "
        f"{sum(moved) / len(moved) / len(cells):.0%} on average, of {max(moved) / len(cells):.0%} at most.",
    ]


def _other_weights() -> Iterator[SeveritySettings]:
    weights = SeveritySettings().weights.model_dump()
    for factors in product(CHANGES, repeat=len(weights)):
        if len(set(factors)) > 1:  # the weights are made to sum to 1
            changed = {name: value * factor for (name, value), factor in zip(weights.items(), factors, strict=True)}
            yield SeveritySettings.model_validate({"weights": changed})
