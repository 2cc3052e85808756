"""The checks of one exchange, run at the same time, and the report that their results become.

In: checks, an exchange, what they may use. Out: a report that is decided over but not yet acted on (see `guard` for
that).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TypeVar

from evidencerails.checks.base import Check, CheckContext
from evidencerails.checks.confabulation import with_confabulations
from evidencerails.checks.granularity import with_levels
from evidencerails.config import GuardConfig
from evidencerails.errors import EvidencerailsError, reason_of, traceback_summary
from evidencerails.exchange import Exchange
from evidencerails.measures.aggregate import composite_metrics, risk_level
from evidencerails.measures.calibrated import OWN_SCORE, ensemble_score, scores_by_name, with_calibration
from evidencerails.measures.metrics import measure_timings, with_measures
from evidencerails.measures.root_cause import attribution_matrix, with_root_causes
from evidencerails.mitigation.abstain import confidence_in
from evidencerails.mitigation.answerability import retrieval_quality
from evidencerails.mitigation.chain_of_verification import verify_claims
from evidencerails.mitigation.quality_gate import pass_gate
from evidencerails.mitigation.respond import with_abstention
from evidencerails.mitigation.severity import with_severities
from evidencerails.policy import Ruling, decide, severest
from evidencerails.report import CheckResult, Decision, LlmUsage, Report, Status, VerifiedClaim, reason_code
from evidencerails.text.claimable import claim_sentences
from evidencerails.trace import current_check
from evidencerails.version import __version__

log = logging.getLogger("evidencerails")

SHORT_CHARACTERS = 2_000
"""Response and evidence that take no more than some 2 ms to be reported on: less than it costs to leave the loop."""
READS_ARGUMENTS = ("grounding", "claims")
"""Checks for which the arguments of tool calls are claims, as the fields of an answer in JSON are."""


async def run_checks(
    checks: Sequence[Check],
    exchange: Exchange,
    context: CheckContext,
    *,
    cap: Decision | None = None,
    listeners: Sequence[Callable[[CheckResult], None]] = (),
    arguments: str = "",
    unread: str = "",
    inputs: Mapping[str, str] = MappingProxyType({}),
) -> Report:
    """The report of these checks, decided over but not acted on; unverified where they cannot be brought together.

    Args:
        inputs: what was given, by the checks that run for that alone; without a verdict their reasons name it.
        arguments: what the arguments of tool calls state, as text that stands behind the response.
        unread: why some of them cannot be read; empty if all are.
    """
    whole = with_text(exchange, arguments) if arguments else exchange
    runs = (
        _run_check(check, exchange_of_it, context, listeners, inputs.get(check.name, ""), why)
        for check in checks
        for exchange_of_it, why in [(whole, unread) if check.name in READS_ARGUMENTS else (exchange, "")]
    )
    config, verified, quality = context.config, tuple[VerifiedClaim, ...](), None
    try:
        found = deduplicate(await asyncio.gather(*runs))
        if not exchange.is_chunk:  # of a part of an answer none of these would be worth its cost
            if config.verification.enabled:
                found, verified = await verify_claims(found, exchange, context)
            if config.scoring.measures:
                found = await with_measures(found, exchange, context)
            if config.granularity.levels:
                found = await with_levels(found, exchange, context)
            if config.abstention.enabled:
                quality = await context.nli.run(retrieval_quality, exchange)
        report = partial(
            build_report, found, config, exchange, cap=cap, verification=verified, retrieval_quality=quality
        )
        if len(exchange.response) + sum(len(passage.text) for passage in exchange.evidence) < SHORT_CHARACTERS:
            return report()
        return await context.nli.run(report)  # a long answer has a thousand claims: the event loop must not stand still
    except Exception as error:  # boundary to verification and measures, whose models fail too: no verdict then
        log.error("evidencerails: the checks could not be brought together: %s", traceback_summary(error))
        reason = f"check_failed: {reason_of(error)}"
        results = [CheckResult(name=check.name, status="unverified", reason=reason) for check in checks]
        return build_report(results, config, exchange, cap=cap)


def with_text(exchange: Exchange, more: str) -> Exchange:
    """The exchange with more text behind its response."""
    return exchange.model_copy(update={"response": exchange.response + more})


async def _run_check(
    check: Check,
    exchange: Exchange,
    context: CheckContext,
    listeners: Sequence[Callable[[CheckResult], None]],
    given: str,
    unread: str,
) -> CheckResult:
    """Run one check; what goes wrong inside becomes an unverified result, never a score. `listeners` get the result."""
    current_check.set(check.name)
    started = time.perf_counter()
    try:
        result = await check.run(exchange, context)
        if unread and result.status in ("grounded", "skipped"):
            result = result.model_copy(update={"status": "unverified", "reason": unread, "score": None})
    except EvidencerailsError as error:
        result = _failed(check, error)
        log.warning("evidencerails: check %s: %s", check.name, reason_code(result.reason))
    except Exception as error:  # boundary to checks, models and providers: nothing of theirs may reach the app
        log.error("evidencerails: check %s failed: %s", check.name, traceback_summary(error))
        result = _failed(check, error)
    reason = f"unchecked_{given}: {result.reason}" if given and result.status == "unverified" else result.reason
    result = result.model_copy(update={"reason": reason, "duration_ms": (time.perf_counter() - started) * 1000})
    for notify in listeners:
        notify(result)
    return result


def _failed(check: Check, error: Exception) -> CheckResult:
    kind = type(error).__name__
    return CheckResult(
        name=check.name,
        status="unverified",
        reason=f"check_failed: {reason_of(error)}",
        version=check.version,
        details={"error": kind},
    )


# ---- from results to a report


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
    if findings := [finding for result in results for finding in result.findings]:
        if any(finding.category == "confabulatory" for finding in findings):
            results = with_confabulations(results, exchange)
        results = with_root_causes(results, exchange, config.root_cause)
        results = with_severities(results, exchange, config.severity)
    status, reason, score = overall_verdict(results)
    if status == "unverified" and _has_nothing_to_check(results, exchange):
        status, reason = "grounded", "no_claims"
    if config.calibration.ensemble is not None and status != "unverified":
        together = ensemble_score(scores_by_name(results, config.calibration), config.calibration.ensemble)
        score = score if together is None else together
    score = 0.0 if score is None and reason == "no_claims" else score
    metrics = {name: value for result in results for name, value in result.metrics.items()}
    timings_ms = {result.name: result.duration_ms for result in results}
    report = Report(
        status=status,
        reason=reason,
        hallucination_score=score,
        risk_level=risk_level(score, config.scoring.risk),
        claims=tuple(claim for result in results for claim in result.claims),
        findings=tuple(finding for result in results for finding in result.findings),
        checks={result.name: result for result in results},
        metrics={**metrics, **composite_metrics(metrics, config.scoring.composite)},
        timings_ms={**timings_ms, **measure_timings(results)} if config.scoring.measures else timings_ms,
        stakes=exchange.stakes or config.severity.stakes,
        verification=verification,
        root_causes=attribution_matrix(finding for result in results for finding in result.findings),
        evidence_from=exchange.evidence_from,
        version=__version__,
    )
    gate, further, abstention = None, list[Ruling](), None
    if (config.quality_gate.max_hallucination_score, config.quality_gate.max_composite_score) != (None, None):
        gate, further = pass_gate(report, config.quality_gate)
    if config.abstention.enabled and not exchange.is_chunk:  # a chunk of a stream is no answer
        abstention = confidence_in(report, config.abstention, retrieval_quality)
        decision = ABSTENTIONS.get(abstention.action)
        further += [Ruling(decision, f"abstention: {abstention.action}")] if decision else []
    ruling = decide(
        report.findings,
        report.status,
        config,
        any_unverified=any(result.status == "unverified" for result in results),
        cap=cap,
        is_streaming=exchange.is_chunk,
        further=further,
    )
    decided = {"decision": ruling.decision, "decided_by": ruling.decided_by, "gate": gate, "abstention": abstention}
    report = report.model_copy(update=decided)
    return with_abstention(report) if ruling.decision == "abstain" else report


ABSTENTIONS: Mapping[str, Decision] = {"partial": "annotate", "abstain": "abstain"}
"""What an answer that is not sure enough becomes."""


def overall_verdict(results: Sequence[CheckResult]) -> tuple[Status, str, float | None]:
    """Status, reason and score of a report: any hallucinated check wins; else any unverified one; else grounded.

    The reason is the one that all give, or each one's own behind its name. The score is the highest of the checks' own
    probabilities: one bad claim is never averaged away; None if the status is unverified, or no check has one.
    """
    statuses: tuple[Status, ...] = ("hallucinated", "unverified", "grounded")
    status = next((one for one in statuses if any(result.status == one for result in results)), None)
    named = [result for result in results if status is None or result.status == status]
    reasons = {result.reason for result in named}
    reason = reasons.pop() if len(reasons) == 1 else "; ".join(f"{r.name}: {r.reason}" for r in named)
    if status in (None, "unverified"):
        return "unverified", reason if status else "nothing_checked: " + reason, None
    return status, reason, max((result.score for result in results if result.score is not None), default=None)


NOTHING_THERE = "no_tool_calls"
"""Reason of a check that was skipped since what it looks at is not there; without a schema, a measure is missing."""


def _has_nothing_to_check(results: Sequence[CheckResult], exchange: Exchange) -> bool:
    """True for a greeting or refusal that only checks of something else have seen: it is not punished."""
    is_left_alone = all(result.status == "skipped" and result.reason == NOTHING_THERE for result in results)
    return is_left_alone and bool(results) and not claim_sentences(exchange.response)


T = TypeVar("T")


def merged(reports: Sequence[Report], config: GuardConfig) -> Report:
    """One report of all rails that looked at the same answer; the decision is the severest."""
    results = deduplicate([result for report in reports for result in report.checks.values()])
    status, reason, score = overall_verdict(results)
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


# ---- two checks that speak about the same claims: the finer one speaks for both

FINER = "claims"
"""Compares each claim with the evidence."""
COARSER = "grounding"
"""Compares each sentence with the evidence, and looks for contradictions inside the answer and with the prompt."""
CITING = "citations"
"""Compares each claim with the passages that it cites."""
LOCAL = "nli"
"""Method of a claim that no model had to judge: where it is `unevaluatable`, nothing failed."""
SHARED_KIND = "unsupported_claim"
LEFT_TO_FINER = "claims against evidence: see the check 'claims'"


def deduplicate(results: Sequence[CheckResult]) -> list[CheckResult]:
    """The results, with what `grounding` says about claims left to `claims`, if `claims` ran to its end.

    A wrong claim then stands in a report once, with one finding; the status of both checks and the score rest on one
    verdict on it. Findings of other kinds stay with `grounding`. If `claims` could not verify everything, both speak,
    unless all that it left open is what no evidence decides: a matter of taste is no invention for `grounding` either.
    """
    if any(result.claims for result in results if result.name in (FINER, COARSER)):
        # A claim read against what it cites and against all the evidence would stand there twice; its findings stay.
        results = [r.model_copy(update={"claims": ()}) if r.name == CITING and r.claims else r for r in results]
    finer = next((result for result in results if result.name == FINER), None)
    if finer is None or not (finer.status in ("grounded", "hallucinated") or _left_only_taste(finer)):
        return list(results)
    return [_without_claims(result, finer) if result.name == COARSER else result for result in results]


def _left_only_taste(finer: CheckResult) -> bool:
    open_claims = [claim for claim in finer.claims if claim.label == "unevaluatable"]
    return bool(open_claims) and all(claim.method == LOCAL for claim in open_claims)


def _without_claims(result: CheckResult, finer: CheckResult) -> CheckResult:
    if result.status not in ("grounded", "hallucinated"):
        return result.model_copy(update={"claims": ()})
    is_settled = finer.status in ("grounded", "hallucinated")  # else it left open what no evidence decides
    status, reason = (finer.status, finer.reason) if is_settled else ("grounded", LEFT_TO_FINER)
    own_score = {OWN_SCORE: result.details.get("raw_score", result.score)}
    others = tuple(finding for finding in result.findings if finding.kind != SHARED_KIND)
    return result.model_copy(
        update={
            "claims": (),
            "findings": others,
            "status": "hallucinated" if others else status,
            "reason": ", ".join(f.kind for f in others) if others else reason,
            "score": max((finding.score or 0.0 for finding in others), default=None),
            "metrics": {},
            "details": {**own_score, **result.details},
        }
    )
