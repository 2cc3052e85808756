"""From the results of the checks to the report and its decision."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from evidencerails import __version__
from evidencerails.checks.confabulation import with_confabulations
from evidencerails.checks.duplicates import deduplicate
from evidencerails.config import GuardConfig
from evidencerails.exchange import Exchange
from evidencerails.measures.aggregate import risk_level
from evidencerails.measures.calibrated import ensemble_score, scores_by_name, with_calibration
from evidencerails.measures.metrics import composite_metrics, measure_timings
from evidencerails.measures.root_cause import attribution_matrix, with_root_causes
from evidencerails.mitigation.abstain import confidence_in
from evidencerails.mitigation.quality_gate import pass_gate
from evidencerails.mitigation.respond import with_abstention
from evidencerails.mitigation.severity import with_severities
from evidencerails.policy import Ruling, decide, severest
from evidencerails.report import Abstention, CheckResult, Decision, LlmUsage, Report, Status, VerifiedClaim
from evidencerails.text.claimable import claim_sentences


def build_report(
    results: Sequence[CheckResult],
    config: GuardConfig,
    exchange: Exchange,
    *,
    cap: Decision | None = None,
    verification: tuple[VerifiedClaim, ...] = (),
    retrieval_quality: float | None = None,
) -> Report:
    """The report of these results, decided over but not yet acted on.

    Args:
        cap: the severest decision the calling flow may take.
        retrieval_quality: how well the evidence fits the question, where abstention is on.
    """
    results = deduplicate(results)
    if config.calibration.methods:
        results = with_calibration(results, config.calibration)
    if any(result.findings for result in results):
        results = with_root_causes(with_confabulations(results, exchange), exchange, config.root_cause)
        results = with_severities(results, exchange, config.severity)
    status, reason = overall_status(results)
    if _has_nothing_to_check(results, exchange):
        status, reason = "grounded", "no_claims"
    together = None
    if config.calibration.ensemble is not None:
        together = ensemble_score(scores_by_name(results, config.calibration), config.calibration.ensemble)
    score = None if status == "unverified" else hallucination_score(results) if together is None else together
    score = 0.0 if score is None and reason == "no_claims" else score
    metrics = {name: value for result in results for name, value in result.metrics.items()}
    report = Report(
        status=status,
        reason=reason,
        hallucination_score=score,
        risk_level=risk_level(score, config.scoring.risk),
        claims=tuple(claim for result in results for claim in result.claims),
        findings=tuple(finding for result in results for finding in result.findings),
        checks={result.name: result for result in results},
        metrics={**metrics, **composite_metrics(metrics, config.scoring.composite)},
        timings_ms={**{result.name: result.duration_ms for result in results}, **measure_timings(results)},
        stakes=exchange.stakes or config.severity.stakes,
        verification=verification,
        root_causes=attribution_matrix(finding for result in results for finding in result.findings),
        evidence_from=exchange.evidence_from,
        version=__version__,
    )
    return _decided(report, config, exchange, cap, retrieval_quality)


def _decided(
    report: Report, config: GuardConfig, exchange: Exchange, cap: Decision | None, quality: float | None
) -> Report:
    gate, gate_ruling = pass_gate(report, config.quality_gate)
    abstention, abstention_ruling = _abstention(report, config, exchange, quality)
    ruling = decide(
        report.findings,
        report.status,
        config,
        any_unverified=any(result.status == "unverified" for result in report.checks.values()),
        cap=cap,
        is_streaming=exchange.is_chunk,
        further=[ruling for ruling in (gate_ruling, abstention_ruling) if ruling is not None],
    )
    decided = {"decision": ruling.decision, "decided_by": ruling.decided_by, "gate": gate, "abstention": abstention}
    return with_abstention(report.model_copy(update=decided))


def _abstention(
    report: Report, config: GuardConfig, exchange: Exchange, quality: float | None
) -> tuple[Abstention | None, Ruling | None]:
    """How sure the answer is, and the ruling if it may not stand as it is; a chunk of a stream is no answer."""
    if not config.abstention.enabled or exchange.is_chunk:
        return None, None
    found = confidence_in(report, config.abstention, quality)
    decisions: dict[str, Decision] = {"partial": "annotate", "abstain": "abstain"}
    decision = decisions.get(found.action)
    return found, Ruling(decision, f"abstention: {found.action}") if decision else None


def overall_status(results: Sequence[CheckResult]) -> tuple[Status, str]:
    """Status and reason of a report: any hallucinated check wins; else any unverified one; else grounded."""
    for wanted in ("hallucinated", "unverified", "grounded"):
        named = [result for result in results if result.status == wanted]
        if named:
            return named[0].status, _common_reason(named)  # type: ignore[return-value]
    return "unverified", "nothing_checked: " + _common_reason(results)


NOTHING_THERE = "no_tool_calls"
"""Reason of a check that was skipped since what it looks at is not there; without a schema, a measure is missing."""


def _has_nothing_to_check(results: Sequence[CheckResult], exchange: Exchange) -> bool:
    """True for a greeting or refusal that only checks of something else have seen: it is not punished."""
    is_left_alone = all(result.status == "skipped" and result.reason == NOTHING_THERE for result in results)
    return is_left_alone and bool(results) and not claim_sentences(exchange.response)


def _common_reason(results: Sequence[CheckResult]) -> str:
    """The reason that all give, or each one's own behind its name."""
    reasons = {result.reason for result in results}
    return reasons.pop() if len(reasons) == 1 else "; ".join(f"{r.name}: {r.reason}" for r in results)


def hallucination_score(results: Sequence[CheckResult]) -> float | None:
    """The highest of the checks' own probabilities: one bad claim is never averaged away. None if none has one."""
    return max((result.score for result in results if result.score is not None), default=None)


T = TypeVar("T")


def merged(reports: Sequence[Report], config: GuardConfig) -> Report:
    """One report of all rails that looked at the same answer; the decision is the severest."""
    results = deduplicate([result for report in reports for result in report.checks.values()])
    status, reason = overall_status(results)
    score = None if status == "unverified" else hallucination_score(results)
    decision = severest(report.decision for report in reports)
    decider = next((report for report in reports if report.decision == decision), reports[0])
    usages = [report.llm for report in reports]
    return reports[-1].model_copy(
        update={
            "status": status,
            "reason": reason,
            "decision": decision,
            "decided_by": decider.decided_by,
            "hallucination_score": score,
            "risk_level": risk_level(score, config.scoring.risk),
            "claims": tuple(claim for result in results for claim in result.claims),
            "findings": tuple(finding for result in results for finding in result.findings),
            "checks": {result.name: result for result in results},
            "metrics": {name: value for report in reports for name, value in report.metrics.items()},
            "timings_ms": {name: value for report in reports for name, value in report.timings_ms.items()},
            "llm": LlmUsage(**{name: sum(getattr(u, name) for u in usages) for name in LlmUsage.model_fields}),
            "root_causes": attribution_matrix(finding for result in results for finding in result.findings),
            "evidence_from": next((r.evidence_from for r in reports if r.evidence_from), None),
            "answer": decider.answer if decider.is_blocked else _last(report.answer for report in reports),
            "repair": _last(report.repair for report in reports),
            "verification": tuple(verified for report in reports for verified in report.verification),
            "abstention": decider.abstention or next((r.abstention for r in reports if r.abstention), None),
            "gate": next((r.gate for r in reports if r.gate and r.gate.passed is False), reports[-1].gate),
        }
    )


def _last(values: Iterable[T | None]) -> T | None:
    """The last value that is not None; None if there is none."""
    return next((value for value in reversed([*values]) if value is not None), None)
