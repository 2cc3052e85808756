"""Chain of verification: questions about claims, answered without sight of the answer.

Two calls for all claims together: one turns claims into open questions, one answers these from the evidence alone. The
answers are compared with the claims as the checks read evidence, by the local model, so that no model grades itself;
an answer counts only if the words it quotes entail it. Only claims above an expected severity are asked about, and
one that the evidence contradicts is never upheld: an answer from the same evidence is no reason to trust it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from evidencerails.checks.claims.proof import context_of, sentence_of
from evidencerails.errors import EvidencerailsError, reason_of
from evidencerails.exchange import Exchange, Passage, Span
from evidencerails.measures.evidence import find_quote
from evidencerails.mitigation.severity import severity_of, stakes_of
from evidencerails.nli.base import ENTAILMENT
from evidencerails.report import CheckResult, Claim, Finding, Label, Quote, Verified, VerifiedClaim
from evidencerails.text.claimable import clean
from evidencerails.verdict.hypotheses import hypotheses
from evidencerails.verdict.model import VerdictModel
from evidencerails.verdict.reading import judged_reading, read_claims

if TYPE_CHECKING:
    from evidencerails.checks.base import CheckContext
    from evidencerails.llm.session import LlmSession
from evidencerails.mitigation.verification_calls import Answered, Candidate, independent_answers, open_questions

CHECK = "verification"

VERSION = "2"

QUOTE_ENTAILMENT = 0.5
"""P(entailment) from which a quote says what the answer says: then it is likelier than both others together."""
REFUTED_SCORE = 0.97
"""Score of a refuted claim, that of a claim which a judge calls contradicted; set by hand."""


async def verify_claims(
    results: Sequence[CheckResult], exchange: Exchange, context: CheckContext
) -> tuple[list[CheckResult], tuple[VerifiedClaim, ...]]:
    """The results with what the verification says about their claims, and that itself.

    A refuted claim that no check had flagged becomes a finding of a check of its own; a flagged one keeps its finding,
    which then carries the outcome. Without evidence or a model there is nothing to verify with, and nothing changes.
    """
    if not context.config.verification.enabled or exchange.is_chunk:
        return list(results), ()
    candidates = _candidates(results, exchange, context)
    session = context.judge or context.llm
    if not candidates:
        return list(results), ()
    if session is None or not exchange.evidence:
        reason = "no_model" if session is None else "no_evidence"
        verified = tuple(_unanswered(candidate, reason) for candidate in candidates)
    else:
        verified = await _verify(candidates, exchange, context, session)
    verified = tuple(_not_milder(one, _contradicted(results)) for one in verified)
    return _with_outcomes(results, verified), verified


def _candidates(results: Sequence[CheckResult], exchange: Exchange, context: CheckContext) -> list[Candidate]:
    """Claims whose severity, were they false, times the probability that they are, is at least the settings'.

    A claim without a score counts as if it were as likely false as true.
    """
    settings = context.config
    stakes = stakes_of(exchange, settings.severity)
    found: dict[tuple[int, int, str], Candidate] = {}
    for result in results:
        for claim in result.claims:
            severity = severity_of(_as_if_false(claim), stakes, settings.severity, feeds_tools=bool(exchange.tools))
            expected = severity.score * (0.5 if claim.score is None else claim.score)
            if expected >= settings.verification.min_severity:
                found.setdefault((claim.span.start, claim.span.end, claim.text), Candidate(claim, expected))
    ranked = sorted(found.values(), key=lambda one: -one.expected_severity)
    return ranked[: settings.verification.max_claims]


def _as_if_false(claim: Claim) -> Finding:
    return Finding(
        kind="unsupported_claim",
        category="contextual",
        severity="high",
        origin="intrinsic",
        reason="",
        check=CHECK,
        version=VERSION,
        span=claim.span,
    )


async def _verify(
    candidates: Sequence[Candidate], exchange: Exchange, context: CheckContext, session: LlmSession
) -> tuple[VerifiedClaim, ...]:
    try:
        questions = await open_questions([one.claim for one in candidates], context, session)
        answers = await independent_answers(questions, candidates, exchange, context, session) if questions else {}
    except EvidencerailsError as error:
        return tuple(_unanswered(candidate, reason_of(error)) for candidate in candidates)
    return tuple(
        await asyncio.gather(
            *(
                _compared(candidate, questions.get(place, ""), answers.get(place), exchange, context)
                for place, candidate in enumerate(candidates)
            )
        )
    )


async def _compared(
    candidate: Candidate, question: str, answer: Answered | None, exchange: Exchange, context: CheckContext
) -> VerifiedClaim:
    """What the independent answer says about the claim, read as the checks read evidence."""
    if not question:
        return _unanswered(candidate, "no_question: none that leaves the answer open")
    if answer is None or not answer.answer.strip():
        return _unanswered(candidate, "no_answer: the evidence does not answer it", question)
    quote = find_quote(answer.quote, exchange.evidence)
    if quote is None:
        return _unanswered(candidate, "no_quote: the answer rests on words that the evidence does not have", question)
    if not await _entails(quote, question, answer.answer, exchange, context):
        return _unanswered(candidate, "quote_does_not_say_so: the quoted words do not entail the answer", question)
    settings, model = context.config.grounding, VerdictModel.load()
    passage = Passage(id="answer", text=f"{question} {answer.answer.strip()}")
    readings = await read_claims([candidate.claim.text], [passage], context.nli, settings)
    verdict = await context.nli.run(judged_reading, readings.claims[0], model, settings)
    outcome = _outcome(verdict.label, verdict.verdict.score, context.config.verification.min_consistency)
    return VerifiedClaim(
        claim=candidate.claim.text,
        span=candidate.claim.span,
        question=question,
        answer=answer.answer.strip(),
        outcome=outcome,
        reason=f"the independent answer leaves the claim {verdict.label}, score {verdict.verdict.score:.2f}",
        evidence=(quote,),
        expected_severity=candidate.expected_severity,
    )


async def _entails(quote: Quote, question: str, answer: str, exchange: Exchange, context: CheckContext) -> bool:
    """True if the quoted sentence, alone or with those before it, entails the answer."""
    text = answer.strip()
    (wording,) = hypotheses([Span.of(text, 0, len(text))], question)
    premises = (sentence_of(quote, exchange.evidence), context_of(quote, exchange.evidence))
    rows = await context.nli.scores([(clean(premise), wording.text) for premise in premises])
    return bool(max(row[ENTAILMENT] for row in rows) >= QUOTE_ENTAILMENT)


def _contradicted(results: Sequence[CheckResult]) -> set[tuple[int, int]]:
    """Places of what a check calls contradicted."""
    claims = [claim.span for result in results for claim in result.claims if claim.label == "contradicted"]
    findings = [one.span for result in results for one in result.findings if one.label == "contradicted" and one.span]
    return {(span.start, span.end) for span in (*claims, *findings)}


def _not_milder(one: VerifiedClaim, contradicted: set[tuple[int, int]]) -> VerifiedClaim:
    if one.outcome != "upheld" or (one.span.start, one.span.end) not in contradicted:
        return one
    reason = f"contradicted: a check read the same evidence as a contradiction; {one.reason}"
    return one.model_copy(update={"outcome": "unanswered", "reason": reason})


def _outcome(label: Label, unsupported_score: float, min_consistency: float) -> Verified:
    if label == "supported" and 1.0 - unsupported_score >= min_consistency:
        return "upheld"
    return "refuted" if label == "contradicted" and unsupported_score >= min_consistency else "unanswered"


def _unanswered(candidate: Candidate, reason: str, question: str = "") -> VerifiedClaim:
    return VerifiedClaim(
        claim=candidate.claim.text,
        span=candidate.claim.span,
        question=question,
        outcome="unanswered",
        reason=reason,
        expected_severity=candidate.expected_severity,
    )


def _with_outcomes(results: Sequence[CheckResult], verified: Sequence[VerifiedClaim]) -> list[CheckResult]:
    outcomes = {(one.span.start, one.span.end): one for one in verified}
    updated = [_with_outcome(result, outcomes) for result in results]
    flagged = {(f.span.start, f.span.end) for result in results for f in result.findings if f.span}
    refuted = [one for one in verified if one.outcome == "refuted" and (one.span.start, one.span.end) not in flagged]
    if refuted:
        updated.append(_refutation(refuted))
    return updated


def _with_outcome(result: CheckResult, outcomes: Mapping[tuple[int, int], VerifiedClaim]) -> CheckResult:
    """The result, its findings about verified claims with the outcome."""
    findings = tuple(
        finding.model_copy(update={"verification": one.outcome})
        if finding.kind == "unsupported_claim" and finding.span and (one := outcomes.get(_place(finding)))
        else finding
        for finding in result.findings
    )
    return result.model_copy(update={"findings": findings})


def _place(finding: Finding) -> tuple[int, int]:
    return (finding.span.start, finding.span.end) if finding.span else (-1, -1)


def _refutation(refuted: Sequence[VerifiedClaim]) -> CheckResult:
    findings = tuple(
        Finding(
            kind="unsupported_claim",
            category="contextual",
            severity="high",
            origin="intrinsic",
            span=one.span,
            reason="an independent answer to a question about it says otherwise",
            evidence=one.evidence,
            score=REFUTED_SCORE,
            check=CHECK,
            version=VERSION,
            label="contradicted",
            verification="refuted",
        )
        for one in refuted
    )
    reason = f"{len(findings)} claims refuted"
    return CheckResult(
        name=CHECK, status="hallucinated", reason=reason, score=REFUTED_SCORE, findings=findings, version=VERSION
    )
