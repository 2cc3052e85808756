"""Claims put into classes by a model, whose verdicts have to prove themselves.

In: claims and passages. Out: the claims with labels, all of them by the model (`classify_by_model`), or those that the
local reading leaves unsure (`second_opinion`). A verdict that rests on words which the evidence does not have, or which
do not say so, is no verdict.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from pydantic import model_validator

from evidencerails.checks.claims.examples import examples_for
from evidencerails.checks.claims.plan import LABELS, UNSUPPORTED, ClassifiedClaims, Plan
from evidencerails.checks.claims.proof import MAX_COMPARED_CHARACTERS, SAYS_OTHERWISE, objections_to
from evidencerails.checks.error_types import error_types
from evidencerails.errors import LlmReplyError
from evidencerails.exchange import Passage, Span
from evidencerails.llm.parsing import items_of, list_schema, parse_json
from evidencerails.measures.asking import (
    BATCH_CLAIMS,
    NO_VERDICT,
    SECOND_LOOK,
    Answer,
    Question,
    Replies,
    ask_about,
    planned_calls,
)
from evidencerails.measures.base import Statement
from evidencerails.measures.evidence import (
    ABOUT_ELSE,
    MAX_PROMPT_CHARACTERS,
    NEAR_CHARACTERS,
    fit_into,
    proof_of,
)
from evidencerails.measures.metrics import is_between
from evidencerails.report import Claim, ErrorType, Label, Quote
from evidencerails.text.claims import ExtractedClaim
from evidencerails.verdict.reading import hypotheses

if TYPE_CHECKING:
    from evidencerails.checks.base import CheckContext
    from evidencerails.llm.session import LlmSession
    from evidencerails.settings.claims import ClaimsSettings

ERROR_TYPES: tuple[ErrorType, ...] = get_args(ErrorType)
LOCAL_DOUBT = "local_doubt"
"""Beginning of the reason of a claim that a model calls supported and the local reading leaves to a person."""
NOT_JUDGED = "not_judged"
"""Says in a claim's reason that the app's own model gave no verdict to trust, so that the local one stands."""
PROVEN_LABELS = ("supported", "partially_supported", "contradicted")
"""Labels that need words of the evidence."""
JUDGE_SCORES: Mapping[Label, float] = {
    "supported": 0.05,
    "partially_supported": 0.75,
    "absent": 0.9,
    "contradicted": 0.97,
}
"""Score of a claim by the model's label. Set by hand: a model's label is no probability."""
_MARKS = " .!*_`\"'\n\t"


class Verdict(Answer):
    """What the model says about one claim, step by step."""

    label: Label
    facts: str = ""
    quote: str = ""
    comparison: str = ""
    error_types: tuple[ErrorType, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _tidied(cls, item: Any) -> Any:
        """Its label in our spelling ("Partially Supported"), lists as texts, no error types that do not exist."""
        if not isinstance(item, dict):
            return item
        tidy = dict(item)
        if isinstance(tidy.get("label"), str):
            tidy["label"] = re.sub(r"[\s-]+", "_", tidy["label"].strip(_MARKS).lower())
        if "error_types" in tidy:
            given = tidy["error_types"] if isinstance(tidy["error_types"], list) else [tidy["error_types"]]
            tidy["error_types"] = [name for name in given if name in ERROR_TYPES]
        for name, gap in (("facts", "; "), ("comparison", "; "), ("quote", " … ")):  # each quote has to be found
            if isinstance(tidy.get(name), list) and all(isinstance(part, str) for part in tidy[name]):
                tidy[name] = gap.join(tidy[name])
        return tidy

    @property
    def reasoning(self) -> str:
        """The steps, as one text."""
        steps = (("facts", self.facts), ("quote", self.quote), ("comparison", self.comparison))
        return "; ".join(f"{name}: {text}" for name, text in steps if text)


class Judged(NamedTuple):
    """A claim's label by the model; `unevaluatable` with its reason if the verdict is not to be trusted."""

    label: Label
    reason: str
    quotes: tuple[Quote, ...] = ()
    error_types: tuple[ErrorType, ...] = ()
    is_trusted: bool = True


_VERDICT_SCHEMA = list_schema(
    "verdicts",
    {
        "claim": {"type": "integer"},
        "facts": {"type": "string"},
        "quote": {"type": "string"},
        "comparison": {"type": "string"},
        "label": {"type": "string", "enum": list(LABELS)},
        "error_types": {"type": "array", "items": {"type": "string", "enum": list(ERROR_TYPES)}},
    },
)
_VERDICT_REPAIR = (
    "That reply could not be read. Reply with the JSON object alone, one entry for each claim: "
    '{"verdicts": [{"claim": 1, "facts": "...", "quote": "...", "comparison": "...", "label": "...", '
    f'"error_types": []}}]}}; label is exactly one of {", ".join(LABELS)}.'
)


