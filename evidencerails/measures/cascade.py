"""Local measures first; a judge only for the claims that they leave unsure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from evidencerails.config import CascadeSettings
from evidencerails.exchange import Exchange
from evidencerails.measures.aggregate import Aggregate, claim_aggregates
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
from evidencerails.report import Label

DECIDED_LOCALLY = "decided_locally"
"""Reason of a claim's missing score in the judge's result: nobody asked."""


class Decided(NamedTuple):
    """The cascade's score of each claim, which were put to the judge, and all results."""

    claims: tuple[ClaimScore, ...]
    """The judge's score where it gave one; else the local measures' together, `absent` included: an invention that no
    judge could look at stays one."""
    results: tuple[MeasureResult, ...]
    """Of the local measures, then of the judge."""
    asked: tuple[int, ...]
    """Places of the claims that the local measures left unsure."""
    saved_calls: int
    """Judge calls that all claims would have taken, less those that the unsure ones take. Also in `LlmUsage`."""


def is_between(score: float | None, settings: CascadeSettings) -> bool:
    """True if a claim needs a judge by its calibrated score: that is in the band, or there is none."""
    return score is None or settings.low <= score <= settings.high


def is_unsure(score: float | None, label: Label | None, settings: CascadeSettings) -> bool:
    """True if a claim needs a judge by a measure's score, which is no probability: that is in the band, or the claim
    is `absent`.

    A local model says "neutral" of what it cannot connect to the evidence, invented or merely reworded, and with a high
    score at that: that is no verdict. Taken for one, it lets every invention through unjudged, as in ChainCheck.
    """
    return label == "absent" or is_between(score, settings)


async def run_cascade(
    exchange: Exchange,
    claims: Sequence[Statement],
    context: MeasureContext,
    *,
    local: Sequence[Measure],
    judge: Measure,
) -> Decided:
    """Score the claims by the local measures, then have the unsure ones judged.

    Without a model to ask the judge gives no scores and the reason.
    """
    found = await run_measures(local, exchange, claims, context)
    settings = context.config.scoring
    combined = claim_aggregates(found, settings.all_weights)
    labels = [_label(place, found) for place in range(len(claims))]
    unsure = tuple(
        place for place, label in enumerate(labels) if is_unsure(combined[place].score, label, settings.cascade)
    )
    judged = await _judged(judge, unsure, exchange, claims, context)
    saved, session = planned_calls(len(claims)) - planned_calls(len(unsure)), context.judge or context.llm
    if session is not None:
        session.note_saved(saved)
    final = [_final(place, found, judged.claims[place], combined[place]) for place in range(len(claims))]
    return Decided(tuple(final), (*found, judged), unsure, saved if session is not None else 0)


def _label(place: int, results: Sequence[MeasureResult]) -> Label | None:
    """`absent` if any measure says so; else the first label there is."""
    labels = [result.claims[place].label for result in results]
    return "absent" if "absent" in labels else next((label for label in labels if label is not None), None)


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


def _final(place: int, local: Sequence[MeasureResult], judged: ClaimScore, together: Aggregate) -> ClaimScore:
    if judged.score is not None:
        return judged
    reasons = [f"{name}: {reason}" for name, reason in together.missing.items()]
    if judged.reason != DECIDED_LOCALLY:
        reasons.append(f"judge: {judged.reason}")
    return ClaimScore(
        score=together.score,
        label=_label(place, local),
        reason="; ".join(reasons) or DECIDED_LOCALLY,
        evidence=next((result.claims[place].evidence for result in local if result.claims[place].evidence), ()),
    )
