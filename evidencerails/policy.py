"""From findings to a decision: the user's ordered rules first, then the defaults of each finding kind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from evidencerails.config import GuardConfig
from evidencerails.report import DECISIONS, Decision, Finding, Report, Status
from evidencerails.settings.mitigation import ProtocolSettings
from evidencerails.settings.policies import When

BLOCKED_BY_DEFAULT = frozenset(
    {"inconsistent_samples", "factual_fabrication", "tool_call_hallucination", "structure_violation"}
)
"""Kinds with a hard ground truth or, for samples, the upstream rail's own default (four types, "block and report")."""
NONEXISTENT_SOURCE = "nonexistent_source"
UPHELD = "upheld by the chain of verification"


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
    further: Sequence[Ruling] = (),
) -> Ruling:
    """The ruling over a whole report.

    `cap` is the severest decision the calling flow may take (`warn` for `hallucination warning`). While streaming
    NeMo can only allow or block, so everything between becomes `streaming_fallback`. `further` are rulings that rest on
    the response as a whole, such as the quality gate's.
    """
    rulings = [*(rule_for(finding, config) for finding in findings), *further]
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


def needs_action(report: Report, config: GuardConfig) -> bool:
    """True if a decision takes more than saying so: a repair, an abstention, a review, a record of what is minor."""
    is_done = report.decision in ("allow", "annotate", "warn", "block", "raise") and config.escalation is None
    return not is_done or any(finding.severity == "low" for finding in report.findings)


def rule_for(finding: Finding, config: GuardConfig) -> Ruling:
    """The ruling over one finding: the first policy rule that matches, else the severity protocol, else the default."""
    for place, rule in enumerate(config.policies, start=1):
        if matches(rule.when, finding):
            return Ruling(rule.then, f"policies[{place}]")
    if config.severity.protocol is not None:
        return _by_protocol(finding, config.severity.protocol)
    if finding.verification == "upheld":
        return Ruling("warn", UPHELD)
    return Ruling(default_decision(finding), "default")


def _by_protocol(finding: Finding, protocol: ProtocolSettings) -> Ruling:
    """The decision of the finding's severity level; what was quarantined and then upheld leaves with a warning."""
    if finding.severity == "high" and finding.verification == "upheld":
        return Ruling("warn", UPHELD)
    decision: Decision = getattr(protocol, finding.severity)
    return Ruling(decision, f"severity.protocol.{finding.severity}")


def default_decision(finding: Finding) -> Decision:
    """What happens to a finding that no rule matches."""
    if finding.kind in BLOCKED_BY_DEFAULT or finding.label == "contradicted":
        return "block"
    if finding.kind == "citation_violation" and finding.violation == NONEXISTENT_SOURCE:
        return "block"
    return "escalate" if finding.label == "unevaluatable" else "warn"


def matches(when: When, finding: Finding) -> bool:
    """True if the finding meets every given condition; one without a score meets no score condition."""
    for name in ("kind", "label", "category", "severity", "origin", "check", "violation", "verification"):
        wanted = getattr(when, name)
        if wanted is not None and getattr(finding, name) not in _as_tuple(wanted):
            return False
    if when.error_type is not None and not set(_as_tuple(when.error_type)) & set(finding.error_types):
        return False
    if when.min_severity is not None and (finding.severity_score or 0.0) < when.min_severity:
        return False
    if when.min_score is not None and (finding.score is None or finding.score < when.min_score):
        return False
    return when.max_score is None or (finding.score is not None and finding.score <= when.max_score)


def _as_tuple(value: str | tuple[str, ...]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else value
