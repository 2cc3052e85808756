"""Chain of verification (control stack 20.3.3): questions about claims, answered without sight of the answer.

Two calls for all claims together: one turns claims into open questions, one answers these from the evidence alone. The
answers are compared with the claims as the checks read evidence, by the local model, so that no model grades itself.
Only claims above an expected severity are asked about.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from groundrails.checks.evidence_nli import read_claims
from groundrails.checks.grounding import judged_reading
from groundrails.errors import GroundrailsError, LlmReplyError, reason_of
from groundrails.exchange import Exchange, Passage
from groundrails.llm.cache import ask_cached
from groundrails.llm.parsing import parse_json
from groundrails.mitigation.severity import severity_of, stakes_of
from groundrails.report import CheckResult, Claim, Finding, Label, Verified, VerifiedClaim
from groundrails.scoring.evidence import excerpts_for, find_quote
from groundrails.scoring.verdict import VerdictModel
from groundrails.text.values import values_of

if TYPE_CHECKING:
    from groundrails.checks.base import CheckContext
    from groundrails.llm.session import LlmSession

CHECK = "verification"
VERSION = "1"
REFUTED_SCORE = 0.97
"""Score of a refuted claim, that of a claim which a judge calls contradicted; set by hand."""
_YES_OR_NO = re.compile(
    r"^(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|isn't|aren't|wasn't|didn't|doesn't)\b",
    re.IGNORECASE,
)


class _Candidate(NamedTuple):
    claim: Claim
    expected_severity: float


class _Asked(BaseModel):
    model_config = ConfigDict(strict=True)

    claim: int
    question: str


class _Answered(BaseModel):
    model_config = ConfigDict(strict=True)

    question: int
    answer: str
    quote: str = ""


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
    return _with_outcomes(results, verified), verified


def _candidates(results: Sequence[CheckResult], exchange: Exchange, context: CheckContext) -> list[_Candidate]:
    """Claims whose severity, were they false, times the probability that they are, is at least the settings'.

    A claim without a score counts as if it were as likely false as true.
    """
    settings = context.config
    stakes = stakes_of(exchange, settings.severity)
    found: dict[tuple[int, int, str], _Candidate] = {}
    for result in results:
        for claim in result.claims:
            severity = severity_of(_as_if_false(claim), stakes, settings.severity, feeds_tools=bool(exchange.tools))
            expected = severity.score * (0.5 if claim.score is None else claim.score)
            if expected >= settings.verification.min_severity:
                found.setdefault((claim.span.start, claim.span.end, claim.text), _Candidate(claim, expected))
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
    candidates: Sequence[_Candidate], exchange: Exchange, context: CheckContext, session: LlmSession
) -> tuple[VerifiedClaim, ...]:
    try:
        questions = await _questions([one.claim for one in candidates], context, session)
        answers = await _answers(questions, candidates, exchange, context, session) if questions else {}
    except GroundrailsError as error:
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
    candidate: _Candidate, question: str, answer: _Answered | None, exchange: Exchange, context: CheckContext
) -> VerifiedClaim:
    """What the independent answer says about the claim, read as the checks read evidence."""
    if not question:
        return _unanswered(candidate, "no_question: none that leaves the answer open")
    if answer is None or not answer.answer.strip():
        return _unanswered(candidate, "no_answer: the evidence does not answer it", question)
    quote = find_quote(answer.quote, exchange.evidence)
    if quote is None:
        return _unanswered(candidate, "no_quote: the answer rests on words that the evidence does not have", question)
    settings, model = context.config.grounding, VerdictModel.load()
    passage = Passage(id="answer", text=f"{question} {answer.answer.strip()}")
    readings = await read_claims([candidate.claim.text], [passage], context.nli, settings, model.thresholds)
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


def _outcome(label: Label, unsupported_score: float, min_consistency: float) -> Verified:
    if label == "supported" and 1.0 - unsupported_score >= min_consistency:
        return "upheld"
    return "refuted" if label == "contradicted" and unsupported_score >= min_consistency else "unanswered"


def _unanswered(candidate: _Candidate, reason: str, question: str = "") -> VerifiedClaim:
    return VerifiedClaim(
        claim=candidate.claim.text,
        span=candidate.claim.span,
        question=question,
        outcome="unanswered",
        reason=reason,
        expected_severity=candidate.expected_severity,
    )


# ---- the two calls


async def _questions(claims: Sequence[Claim], context: CheckContext, session: LlmSession) -> Mapping[int, str]:
    """An open question for each claim, by its place; none for a claim whose question gives its answer away."""
    asked = await _ask(
        "verification_questions",
        {"claims": "\n".join(f"{n}. {' '.join(claim.text.split())}" for n, claim in enumerate(claims, start=1))},
        _reader("questions", _Asked, len(claims)),
        context,
        session,
    )
    found = {one.claim - 1: " ".join(one.question.split()) for one in asked}
    return {place: text for place, text in found.items() if text and not _is_leading(text, claims[place].text)}


def _is_leading(question: str, claim: str) -> bool:
    """True for a yes-or-no question, and for one that holds every number, date and name of the claim."""
    if _YES_OR_NO.match(question):
        return True
    values = values_of(claim)
    told = [claim[one.start : one.end] for group in (values.quantities, values.moments) for one in group]
    return bool(told) and all(text.lower() in question.lower() for text in told)


async def _answers(
    questions: Mapping[int, str],
    candidates: Sequence[_Candidate],
    exchange: Exchange,
    context: CheckContext,
    session: LlmSession,
) -> Mapping[int, _Answered]:
    """Answers from the evidence alone, by the claim's place; neither answer nor claims are in the prompt."""
    places = list(questions)
    claims = [candidates[place].claim for place in places]
    excerpts = await context.nli.run(excerpts_for, claims, exchange.evidence)
    answered = await _ask(
        "verification_answers",
        {
            "evidence": "\n\n".join(f"[{p.id}]\n{p.text.strip()}" for p in excerpts.passages),
            "questions": "\n".join(f"{n}. {questions[place]}" for n, place in enumerate(places, start=1)),
        },
        _reader("answers", _Answered, len(places)),
        context,
        session,
    )
    return {places[one.question - 1]: one for one in answered}