def parse_verdicts(reply: str) -> list[Verdict]:
    """The readable verdicts of a reply; those with an unknown label or two labels are left out.

    Raises:
        LlmReplyError: none is readable.
    """
    verdicts = items_of(parse_json(reply), "verdicts", Verdict)
    if not verdicts:
        raise LlmReplyError(f"the reply holds no verdict with one label of {', '.join(LABELS)}")
    return verdicts


def _claims_a_call(settings: ClaimsSettings) -> int:
    """How many claims one classification call is about."""
    return BATCH_CLAIMS if settings.calls == "batch" else 1


async def _classified(
    claims: Sequence[Statement], plan: Plan, context: CheckContext, session: LlmSession
) -> list[Judged]:
    """The model's label for each claim, in their order.

    A claim that is asked about alone is read beside the evidence near to it. What that does not support is asked about
    once more, beside all of it; so are claims without a verdict that can be trusted, which are `unevaluatable` after
    that.
    """
    is_alone = _claims_a_call(context.config.claims) == 1
    limit = NEAR_CHARACTERS if is_alone else MAX_PROMPT_CHARACTERS
    judged = await _pass(range(len(claims)), claims, plan, context, session, number=1, limit=limit)
    saw_all = not is_alone or fit_into(plan.passages, limit)
    doubtful = [place for place, one in judged.items() if _needs_second_look(one, saw_all=saw_all)]
    again = [] if session.is_spent else doubtful
    second = await _pass(again, claims, plan, context, session, number=2)
    judged |= {place: one for place, one in second.items() if one.is_trusted or not judged[place].is_trusted}
    return [judged[place] for place in range(len(claims))]


def _needs_second_look(one: Judged, *, saw_all: bool) -> bool:
    if not one.is_trusted:
        return not one.reason.startswith("judge_failed")
    return not saw_all and one.label in ("absent", "partially_supported")


async def _pass(
    places: Sequence[int],
    claims: Sequence[Statement],
    plan: Plan,
    context: CheckContext,
    session: LlmSession,
    *,
    number: int,
    limit: int = MAX_PROMPT_CHARACTERS,
) -> dict[int, Judged]:
    if not places:
        return {}
    settings, passages = context.config.claims, plan.passages
    is_batch = settings.calls == "batch"
    question: Question[Verdict] = Question(
        task="classify_claims_batch" if is_batch else "classify_claim",
        parse=parse_verdicts,
        schema=_VERDICT_SCHEMA,
        repair=_VERDICT_REPAIR,
        extra=lambda texts: {
            "examples": examples_for(texts, settings.examples, is_alone=not is_batch),
            "answer": plan.answer,
        },
    )
    replies = await ask_about(
        question,
        places,
        claims,
        passages,
        context,
        session,
        seed=number,
        batch_claims=_claims_a_call(settings),
        evidence_characters=limit,
        note=SECOND_LOOK if number > 1 else "",
    )
    worded = await context.nli.run(_worded, claims, plan.question)
    judged = await context.nli.run(
        lambda: {place: _judged(place, replies, worded[place], passages) for place in places}
    )
    quotes = {place: one.quotes for place, one in judged.items() if one.label == "supported" and one.quotes}
    for place, code in (await objections_to(quotes, worded, passages, context)).items():
        if code == SAYS_OTHERWISE:
            judged[place] = _untrusted(code, replies.answers[place])
        elif settings.judge_over_local_doubt == "escalate":
            judged[place] = _doubted(code, replies.answers[place], quotes[place])
    return judged


def _worded(claims: Sequence[Statement], question: str) -> list[ExtractedClaim]:
    """The claims as the local model reads them: "yes" behind its question."""
    spans = [Span.of(claim.text, 0, len(claim.text)) for claim in claims]
    wordings = [hypothesis.text for hypothesis in hypotheses(spans, question)]
    return [ExtractedClaim(text, one.span, one.span) for text, one in zip(wordings, claims, strict=True)]


def _judged(place: int, replies: Replies[Verdict], claim: Statement, passages: Sequence[Passage]) -> Judged:
    verdict = replies.answers.get(place)
    if verdict is None:
        return Judged("unevaluatable", replies.reasons.get(place, NO_VERDICT), is_trusted=False)
    is_support, score = verdict.label == "supported", JUDGE_SCORES.get(verdict.label, 0.5)
    score = 1.0 - score if is_support else score
    found = proof_of(verdict.quote, claim.text, passages, is_support=is_support, score=score)
    kept = verdict.error_types if verdict.label not in ("supported", "unevaluatable") else ()
    if found.objection == ABOUT_ELSE and verdict.label in ("contradicted", "partially_supported"):
        # Nothing shows that these words decide it; that no others do is all that is left, and needs no quote.
        return Judged("absent", f"{ABOUT_ELSE}: the model said {verdict.label}; {verdict.reasoning}", (), kept)
    if verdict.label in PROVEN_LABELS and found.objection:
        return _untrusted(found.objection, verdict)
    return Judged(verdict.label, verdict.reasoning or verdict.label, found.quotes, kept)


