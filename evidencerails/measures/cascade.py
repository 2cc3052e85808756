"""Local measures first; a judge only for the claims that they leave unsure."""

from __future__ import annotations

from collections.abc import Sequence

from evidencerails.config import CascadeSettings
from evidencerails.exchange import Exchange
from evidencerails.measures.aggregate import claim_scores
from evidencerails.measures.asking import planned_calls
from evidencerails.measures.base import (
    ClaimScore,
    Measure,
    MeasureContext,
    MeasureResult,
    Statement,
    run_measure,
    run_measures,
)

DECIDED_LOCALLY = "decided_locally"
"""Reason of a claim's missing score in the judge's result: nobody asked."""


def is_between(score: float | None, settings: CascadeSettings) -> bool:
    """True if a claim needs a judge by its calibrated score: that is in the band, or there is none."""
    return score is None or settings.low <= score <= settings.high


async def run_cascade(
    exchange: Exchange,
    claims: Sequence[Statement],
    context: MeasureContext,
    *,
    local: Sequence[Measure],
    judge: Measure,
) -> tuple[MeasureResult, ...]:
    """The results of the local measures, then of the judge, which is asked only about claims with a score in the band,
    without one, or `absent`.

    A local model says "neutral" of what it cannot connect to the evidence, invented or merely reworded, and with a high
    score at that: that is no verdict. Taken for one, it lets every invention through unjudged, as in ChainCheck.
    """
    found = await run_measures(local, exchange, claims, context)
    settings = context.config.scoring
    combined = claim_scores(found, settings.all_weights)
    unsure = [
        place
        for place in range(len(claims))
        if any(result.claims[place].label == "absent" for result in found)
        or is_between(combined[place], settings.cascade)
    ]
    if (session := context.judge or context.llm) is not None:
        session.note_saved(planned_calls(len(claims)) - planned_calls(len(unsure)))
    return (*found, await _judged(judge, unsure, exchange, claims, context))


async def _judged(
    judge: Measure, unsure: Sequence[int], exchange: Exchange, claims: Sequence[Statement], context: MeasureContext
) -> MeasureResult:
    """The judge's result over all claims; those it was not asked about have no score.

    The response has one only if the judge was asked about every claim: that a few are right says nothing of the rest.
    """
    result = await run_measure(judge, exchange, [claims[place] for place in unsure], context)
    scores = dict(zip(unsure, result.claims, strict=True))
    nobody_asked = ClaimScore(reason=DECIDED_LOCALLY)
    every = tuple(scores.get(place, nobody_asked) for place in range(len(claims)))
    reason = DECIDED_LOCALLY if claims and not unsure else result.reason
    if unsure and len(unsure) < len(claims):
        counted = f"asked about {len(unsure)} of {len(claims)} claims"
        reason = f"{counted}; {result.reason}" if result.reason else counted
        result = result.model_copy(update={"score": None})
    return result.model_copy(update={"claims": every, "reason": reason})
