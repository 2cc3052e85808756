"""From findings to a decision: the user's ordered rules first, then the defaults of each finding kind."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from groundrails.config import GuardConfig, When
from groundrails.report import DECISIONS, Decision, Finding, Status

BLOCKED_BY_DEFAULT = frozenset(
    {"inconsistent_samples", "factual_fabrication", "tool_call_hallucination", "structure_violation"}
)
"""Kinds with a hard ground truth or, for samples, the upstream rail's own default (four types, "block and report")."""
NONEXISTENT_SOURCE = "nonexistent_source"


class Ruling(NamedTuple):
    """A decision and the rule that made it."""

    decision: Decision
    decided_by: str


def severest(decisions: Iterable[Decision]) -> Decision:
    """The severest of the decisions; `allow` if there is none."""
    return max(decisions, key=DECISIONS.index, default="allow")


def decide(
    findings: Iterable[Finding],
    status: Status,
    config: GuardConfig,
    *,
    any_unverified: bool = False,
    cap: Decision | None = None,
    is_streaming: bool = False,
) -> Ruling:
    """The ruling over a whole report.

    `cap` is the severest decision the calling flow may take (`warn` for `hallucination warning`). While streaming
    NeMo can only allow or block, so everything between becomes `streaming_fallback`.
    """
    rulings = [_rule_for(finding, config) for finding in findings]
    if status == "unverified" or any_unverified:
        rulings.append(Ruling(config.on_unverified, "on_unverified"))
    if not rulings and status == "hallucinated":  # cannot happen with a sound check; never let it pass
        rulings.append(Ruling("block", "default"))
    ruling = max(rulings, key=lambda r: DECISIONS.index(r.decision), default=Ruling("allow", "grounded"))
    if cap is not None and DECISIONS.index(ruling.decision) > DECISIONS.index(cap):
        ruling = Ruling(cap, f"{ruling.decided_by}, at most {cap} in this flow")
    if is_streaming and ruling.decision not in ("allow", "block", "raise"):
        ruling = Ruling(config.streaming_fallback, f"{ruling.decided_by}, streaming_fallback")
    return ruling


def _rule_for(finding: Finding, config: GuardConfig) -> Ruling:
    for place, rule in enumerate(config.policies, start=1):
        if matches(rule.when, finding):
            return Ruling(rule.then, f"policies[{place}]")
    return Ruling(default_decision(finding), "default")


def default_decision(finding: Finding) -> Decision:
    """What happens to a finding that no rule matches (DESIGN, decision)."""
    if finding.kind in BLOCKED_BY_DEFAULT or finding.label == "contradicted":
        return "block"
    if finding.kind == "citation_violation" and finding.violation == NONEXISTENT_SOURCE:
        return "block"
    return "warn"


def matches(when: When, finding: Finding) -> bool:
    """True if every given condition holds for the finding; a score condition never holds for a finding without one."""
    for name in ("kind", "label", "category", "severity", "origin", "check", "violation"):
        wanted = getattr(when, name)
        if wanted is not None and getattr(finding, name) not in _as_tuple(wanted):
            return False
    if when.error_type is not None and not set(_as_tuple(when.error_type)) & set(finding.error_types):
        return False
    if when.min_score is not None and (finding.score is None or finding.score < when.min_score):
        return False
    return when.max_score is None or (finding.score is not None and finding.score <= when.max_score)


def _as_tuple(value: str | tuple[str, ...]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else value
