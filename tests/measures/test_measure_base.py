"""What all measures share: no score is a value, errors are results, names are known."""

from collections.abc import Sequence
from typing import Any, get_args

import pytest
from pydantic import ValidationError
from scoring_tools import MakeContext, claims_of

from evidencerails.errors import LlmTimeoutError, SettingsError, reason_of
from evidencerails.exchange import Exchange
from evidencerails.measures.base import ClaimScore, MeasureResult, result_of, run_measures
from evidencerails.measures.ngram import NgramMeasure
from evidencerails.measures.registry import CLASSES, get_measure, get_measures
from evidencerails.settings.scoring import DEFAULT_MEASURE_WEIGHTS, MeasureName


class Failing:
    """A measure that fails."""

    name = "failing"
    version = "1"

    def __init__(self, error: Exception) -> None:
        self._error = error

    async def measure(self, exchange: Any, claims: Sequence[Any], context: Any) -> MeasureResult:
        raise self._error


def test_a_missing_score_needs_a_reason() -> None:
    with pytest.raises(ValidationError, match="needs a reason"):
        ClaimScore()


@pytest.mark.parametrize("score", [-0.01, 1.01, float("nan")])
def test_a_score_is_a_share(score: float) -> None:
    with pytest.raises(ValidationError):
        ClaimScore(score=score)


@pytest.mark.parametrize(
    ("scores", "score", "reason"),
    [
        ([], None, "no_claims"),
        ([0.2], 0.2, ""),
        ([0.2, 0.9, 0.5], 0.9, ""),
        ([0.5, 0.5], 0.5, ""),
        ([0.2, None], 0.2, "1 of 2 claims not measured: why"),
        ([None], None, "why"),
        ([None, None], None, "why"),
    ],
)
def test_the_response_is_as_bad_as_its_worst_claim(
    scores: list[float | None], score: float | None, reason: str
) -> None:
    claims = [ClaimScore(score=value, reason="" if value is not None else "why") for value in scores]
    found = result_of(NgramMeasure(), claims)
    assert (found.score, found.reason, found.ran) == (score, reason, score is not None)


@pytest.mark.parametrize("error", [LlmTimeoutError("too late"), RuntimeError("broken"), ValueError("bad")])
async def test_an_error_becomes_a_result_without_scores_and_takes_no_other_with_it(
    make_context: MakeContext, error: Exception
) -> None:
    exchange, claims = Exchange.of("A. B.", samples=["A."]), claims_of("A. B.", "A.", "B.")
    failed, ran = await run_measures((Failing(error), NgramMeasure()), exchange, claims, make_context())
    assert (failed.score, [claim.score for claim in failed.claims], ran.ran) == (None, [None, None], True)
    assert failed.reason == f"measure_failed: {reason_of(error)}"


def test_every_measure_of_the_settings_is_registered_and_weighed() -> None:
    names = set(get_args(MeasureName))
    assert set(CLASSES) == names == set(DEFAULT_MEASURE_WEIGHTS)
    for name in names:
        assert get_measure(name).name == name


def test_names_are_known_and_one_that_is_given_twice_runs_once() -> None:
    with pytest.raises(SettingsError, match=r"unknown measure 'nly'; available: .*nli"):
        get_measure("nly")
    assert [measure.name for measure in get_measures(["nli", "qa", "nli"])] == ["nli", "qa"]
