"""Many scores to one: worked out by hand, and what is missing is never counted."""

from typing import Any

import pytest

from evidencerails.measures.aggregate import (
    across_claims,
    aggregate_response,
    claim_scores,
    noisy_or,
    risk_level,
    weighted_mean,
)
from evidencerails.measures.base import ClaimScore, MeasureResult
from evidencerails.report import RiskLevel
from evidencerails.settings.scoring import RiskSettings, ScoringSettings

WORST, WEIGHTED = ScoringSettings(), ScoringSettings(aggregation="weighted")


def result(name: str, *scores: float | None, whole: float | None = None) -> MeasureResult:
    claims = tuple(ClaimScore(score=s) if s is not None else ClaimScore(reason=f"{name}_failed") for s in scores)
    return MeasureResult(name=name, version="1", claims=claims, score=whole, reason="" if whole else f"{name}_failed")


def mean(scores: Any, weights: dict[str, float]) -> float | None:
    return weighted_mean(scores, weights)


@pytest.mark.parametrize(
    ("combine", "scores", "weights", "score"),
    [
        (mean, {"nli": 0.2, "judge": 1.0}, {"nli": 0.75, "judge": 0.25}, 0.4),  # .75 * .2 + .25 * 1
        (mean, {"a": 0.25}, {"a": 0.1}, 0.25),
        # ChainCheck counted an errored judge as 0.0 with weight .60: NLI 1.0 became .143.
        (mean, {"nli": 1.0, "judge": None}, {"nli": 0.1, "judge": 0.6}, 1.0),
        (noisy_or, {"a": 0.8, "b": 0.5}, {"a": 0.5, "b": 1.0}, 0.7),  # 1 - (1 - .5 * .8) (1 - 1 * .5)
        (noisy_or, {"a": 0.5, "b": 0.5, "c": 0.5}, {"a": 1.0, "b": 1.0, "c": 1.0}, 1 - 0.5**3),
        # ChainCheck's consistency, alone with weight 0.0, always scored 0.0 LOW.
        *((combine, {"a": 1.0}, {"a": 0.0}, None) for combine in (mean, noisy_or)),
        *((combine, {}, {}, None) for combine in (mean, noisy_or)),
        *((combine, {"nli": None, "judge": None}, {"nli": 1.0}, None) for combine in (mean, noisy_or)),
    ],
)
def test_parts_to_one(combine: Any, scores: Any, weights: dict[str, float], score: float | None) -> None:
    assert combine(scores, weights) == (None if score is None else pytest.approx(score))


@pytest.mark.parametrize(
    ("scores", "settings", "score"),
    [
        ([0.99] + [0.0] * 9, WORST, 0.99),  # ChainCheck: 1 of 10 claims contradicted at .99 scored .099, LOW
        ([0.99] + [0.0] * 9, WEIGHTED, 0.099),
        ([0.26] * 40, WORST, 0.26),  # right claims do not add up to a wrong one
        ([None, 1.0], WORST, 1.0),
        ([], WORST, None),
        ([None, None], WEIGHTED, None),
    ],
)
def test_claims_to_a_response(scores: list[float | None], settings: ScoringSettings, score: float | None) -> None:
    assert across_claims(scores, settings) == (None if score is None else pytest.approx(score))


def test_claims_are_put_together_claim_by_claim() -> None:
    first, second = claim_scores([result("nli", 0.5, None), result("judge", 1.0, 0.0)], {"nli": 1.0, "judge": 3.0})
    assert (first, second) == (pytest.approx((0.5 + 3.0) / 4), 0.0)
    with pytest.raises(ValueError, match=r"the same claims, got \[1, 2\]"):
        claim_scores([result("nli", 0.5), result("judge", 1.0, 0.0)], {})


def test_a_whole_response() -> None:
    found = aggregate_response([result("nli", 0.9, None, whole=0.9), result("judge", None, None)], WORST)
    assert (found.score, found.risk_level, found.unmeasured_claims) == (pytest.approx(0.9), "high", 1)
    assert found.missing == {"judge": "judge_failed"}


def test_a_measure_of_the_whole_response_joins_by_its_weight() -> None:
    results = [result("nli", 0.5, whole=0.5), result("semantic_entropy", None, whole=1.0)]
    settings = ScoringSettings(weights={"nli": 0.6, "semantic_entropy": 0.2})
    # 1 - (1 - .5) (1 - .2 * 1) = .6
    assert aggregate_response(results, settings).score == pytest.approx(0.6)
    # (.6 * .5 + .2 * 1) / .8 = .625
    settings = settings.model_copy(update={"aggregation": "weighted"})
    assert aggregate_response(results, settings).score == pytest.approx(0.625)


def test_a_model_that_errs_consistently_makes_no_false_claim_harmless() -> None:
    results = [result("nli", 0.95, whole=0.95), result("semantic_entropy", None, whole=0.0)]
    assert aggregate_response(results, WORST).score == pytest.approx(0.95)


@pytest.mark.parametrize("results", [[], [result("nli")], [result("nli", None)]])
def test_a_response_that_nobody_measured_has_no_score_and_no_risk(results: list[MeasureResult]) -> None:
    found = aggregate_response(results, WORST)
    assert (found.score, found.risk_level) == (None, None)


@pytest.mark.parametrize(
    ("score", "level"),
    [(None, None), (0.0, "low"), (0.29, "low"), (0.3, "medium"), (0.69, "medium"), (0.7, "high"), (1.0, "high")],
)
def test_risk_level(score: float | None, level: RiskLevel | None) -> None:
    assert risk_level(score, RiskSettings()) == level
    assert risk_level(0.5, RiskSettings(low=0.1, high=0.4)) == "high"
