"""Many scores to one: worked out by hand, and what is missing is never counted."""

from __future__ import annotations

import pytest

from evidencerails.config import CompositeWeights, RiskSettings, ScoringSettings
from evidencerails.measures.aggregate import (
    Aggregate,
    across_claims,
    aggregate_response,
    claim_aggregates,
    composite_score,
    noisy_or,
    risk_level,
    weighted_mean,
)
from evidencerails.measures.base import ClaimScore, MeasureResult
from evidencerails.report import RiskLevel


def result(name: str, *scores: float | None, whole: float | None = None) -> MeasureResult:
    claims = tuple(ClaimScore(score=s) if s is not None else ClaimScore(reason=f"{name}_failed") for s in scores)
    return MeasureResult(name=name, version="1", claims=claims, score=whole, reason="" if whole else f"{name}_failed")


def test_weighted_mean() -> None:
    # (.75 * .2 + .25 * 1) / 1 = .4
    found = weighted_mean({"nli": 0.2, "judge": 1.0}, {"nli": 0.75, "judge": 0.25})
    assert found.score == pytest.approx(0.4)
    assert (found.weights, found.missing) == ({"nli": 0.75, "judge": 0.25}, {})


def test_weights_are_shared_out_among_the_parts_that_ran() -> None:
    # ChainCheck counted an errored judge as 0.0 with weight .60: NLI 1.0 became .143.
    found = weighted_mean({"nli": 1.0, "judge": None}, {"nli": 0.1, "judge": 0.6}, {"judge": "no_model"})
    assert found == Aggregate(score=1.0, weights={"nli": 1.0}, missing={"judge": "no_model"})


@pytest.mark.parametrize("combine", [weighted_mean, noisy_or])
@pytest.mark.parametrize("scores", [{}, {"nli": None}, {"nli": None, "judge": None}])
def test_nothing_measured_is_no_score(combine: object, scores: dict[str, float | None]) -> None:
    found = combine(scores, {"nli": 1.0, "judge": 1.0})  # type: ignore[operator]
    assert found.score is None
    assert set(found.missing) == set(scores)


@pytest.mark.parametrize("combine", [weighted_mean, noisy_or])
def test_weights_that_sum_to_nothing_are_no_score(combine: object) -> None:
    # ChainCheck's consistency, alone with weight 0.0, always scored 0.0 LOW.
    assert combine({"consistency": 1.0}, {"consistency": 0.0}).score is None  # type: ignore[operator]


def test_noisy_or() -> None:
    # 1 - (1 - .5 * .8) (1 - 1 * .5) = 1 - .6 * .5 = .7
    assert noisy_or({"a": 0.8, "b": 0.5}, {"a": 0.5, "b": 1.0}).score == pytest.approx(0.7)


@pytest.mark.parametrize(("score", "expected"), [(0.0, 0.0), (1.0, 1.0), (0.25, 0.25)])
def test_one_part_alone_is_itself(score: float, expected: float) -> None:
    assert noisy_or({"a": score}, {"a": 1.0}).score == expected
    assert weighted_mean({"a": score}, {"a": 0.1}).score == pytest.approx(expected)


def test_equal_scores_stay_in_a_mean_and_add_up_in_a_noisy_or() -> None:
    scores, weights = {"a": 0.5, "b": 0.5, "c": 0.5}, {"a": 1.0, "b": 1.0, "c": 1.0}
    assert weighted_mean(scores, weights).score == pytest.approx(0.5)
    assert noisy_or(scores, weights).score == pytest.approx(1 - 0.5**3)


def test_one_contradicted_claim_of_ten_is_not_averaged_away() -> None:
    # ChainCheck: 1 of 10 claims contradicted at .99 scored .099, LOW.
    scores = [0.99] + [0.0] * 9
    assert across_claims(scores, ScoringSettings()) == pytest.approx(0.99)
    assert across_claims(scores, ScoringSettings(aggregation="weighted")) == pytest.approx(0.099)


@pytest.mark.parametrize("count", [1, 4, 40])
def test_right_claims_do_not_add_up_to_a_wrong_one(count: int) -> None:
    # A noisy-or made .70 of four verbatim sentences at .26.
    assert across_claims([0.26] * count, ScoringSettings()) == pytest.approx(0.26)


@pytest.mark.parametrize("scores", [[], [None], [None, None]])
def test_no_measured_claim_is_no_score(scores: list[float | None]) -> None:
    assert across_claims(scores, ScoringSettings()) is None


def test_claims_are_put_together_claim_by_claim() -> None:
    first, second = claim_aggregates([result("nli", 0.5, None), result("judge", 1.0, 0.0)], {"nli": 1.0, "judge": 3.0})
    assert first.score == pytest.approx((0.5 + 3.0) / 4)
    assert second == Aggregate(score=0.0, weights={"judge": 1.0}, missing={"nli": "nli_failed"})


def test_measures_of_different_claims_are_an_error() -> None:
    with pytest.raises(ValueError, match=r"the same claims, got \[1, 2\]"):
        claim_aggregates([result("nli", 0.5), result("judge", 1.0, 0.0)], {})


def test_a_whole_response() -> None:
    results = [result("nli", 0.9, None, whole=0.9), result("judge", None, None)]
    found = aggregate_response(results, ScoringSettings())
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
    assert aggregate_response(results, ScoringSettings()).score == pytest.approx(0.95)


@pytest.mark.parametrize("results", [[], [result("nli")], [result("nli", None)]])
def test_a_response_that_nobody_measured_has_no_score_and_no_risk(results: list[MeasureResult]) -> None:
    found = aggregate_response(results, ScoringSettings())
    assert (found.score, found.risk_level) == (None, None)


@pytest.mark.parametrize(
    ("score", "level"),
    [(None, None), (0.0, "low"), (0.29, "low"), (0.3, "medium"), (0.69, "medium"), (0.7, "high"), (1.0, "high")],
)
def test_risk_level(score: float | None, level: RiskLevel | None) -> None:
    assert risk_level(score, RiskSettings()) == level


def test_risk_borders_come_from_the_settings() -> None:
    assert risk_level(0.5, RiskSettings(low=0.1, high=0.4)) == "high"


def test_composite_score() -> None:
    # 1 - .25 (.9 + 1 + .8 + .5) = .2
    parts = {"faithfulness": 0.9, "attribution_precision": 1.0, "groundedness": 0.8, "self_consistency": 0.5}
    assert composite_score(CompositeWeights(), parts).score == pytest.approx(0.2)


def test_what_the_composite_score_lacks_is_left_out_and_named() -> None:
    # Counted as 1.0 each, they would make 1 - .25 (.5 + 1 + .5 + 1) = .25 of it.
    lacking = {"attribution_precision": None, "self_consistency": None}
    found = composite_score(CompositeWeights(), {"faithfulness": 0.5, "groundedness": 0.5, **lacking})
    assert found.score == pytest.approx(0.5)
    assert set(found.missing) == {"attribution_precision", "self_consistency"}
    assert found.weights == {"faithfulness": 0.5, "groundedness": 0.5}


def test_a_composite_score_of_nothing_is_none() -> None:
    assert composite_score(CompositeWeights(), {}).score is None
