"""Chain of verification: questions about claims, answered without sight of the answer.

Two calls for all claims together: one turns claims into open questions, one answers these from the evidence alone. The
answers are compared with the claims as the checks read evidence, by the local model, so that no model grades itself;
an answer counts only if the words it quotes entail it, and upholds no claim that these contradict. Only claims above an
expected severity are asked about, and one that the evidence contradicts is never upheld: an answer from the same
evidence is no reason to trust it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import BaseModel, ConfigDict

from evidencerails.checks.claims.proof import context_of, sentence_of
from evidencerails.errors import EvidencerailsError, reason_of
from evidencerails.exchange import Exchange, Passage, Span
from evidencerails.llm.cache import ask_cached
from evidencerails.llm.parsing import parse_items
from evidencerails.measures.evidence import excerpts_for, find_quote
from evidencerails.mitigation.severity import severity_of, stakes_of
from evidencerails.nli.base import LABELS
from evidencerails.report import CheckResult, Claim, Finding, Label, Quote, Verified, VerifiedClaim
from evidencerails.text.claimable import clean
from evidencerails.text.values import values_of
from evidencerails.verdict.model import VerdictModel
from evidencerails.verdict.reading import hypotheses, judged_reading, read_claims

if TYPE_CHECKING:
    from evidencerails.checks.base import CheckContext
    from evidencerails.llm.session import LlmSession

CHECK = "verification"
VERSION = "2"
MAX_CLAIMS = 20
"""Claims verified for one answer, the most severe first; all of them share the two calls."""
QUOTE_SAYS = 0.5
"""Probability from which a quote entails or contradicts: then that is likelier than both others together."""
REFUTED_SCORE = 0.97
"""Score of a refuted claim, that of a claim which a judge calls contradicted; set by hand."""

MIN_CONSISTENCY = 0.5
"""Probability from which an independent answer upholds a claim that it supports, or refutes one it contradicts."""
_YES_OR_NO = re.compile(
    r"^(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|isn't|aren't|wasn't|didn't|doesn't)\b",
    re.IGNORECASE,
)


class Candidate(NamedTuple):
    """A claim that is worth a question."""

    claim: Claim
    expected_severity: float


class _Asked(BaseModel):
    model_config = ConfigDict(strict=True)

    claim: int
    question: str


class Answered(BaseModel):
    """An answer to one question, by its number, with the words of the evidence it rests on."""

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
            severity = severity_of(_finding(claim.span), stakes, settings.severity, feeds_tools=bool(exchange.tools))
            expected = severity.score * (0.5 if claim.score is None else claim.score)
            if expected >= settings.verification.min_severity:
                found.setdefault((claim.span.start, claim.span.end, claim.text), Candidate(claim, expected))
    ranked = sorted(found.values(), key=lambda one: -one.expected_severity)
    return ranked[:MAX_CLAIMS]


def _finding(span: Span, reason: str = "", **fields: Any) -> Finding:
    """A finding of this module about a claim that is false."""
    return Finding(
        kind="unsupported_claim",
        category="contextual",
        severity="high",
        origin="intrinsic",
        span=span,
        reason=reason,
        check=CHECK,
        version=VERSION,
        **fields,
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
    text = answer.answer.strip()
    (wording,) = hypotheses([Span.of(text, 0, len(text))], question)
    if await _relation(quote, wording.text, exchange, context) != "entailment":
        return _unanswered(candidate, "quote_does_not_say_so: the quoted words do not entail the answer", question)
    settings, model = context.config.grounding, VerdictModel.load()
    passage = Passage(id="answer", text=f"{question} {text}")
    readings = await read_claims([candidate.claim.text], [passage], context.nli)
    verdict = await context.nli.run(judged_reading, readings.claims[0], model, settings)
    reason = f"the independent answer leaves the claim {verdict.label}, score {verdict.verdict.score:.2f}"
    outcome = _outcome(verdict.label, verdict.verdict.score)
    if outcome == "upheld" and await _relation(quote, candidate.claim.text, exchange, context) == "contradiction":
        # A question takes all but one value from its claim: "When were tolls introduced?" of a claim that they were.
        return _unanswered(candidate, "quote_says_otherwise: the quoted words contradict the claim", question)
    found = {"answer": text, "outcome": outcome, "evidence": (quote,)}
    return _unanswered(candidate, reason, question).model_copy(update=found)


async def _relation(quote: Quote, text: str, exchange: Exchange, context: CheckContext) -> str:
    """`entailment` if the quoted sentence, alone or with those before it, entails a text; else `contradiction` if it
    contradicts it, or `neutral`."""
    premises = (sentence_of(quote, exchange.evidence), context_of(quote, exchange.evidence))
    rows = await context.nli.scores([(clean(premise), text) for premise in premises])
    found = (label for label in ("entailment", "contradiction") if rows[:, LABELS.index(label)].max() >= QUOTE_SAYS)
    return next(found, "neutral")


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


def _outcome(label: Label, unsupported_score: float) -> Verified:
    if label == "supported" and 1.0 - unsupported_score >= MIN_CONSISTENCY:
        return "upheld"
    return "refuted" if label == "contradicted" and unsupported_score >= MIN_CONSISTENCY else "unanswered"


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

    def noted(finding: Finding) -> Finding:
        place = (finding.span.start, finding.span.end) if finding.span else None
        one = outcomes.get(place) if place and finding.kind == "unsupported_claim" else None
        return finding.model_copy(update={"verification": one.outcome}) if one else finding

    return result.model_copy(update={"findings": tuple(map(noted, result.findings))})


def _refutation(refuted: Sequence[VerifiedClaim]) -> CheckResult:
    findings = tuple(
        _finding(
            one.span,
            "an independent answer to a question about it says otherwise",
            evidence=one.evidence,
            score=REFUTED_SCORE,
            label="contradicted",
            verification="refuted",
        )
        for one in refuted
    )
    reason = f"{len(findings)} claims refuted"
    return CheckResult(
        name=CHECK, status="hallucinated", reason=reason, score=REFUTED_SCORE, findings=findings, version=VERSION
    )


# ---- the two calls


async def open_questions(claims: Sequence[Claim], context: CheckContext, session: LlmSession) -> Mapping[int, str]:
    """An open question for each claim, by its place; none for a claim whose question gives its answer away."""
    asked = await _ask(
        "verification_questions",
        {"claims": "\n".join(f"{n}. {' '.join(claim.text.split())}" for n, claim in enumerate(claims, start=1))},
        partial(parse_items, key="questions", model=_Asked, number="claim", count=len(claims)),
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
    stated = [claim[one.start : one.end] for group in (values.quantities, values.temporal) for one in group]
    return bool(stated) and all(text.lower() in question.lower() for text in stated)


async def independent_answers(
    questions: Mapping[int, str],
    candidates: Sequence[Candidate],
    exchange: Exchange,
    context: CheckContext,
    session: LlmSession,
) -> Mapping[int, Answered]:
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
        partial(parse_items, key="answers", model=Answered, number="question", count=len(places)),
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
