"""Who extracts and who classifies the claims of an answer, over which evidence; or why nobody can."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from evidencerails.checks.base import CheckContext
from evidencerails.checks.grounding import readable_evidence
from evidencerails.exchange import Exchange, Passage
from evidencerails.report import PASS_EVIDENCE, CheckResult, Claim, Label
from evidencerails.text.claims import ExtractedClaim, extract_claims
from evidencerails.verdict.reading import lacks_its_question, question_of

if TYPE_CHECKING:
    from evidencerails.llm.session import LlmSession


LABELS: tuple[Label, ...] = get_args(Label)
UNSUPPORTED: tuple[Label, ...] = ("partially_supported", "contradicted", "absent")
MAX_ANSWER_CHARACTERS = 8_000
"""Of a longer answer only so much is shown to a judge beside its claims."""


class Plan(NamedTuple):
    """Who does what, over which evidence."""

    extracted: list[ExtractedClaim]
    """What the rules find in the response."""
    passages: tuple[Passage, ...] = ()
    unread: tuple[str, ...] = ()
    extractor: LlmSession | None = None
    """The model that extracts; None for the rules."""
    classifier: LlmSession | None = None
    """The model that classifies every claim; None for NLI."""
    judge: LlmSession | None = None
    """The model that is asked about claims which NLI leaves unsure."""
    is_named: bool = True
    """False if nobody named that model a judge: it has one call for all claims, and what it cannot decide stays as the
    local reading has it."""
    unreadable: str = ""
    """Why NLI could not read answer or evidence, where a model does in its place."""
    result: CheckResult | None = None
    """What to answer at once, because nothing can be checked."""
    question: str = ""
    answer: str = ""
    """Question and answer, for a judge to see what a claim refers to."""


class ClassifiedClaims(NamedTuple):
    """The claims in their classes."""

    claims: list[Claim]
    score: float | None
    """Probability that at least one claim is not supported; None if none could be evaluated."""
    method: str
    """What classified them, with its version."""
    details: dict[str, Any]
    """For the details of the check's result."""


def make_plan(exchange: Exchange, context: CheckContext) -> Plan:
    """Who reads what, by the settings, the language and the models at hand. Blocks."""
    settings = context.config.claims
    model = context.judge or context.llm
    names_one = bool(context.config.llm.model or context.config.llm.base_url)
    has_own_judge = context.judge is not None and context.judge is not context.llm
    named = model if has_own_judge or names_one else None  # an app's own model has an allowance instead
    extractor = model if settings.extractor == "llm" else None
    classifier = model if settings.classifier == "llm" else None
    if model is None and "llm" in (settings.extractor, settings.classifier):
        return _stop("no_model: claims.extractor or claims.classifier is 'llm', and there is no model", [])
    found = extract_claims(exchange.response, context.splitter)
    extracted = [claim for claim in found if not lacks_its_question(claim.sentence.text, exchange.user_input)]
    if not extracted:
        return _stop("no_question: a bare yes or no says nothing without its question", found) if found else Plan([])
    if not exchange.evidence:
        return _stop(f"no_evidence: nothing to check the answer against{PASS_EVIDENCE}", extracted)
    spans = list(dict.fromkeys(claim.sentence for claim in extracted))
    readable = readable_evidence(exchange, spans, context.nli.languages)
    judge = (named or context.own_model) if settings.classifier == "auto" else None
    if readable.reason and classifier is None:  # a language that the NLI model does not know
        if judge is None:
            return _stop(readable.reason, extracted)
        classifier = judge
        extractor = extractor or (named if settings.extractor == "auto" else None)
    question = question_of(exchange.user_input) if exchange.prompt else ""
    answer = f"Answer: {exchange.response.strip()[:MAX_ANSWER_CHARACTERS]}"
    answer = f"Question: {question}\n{answer}" if question else answer
    if classifier is not None:
        return Plan(
            extracted,
            exchange.evidence,
            extractor=extractor,
            classifier=classifier,
            is_named=classifier is not context.own_model,
            unreadable=readable.reason,
            question=question,
            answer=answer,
        )
    return Plan(
        extracted,
        readable.passages,
        readable.unread,
        extractor,
        judge=judge,
        is_named=named is not None,
        question=question,
        answer=answer,
    )


def _stop(reason: str, extracted: list[ExtractedClaim]) -> Plan:
    return Plan(extracted, result=CheckResult(name="claims", status="unverified", reason=reason))