async def _ask(
    task: str, variables: Mapping[str, str], parse: Any, context: CheckContext, session: LlmSession
) -> list[Any]:
    found: list[Any] = await ask_cached(
        context.cache,
        session,
        context.prompts.render(task, **variables),
        parse,
        prompt_version=context.prompts.version(task),
        repair="That reply could not be read. Reply with the JSON object alone, as described.",
    )
    return found


def _reader(key: str, model: type[_Asked] | type[_Answered], count: int) -> Any:
    """Reads the list under `key`; entries with another number than 1 to `count`, or one used twice, are errors."""

    def read(reply: str) -> list[Any]:
        value = parse_json(reply)
        items = value.get(key) if isinstance(value, dict) else value
        if not isinstance(items, list) or not items:
            raise LlmReplyError(f"expected a list {key!r} with at least one entry")
        try:
            found = [model.model_validate(item) for item in items]
        except ValidationError:
            raise LlmReplyError(f"an entry of {key!r} does not fit {model.__name__.strip('_')}") from None
        numbers = [one.claim if isinstance(one, _Asked) else one.question for one in found]
        if len(set(numbers)) != len(numbers) or not all(1 <= number <= count for number in numbers):
            raise LlmReplyError(f"expected each number from 1 to {count} at most once, got {numbers}")
        return found

    return read


# ---- what follows


def _with_outcomes(results: Sequence[CheckResult], verified: Sequence[VerifiedClaim]) -> list[CheckResult]:
    outcomes = {(one.span.start, one.span.end): one for one in verified}
    told = [_told(result, outcomes) for result in results]
    flagged = {(f.span.start, f.span.end) for result in results for f in result.findings if f.span}
    refuted = [one for one in verified if one.outcome == "refuted" and (one.span.start, one.span.end) not in flagged]
    if refuted:
        told.append(_refutation(refuted))
    return told


def _told(result: CheckResult, outcomes: Mapping[tuple[int, int], VerifiedClaim]) -> CheckResult:
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
