"""Many scores to one: measures to a claim, claims to a response, metrics to the composite score.

Only what was measured counts: weights are shared out again among the parts that ran, and the others are named. With
nothing measured there is no score, which is neither 0 nor 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from pydantic import Field

from evidencerails.exchange import Value
from evidencerails.measures.base import MeasureResult, clipped
from evidencerails.report import RiskLevel
from evidencerails.settings.scoring import CompositeWeights, RiskSettings, ScoringSettings

Scores = Mapping[str, "float | None"]


class ResponseAggregate(Value):
    """The scores of a response's claims and of the response."""

    score: float | None = Field(default=None, ge=0.0, le=1.0)
    risk_level: RiskLevel | None = None
    claims: tuple[float | None, ...] = ()
    """One for each claim, put together from the measures."""
    unmeasured_claims: int = 0
    missing: dict[str, str] = Field(default_factory=dict)
    """The measures that gave no score at all, each with its reason."""


def weighted_mean(scores: Scores, weights: Mapping[str, float]) -> float | None:
    """Mean of the measured scores; their weights are made to sum to 1. A part without a weight counts nothing; None if
    no part with any was measured."""
    measured = [(weights.get(name, 0.0), score) for name, score in scores.items() if score is not None]
    total = math.fsum(weight for weight, _ in measured)
    return clipped(math.fsum(weight * score for weight, score in measured) / total) if total > 0.0 else None


def noisy_or(scores: Scores, weights: Mapping[str, float]) -> float | None:
    """1 - product of (1 - weight * score) over the measured parts (Pearl 1988, noisy-or gate); None without any.

    A weight in [0, 1] is how far a part can be believed alone. More parts can only raise the score: one that is bad is
    never averaged away.
    """
    used = [(min(1.0, weights.get(name, 0.0)), score) for name, score in scores.items() if score is not None]
    rest = math.prod(1.0 - weight * score for weight, score in used)
    return clipped(1.0 - rest) if any(weight > 0 for weight, _ in used) else None


def claim_scores(results: Sequence[MeasureResult], weights: Mapping[str, float]) -> tuple[float | None, ...]:
    """For each claim the weighted mean of the measures that scored it. `ValueError`: the measures speak about different
    numbers of claims."""
    counts = {len(result.claims) for result in results}
    if len(counts) > 1:
        raise ValueError(f"measures of one response must score the same claims, got {sorted(counts)} claims")
    return tuple(
        weighted_mean({result.name: result.claims[place].score for result in results}, weights)
        for place in range(counts.pop() if counts else 0)
    )


def across_claims(scores: Sequence[float | None], settings: ScoringSettings) -> float | None:
    """One score for the response: the worst claim's, or their mean by the settings; None if no claim was measured."""
    measured = [score for score in scores if score is not None]
    if settings.aggregation == "worst":  # no product: the small residuals of right claims would add up
        return max(measured, default=None)
    return math.fsum(measured) / len(measured) if measured else None


def aggregate_response(results: Sequence[MeasureResult], settings: ScoringSettings) -> ResponseAggregate:
    """Everything the measures say about one response, put together.

    A measure that speaks about the response only (semantic entropy) joins the claims' score with its weight. Claims
    that no measure scored are counted in `unmeasured_claims`, and weigh nothing.
    """
    weights = settings.all_weights
    claims = claim_scores(results, weights)
    by_claim = [result for result in results if any(claim.score is not None for claim in result.claims)]
    from_claims = across_claims(claims, settings)
    parts = {"claims": from_claims, **{r.name: r.score for r in results if r not in by_claim and r.score is not None}}
    if settings.aggregation == "worst":  # the claims, and measures of the response alone, are signals of their own
        score = noisy_or(parts, {**weights, "claims": 1.0})
    else:
        score = weighted_mean(parts, {**weights, "claims": sum(weights.get(r.name, 0.0) for r in by_claim)})
    return ResponseAggregate(
        score=score,
        risk_level=risk_level(score, settings.risk),
        claims=claims,
        unmeasured_claims=claims.count(None),
        missing={result.name: result.reason or "not_measured" for result in results if not result.ran},
    )


def risk_level(score: float | None, settings: RiskSettings) -> RiskLevel | None:
    """Low, medium or high by the two thresholds; None without a score."""
    if score is None:
        return None
    return "low" if score < settings.low else "high" if score >= settings.high else "medium"


COMPOSITE_PARTS = ("faithfulness", "attribution_precision", "groundedness", "self_consistency")


def composite_parts(metrics: Mapping[str, float]) -> dict[str, float | None]:
    """The parts of the composite score, in [0, 1], 1 being perfect; None for what was not measured."""
    drift = metrics.get("pairwise_contradiction_rate", metrics.get("sample_disagreement"))
    return {
        "faithfulness": metrics.get("faithfulness", metrics.get("severity_weighted_faithfulness")),
        "attribution_precision": metrics.get("attribution_precision"),
        "groundedness": metrics.get("groundedness"),
        "self_consistency": None if drift is None else 1.0 - drift,
    }


def composite_metrics(metrics: Mapping[str, float], settings: CompositeWeights) -> dict[str, float]:
    """`composite_score`, 1 - (w_F F + w_A AP + w_G G + w_S SC), in [0, 1]: 0 is no sign of a hallucination.

    What was not measured (no citations, a single sample) is left out, and the other weights are made to sum to 1:
    counted as perfect, it would make an unchecked answer look better than a checked one. `composite_measured` is the
    part of the weights whose metric was measured. Empty if none was.
    """
    weights: dict[str, float] = settings.model_dump()
    measured = {name: value for name, value in composite_parts(metrics).items() if value is not None}
    total = math.fsum(weights[name] for name in measured)
    if total <= 0.0:
        return {}
    score = 1.0 - math.fsum(weights[name] * value for name, value in measured.items()) / total
    return {"composite_score": min(1.0, max(0.0, score)), "composite_measured": total / sum(weights.values())}
