"""Claims in classes by a model: all of them, or those that the local reading leaves unsure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from evidencerails.checks.base import CheckContext
from evidencerails.checks.claims.llm import JUDGE_SCORES, Judged, claims_a_call, classify_with_model
from evidencerails.checks.claims.plan import ClassifiedClaims, Plan
from evidencerails.checks.claims.proof import MAX_COMPARED_CHARACTERS
from evidencerails.checks.claims.summary import UNSUPPORTED
from evidencerails.checks.error_types import error_types
from evidencerails.exchange import Passage
from evidencerails.measures.asking import planned_calls
from evidencerails.measures.cascade import is_unsure
from evidencerails.report import Claim
from evidencerails.text.claims import ExtractedClaim

if TYPE_CHECKING:
    from evidencerails.llm.session import LlmSession


async def classify_by_model(
    extracted: list[ExtractedClaim], passages: tuple[Passage, ...], context: CheckContext, session: LlmSession
) -> ClassifiedClaims:
    """The claims with the labels that the model gives them, as far as it can prove them."""
    judged = await classify_with_model(extracted, passages, context, session)
    compared = "\n\n".join(passage.text for passage in passages)[:MAX_COMPARED_CHARACTERS]
    claims = await context.nli.run(_claims_by_model, extracted, judged, compared, session.client.model)
    scores = [claim.score for claim in claims if claim.score is not None]
    task = "classify_claims_batch" if context.config.claims.calls == "batch" else "classify_claim"
    method = f"{session.client.model}+{context.prompts.version(task)}"
    return ClassifiedClaims(claims, max(scores, default=None), method, {"untrusted": _untrusted(judged)})


def _claims_by_model(
    extracted: Sequence[ExtractedClaim], judged: Sequence[Judged], evidence: str, model: str
) -> list[Claim]:
    return [_claim_by_model(e, j, evidence, model) for e, j in zip(extracted, judged, strict=True)]


def _claim_by_model(extracted: ExtractedClaim, judged: Judged, evidence: str, model: str) -> Claim:
    types = judged.error_types or error_types(extracted.text, evidence, judged.label)
    return Claim(
        text=extracted.text,
        span=extracted.span,
        label=judged.label,
        score=JUDGE_SCORES.get(judged.label),
        error_types=types,
        evidence=(judged.quote,) if judged.quote else (),
        reason=judged.reason,
        method=f"llm:{model}",
    )


def _untrusted(judged: Sequence[Judged]) -> dict[str, int]:
    """How many verdicts were rejected, by the reason's code."""
    return dict(Counter(one.reason.split(":")[0] for one in judged if not one.is_trusted))


async def second_opinion(
    claims: list[Claim], plan: Plan, context: CheckContext, judge: LlmSession
) -> tuple[list[Claim], int]:
    """The claims, those that NLI leaves unsure as the model sees them; and how many were asked about.

    A verdict that cannot be trusted changes nothing about a claim that is bad already, and takes away the rest's.
    """
    settings = context.config.scoring.cascade
    places = [n for n, claim in enumerate(claims) if is_unsure(claim.score, claim.label, settings)]
    size = claims_a_call(context.config.claims)
    judge.note_saved(planned_calls(len(claims), size) - planned_calls(len(places), size))
    if not places:
        return claims, 0
    asked = [claims[place] for place in places]
    judged = await classify_with_model(asked, plan.passages, context, judge)
    changed = list(claims)
    compared = "\n\n".join(passage.text for passage in plan.passages)[:MAX_COMPARED_CHARACTERS]
    for place, one in zip(places, judged, strict=True):
        if not one.is_trusted and claims[place].label in UNSUPPORTED:
            continue
        extracted = ExtractedClaim(claims[place].text, claims[place].span, claims[place].span)
        changed[place] = await context.nli.run(_claim_by_model, extracted, one, compared, judge.client.model)
    return changed, len(places)
