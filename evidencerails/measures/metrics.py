"""What the measures add to a report: numbers for people, on which no decision rests. Local measures come first, a judge
only for the claims that they leave unsure."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from evidencerails.errors import traceback_summary
from evidencerails.exchange import Exchange
from evidencerails.measures.aggregate import ResponseAggregate, aggregate_response, claim_scores
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
from evidencerails.measures.registry import JUDGES, get_measures
from evidencerails.report import CheckResult
from evidencerails.settings.scoring import CascadeSettings
from evidencerails.text.claims import extract_claims

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


log = logging.getLogger("evidencerails.measures")

LISTED_CLAIMS = 100
"""Claims whose scores are listed in the details."""


async def with_measures(
    results: Sequence[CheckResult], exchange: Exchange, context: MeasureContext
) -> list[CheckResult]:
    """The results, with what the measures of `scoring.measures` say about their claims.

    The claims are those of the check that made the most, or the rules' if none made any. Metrics `measure_<name>` and
    `measures_score` are the responses' scores, as far as there are any; `details["measures"]` the rest, with the
    reason of each measure that did not run. Chunks of a stream are not measured.
    """
    names = context.config.scoring.measures
    if not names or not results or exchange.is_chunk:
        return list(results)
    place_of_most = max(range(len(results)), key=lambda place: len(results[place].claims))
    try:
        extended = await _extended(results[place_of_most], exchange, context)
    except Exception as error:  # boundary to models and providers: numbers for people must not cost the verdict
        log.error("the measures %s failed: %s", ", ".join(names), traceback_summary(error))
        return list(results)
    return [extended if place == place_of_most else result for place, result in enumerate(results)]


async def _extended(result: CheckResult, exchange: Exchange, context: MeasureContext) -> CheckResult:
    claims: Sequence[Statement] = result.claims
    if not claims:
        claims = await context.nli.run(extract_claims, exchange.response, context.splitter)
    found = await _measure(context.config.scoring.measures, exchange, claims, context)
    together = aggregate_response(found, context.config.scoring)
    return result.model_copy(
        update={
            "metrics": {**result.metrics, **_metrics(found, together)},
            "details": {**result.details, "measures": _details(claims, found, together)},
        }
    )


def measure_timings(results: Sequence[CheckResult]) -> dict[str, float]:
    """Milliseconds of each measure that `with_measures` ran, by the name of its metric."""
    measures = [result.details["measures"] for result in results if "measures" in result.details]
    return {f"measure_{name}": ms for one in measures for name, ms in one["durations_ms"].items()}


async def _measure(
    names: Sequence[str], exchange: Exchange, claims: Sequence[Statement], context: MeasureContext
) -> tuple[MeasureResult, ...]:
    """Results of all measures; a judge beside local ones is asked only about what they leave unsure."""
    local = get_measures(name for name in names if name not in JUDGES)
    judges = get_measures(name for name in names if name in JUDGES)
    if not local or not judges:
        return await run_measures((*local, *judges), exchange, claims, context)
    preferred = context.config.scoring.cascade.judge
    first, *others = sorted(judges, key=lambda judge: judge.name != preferred)
    found = await run_cascade(exchange, claims, context, local=local, judge=first)
    return (*found, *await run_measures(others, exchange, claims, context))


def _metrics(found: Sequence[MeasureResult], together: ResponseAggregate) -> dict[str, float]:
    metrics = {f"measure_{result.name}": result.score for result in found}
    metrics["measures_score"] = together.score
    return {name: score for name, score in metrics.items() if score is not None}


def _details(
    claims: Sequence[Statement], found: Sequence[MeasureResult], together: ResponseAggregate
) -> dict[str, Any]:
    """Offsets and scores; no words of the answer, so that nothing has to be redacted."""
    return {
        "risk_level": together.risk_level,
        "missing": together.missing,
        "unmeasured_claims": together.unmeasured_claims,
        "versions": {result.name: result.version for result in found},
        "durations_ms": {result.name: result.duration_ms for result in found},
        "claims": [
            {
                "start": claim.span.start,
                "end": claim.span.end,
                "score": together.claims[place],
                "scores": {result.name: result.claims[place].score for result in found},
            }
            for place, claim in enumerate(claims[:LISTED_CLAIMS])
        ],
    }
