"""Chain of verification: questions about claims, answered without sight of the answer.

Two calls for all claims together: one turns claims into open questions, one answers these from the evidence alone. The
answers are compared with the claims as the checks read evidence, by the local model, so that no model grades itself;
an answer counts only if the words it quotes entail it. Only claims above an expected severity are asked about. To
uphold one makes it milder and needs proof: the quoted words entail the claim too, and nothing in the evidence
contradicts it. An answer from the same evidence is no reason to trust what that contradicts.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import BaseModel, ConfigDict

from evidencerails.errors import EvidencerailsError, reason_of
from evidencerails.exchange import Exchange, Passage, Span
from evidencerails.llm.cache import ask_cached
from evidencerails.llm.parsing import parse_items
from evidencerails.measures.evidence import context_of, excerpts_for, find_quotes, sentences_of
from evidencerails.mitigation.severity import severity_of
from evidencerails.nli.base import LABELS
from evidencerails.nli.windows import content_terms
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
MIN_OTHER = 0.8
"""Probability of being unsupported by the independent answer from which a claim is refuted by one that does not state
it; set by hand, on recorded answers."""
MIN_LEFT_OPEN = 2
"""Words of the claim that a question leaves out, from which it is open though it holds all of the claim's values."""
_YES_OR_NO = re.compile(
    r"^(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|isn't|aren't|wasn't|didn't|doesn't)\b",
    re.IGNORECASE,
)


class Candidate(NamedTuple):
    """A claim that is worth a question."""

    claim: Claim
    expected_severity: float

    def verified(self, outcome: Verified, reason: str, **more: Any) -> VerifiedClaim:
        fields = {"claim": self.claim.text, "span": self.claim.span, "expected_severity": self.expected_severity}
        return VerifiedClaim(**{**fields, "outcome": outcome, "reason": reason, **more})


class VerificationQuestion(BaseModel):
    model_config = ConfigDict(strict=True)

    claim: int
    question: str


class VerificationAnswer(BaseModel):
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
    if session is None or not exchange.evidence or not candidates:
        reason = "no_model" if session is None else "no_evidence"
        verified = [candidate.verified("unanswered", reason) for candidate in candidates]
    else:
        verified = await _Verifier(exchange, context, session).verified(candidates)
    contradicted = _contradicted(results)
    verified = [_not_milder(one) if one.span in contradicted else one for one in verified]
    return (_with_outcomes(results, verified) if verified else list(results)), tuple(verified)


def _candidates(results: Sequence[CheckResult], exchange: Exchange, context: CheckContext) -> list[Candidate]:
    """Claims whose severity, were they false, times the probability that they are, is at least the settings'.

    A claim without a score counts as if it were as likely false as true.
    """
    settings = context.config
    stakes = exchange.stakes or settings.severity.stakes
    found: dict[tuple[Span, str], Candidate] = {}
    for claim in (claim for result in results for claim in result.claims):
        severity = severity_of(_finding(claim.span), stakes, feeds_tools=bool(exchange.tools))
        expected = severity.score * (0.5 if claim.score is None else claim.score)
        if expected >= settings.verification.min_severity:
            found.setdefault((claim.span, claim.text), Candidate(claim, expected))
    return sorted(found.values(), key=lambda one: -one.expected_severity)[:MAX_CLAIMS]


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