def _untrusted(code: str, verdict: Verdict) -> Judged:
    return Judged("unevaluatable", f"{code}: the model said {verdict.label}; {verdict.reasoning}", is_trusted=False)


def _doubted(code: str, verdict: Verdict, quotes: tuple[Quote, ...]) -> Judged:
    reason = f"{LOCAL_DOUBT}: {code}: the model said {verdict.label}; {verdict.reasoning}"
    return Judged("unevaluatable", reason, quotes)


# ---- claims of a report


async def classify_by_model(
    extracted: Sequence[ExtractedClaim], plan: Plan, context: CheckContext, session: LlmSession
) -> ClassifiedClaims:
    """The claims with the labels that the model gives them, as far as it can prove them."""
    context = context if plan.is_named else _in_one_call(context)
    judged = await _classified(extracted, plan, context, session)
    claims = await context.nli.run(_claims, extracted, judged, plan.passages, session.client.model)
    scores = [claim.score for claim in claims if claim.score is not None]
    task = "classify_claims_batch" if context.config.claims.calls == "batch" else "classify_claim"
    method = f"{session.client.model}+{context.prompts.version(task)}"
    untrusted = dict(Counter(one.reason.split(":")[0] for one in judged if not one.is_trusted))
    return ClassifiedClaims(claims, max(scores, default=None), method, {"untrusted": untrusted})


async def second_opinion(
    classified: ClassifiedClaims, plan: Plan, context: CheckContext, judge: LlmSession
) -> ClassifiedClaims:
    """The claims, those that NLI leaves unsure as the model sees them.

    A verdict that cannot be trusted changes nothing about a claim that is bad already, and takes away the rest's. That
    of a model which nobody named changes nothing at all: the claim's reason says why the local verdict stands.
    """
    if not plan.is_named:
        context = _in_one_call(context)
    settings, claims = context.config.scoring.cascade, classified.claims
    places = [n for n, claim in enumerate(claims) if is_between(claim.score, settings)]
    size = _claims_a_call(context.config.claims)
    judge.note_saved(planned_calls(len(claims), size) - planned_calls(len(places), size))
    details = {**classified.details, "judged": len(places)}
    if not places:
        return classified._replace(details=details)
    changed = list(claims)
    # In the words of the extraction, as if every claim was asked about; the local reading puts "yes" behind its
    # question.
    texts = {(one.span.start, one.span.end): one.text for one in plan.extracted}
    asked = [
        ExtractedClaim(texts.get((one.span.start, one.span.end), one.text), one.span, one.span, spans=one.spans)
        for one in map(claims.__getitem__, places)
    ]
    judged = await _classified(asked, plan, context, judge)
    found = await context.nli.run(_claims, asked, judged, plan.passages, judge.client.model)
    for place, one, claim in zip(places, judged, found, strict=True):
        if one.is_trusted or (plan.is_named and claims[place].label not in UNSUPPORTED):
            changed[place] = claim
        elif not plan.is_named:
            local = claims[place]
            reason = "; ".join(filter(None, (local.reason, f"{NOT_JUDGED}: {one.reason}")))
            changed[place] = local.model_copy(update={"reason": reason})
    if not plan.is_named:
        details["not_judged"] = [one.reason for one in judged if not one.is_trusted]
        if len(details["not_judged"]) == len(places):  # as without a model
            return classified._replace(claims=changed, details=details)
    scores = [claim.score for claim in changed if claim.score is not None]
    return classified._replace(claims=changed, score=max(scores, default=0.0), details=details)


def _in_one_call(context: CheckContext) -> CheckContext:
    """The context with `claims.calls: batch`: few calls have to do for all claims."""
    claims = context.config.claims.model_copy(update={"calls": "batch"})
    return replace(context, config=context.config.model_copy(update={"claims": claims}))


def _claims(
    extracted: Sequence[ExtractedClaim], judged: Sequence[Judged], passages: Sequence[Passage], model: str
) -> list[Claim]:
    """The claims as a report lists them. Blocks: the kinds of error that the model left out are found by rules."""
    compared = "\n\n".join(passage.text for passage in passages)[:MAX_COMPARED_CHARACTERS]
    return [
        Claim(
            text=claim.text,
            span=claim.span,
            spans=claim.spans,
            label=one.label,
            score=JUDGE_SCORES.get(one.label),
            error_types=one.error_types or error_types(claim.text, compared, one.label),
            evidence=one.quotes,
            reason=one.reason,
            method=f"llm:{model}",
        )
        for claim, one in zip(extracted, judged, strict=True)
    ]