class _Verifier:
    """Asks a model about claims, and compares its answers with them as the checks read evidence."""

    def __init__(self, exchange: Exchange, context: CheckContext, session: LlmSession) -> None:
        self._exchange, self._context, self._session = exchange, context, session

    async def verified(self, candidates: Sequence[Candidate]) -> list[VerifiedClaim]:
        try:
            questions = await self._questions([one.claim for one in candidates])
            answers = await self._answers(questions, candidates) if questions else {}
        except EvidencerailsError as error:
            return [candidate.verified("unanswered", reason_of(error)) for candidate in candidates]
        compared = (self._compared(one, questions.get(n, ""), answers.get(n)) for n, one in enumerate(candidates))
        return list(await asyncio.gather(*compared))

    async def _questions(self, claims: Sequence[Claim]) -> Mapping[int, str]:
        """An open question for each claim, by its place; none for a claim whose question gives its answer away."""
        listed = "\n".join(f"{n}. {' '.join(claim.text.split())}" for n, claim in enumerate(claims, start=1))
        parse = partial(parse_items, key="questions", model=VerificationQuestion, number="claim", count=len(claims))
        asked = await self._ask("verification_questions", {"claims": listed}, parse)
        found = {one.claim - 1: " ".join(one.question.split()) for one in asked}
        return {place: text for place, text in found.items() if text and not _is_leading(text, claims[place].text)}

    async def _answers(
        self, questions: Mapping[int, str], candidates: Sequence[Candidate]
    ) -> Mapping[int, VerificationAnswer]:
        """Answers from the evidence alone, by the claim's place; neither answer nor claims are in the prompt."""
        places = list(questions)
        claims = [candidates[place].claim for place in places]
        excerpts = await self._context.nli.run(excerpts_for, claims, self._exchange.evidence)
        variables = {
            "evidence": "\n\n".join(f"[{p.id}]\n{p.text.strip()}" for p in excerpts),
            "questions": "\n".join(f"{n}. {questions[place]}" for n, place in enumerate(places, start=1)),
        }
        parse = partial(parse_items, key="answers", model=VerificationAnswer, number="question", count=len(places))
        return {places[one.question - 1]: one for one in await self._ask("verification_answers", variables, parse)}

    async def _ask(self, task: str, variables: Mapping[str, str], parse: Any) -> list[Any]:
        prompts = self._context.prompts
        found: list[Any] = await ask_cached(
            self._context.cache,
            self._session,
            prompts.render(task, **variables),
            parse,
            prompt_version=prompts.version(task),
            repair="That reply could not be read. Reply with the JSON object alone, as described.",
        )
        return found

    async def _compared(self, candidate: Candidate, question: str, answer: VerificationAnswer | None) -> VerifiedClaim:
        if not question:
            return candidate.verified("unanswered", "no_question: none that leaves the answer open")
        text = answer.answer.strip() if answer else ""
        quotes = find_quotes(answer.quote, self._exchange.evidence) if answer and text else ()
        problem = ""
        if not text:
            problem = "no_answer: the evidence does not answer it"
        elif not quotes:
            problem = "no_quote: the answer rests on words that the evidence does not have"
        else:
            (wording,) = hypotheses([Span.of(text, 0, len(text))], question)
            if await self._relation(quotes, wording.text) != "entailment":
                problem = "quote_does_not_say_so: the quoted words do not entail the answer"
        if problem:
            return candidate.verified("unanswered", problem, question=question)
        passage = Passage(id="answer", text=f"{question} {text}")
        readings = await read_claims([candidate.claim.text], [passage], self._context.nli)
        model, settings = VerdictModel.load(), self._context.config.grounding
        verdict = await self._context.nli.run(judged_reading, readings.claims[0], model, settings)
        outcome = _outcome(verdict.label, verdict.verdict.score)
        if outcome == "upheld" and (problem := await self._unproven(candidate.claim.text, quotes)):
            return candidate.verified("unanswered", problem, question=question)
        reason = f"the independent answer leaves the claim {verdict.label}, score {verdict.verdict.score:.2f}"
        return candidate.verified(outcome, reason, question=question, answer=text, evidence=quotes)

    async def _unproven(self, claim: str, quotes: Sequence[Quote]) -> str:
        """Why a claim must not become milder, though the answer supports it; empty if the evidence proves it."""
        # A question takes all but one value from its claim: "When were tolls introduced?"
        relation = await self._relation(quotes, claim)
        if relation != "entailment":
            said = "contradict" if relation == "contradiction" else "do not entail"
            return f"quote_does_not_prove_it: the quoted words {said} the claim"
        readings = await read_claims([claim], self._exchange.evidence, self._context.nli)
        # Any passage, be it about something else: the verdict weighs passages against each other, a proof does not.
        against = max(readings.claims[0].windows, key=lambda one: one.nli.contradiction)
        if against.nli.contradiction < QUOTE_SAYS:
            return ""
        return f"contradicted: passage {against.window.parts[0].passage.id} contradicts the claim"

    async def _relation(self, quotes: Sequence[Quote], text: str) -> str:
        """`entailment` if the quoted sentences, alone or with those before, entail a text; else `contradiction` if
        it contradicts it, or `neutral`."""
        premises = (read(quotes, self._exchange.evidence) for read in (sentences_of, context_of))
        rows = await self._context.nli.scores([(clean(premise), text) for premise in premises])
        found = (label for label in ("entailment", "contradiction") if rows[:, LABELS.index(label)].max() >= QUOTE_SAYS)
        return next(found, "neutral")


def _is_leading(question: str, claim: str) -> bool:
    """True for a yes-or-no question, and for one that holds every number and date of the claim and most of its words:
    "Why was it recalled in 2023?" asks for the cause."""
    if _YES_OR_NO.match(question):
        return True
    values = values_of(claim)
    stated = [claim[one.start : one.end] for group in (values.quantities, values.temporal) for one in group]
    asked = content_terms(question)
    left = [word for word in claim.split() if (terms := content_terms(word)) and not terms & asked]
    return bool(stated) and all(text.lower() in question.lower() for text in stated) and len(left) < MIN_LEFT_OPEN


def _outcome(label: Label, unsupported_score: float) -> Verified:
    if label == "supported" and 1.0 - unsupported_score >= MIN_CONSISTENCY:
        return "upheld"
    # The question asks for the claim's own detail: a proven answer far from the claim gives another one.
    least = {"contradicted": MIN_CONSISTENCY, "absent": MIN_OTHER}.get(label, math.inf)
    return "refuted" if unsupported_score >= least else "unanswered"


def _contradicted(results: Sequence[CheckResult]) -> set[Span]:
    stated: list[Any] = [one for result in results for one in (*result.claims, *result.findings)]
    return {one.span for one in stated if one.label == "contradicted" and one.span}


def _not_milder(one: VerifiedClaim) -> VerifiedClaim:
    if one.outcome != "upheld":
        return one
    reason = f"contradicted: a check read the same evidence as a contradiction; {one.reason}"
    return one.model_copy(update={"outcome": "unanswered", "reason": reason})


def _with_outcomes(results: Sequence[CheckResult], verified: Sequence[VerifiedClaim]) -> list[CheckResult]:
    """The results, their findings about verified claims with the outcome, and one for refuted claims without any."""
    outcomes: dict[Span | None, Verified] = {one.span: one.outcome for one in verified}
    flagged = {finding.span for result in results for finding in result.findings}

    def noted(finding: Finding) -> Finding:
        outcome = outcomes.get(finding.span) if finding.kind == "unsupported_claim" else None
        return finding.model_copy(update={"verification": outcome}) if outcome else finding

    updated = [result.model_copy(update={"findings": tuple(map(noted, result.findings))}) for result in results]
    refuted = [one for one in verified if one.outcome == "refuted" and one.span not in flagged]
    if refuted:
        reason = "an independent answer to a question about it says otherwise"
        more: Any = {"score": REFUTED_SCORE, "label": "contradicted", "verification": "refuted"}
        findings = tuple(_finding(one.span, reason, evidence=one.evidence, **more) for one in refuted)
        summary = f"{len(findings)} claims refuted"
        fields: Any = {"status": "hallucinated", "reason": summary, "score": REFUTED_SCORE, "findings": findings}
        updated.append(CheckResult(name=CHECK, version=VERSION, **fields))
    return updated
