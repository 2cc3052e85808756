"""The unigram model against values worked out by hand."""

from __future__ import annotations

import math

import pytest
from scoring_tools import MakeContext, claims_of, exchange_of

from evidencerails.measures.ngram import NgramMeasure, UnigramModel, words

RESPONSE = "Ann paints. Ann swims."
SAMPLES = ["Ann paints.", "Ann paints."]
# Counted over response and samples: ann 4, paints 3, swims 1; T = 8, V = 3 and one for unseen words, k = 1.
# p(ann) = 5/12, p(paints) = 4/12, p(swims) = 2/12, p(unseen) = 1/12.


@pytest.mark.parametrize(
    ("word", "probability"), [("ann", 5 / 12), ("paints", 4 / 12), ("swims", 2 / 12), ("flies", 1 / 12)]
)
def test_probability_of_a_word_is_its_smoothed_share(word: str, probability: float) -> None:
    assert UnigramModel([RESPONSE, *SAMPLES]).surprise(word) == pytest.approx(-math.log(probability))


def test_average_and_maximum_are_over_the_words_of_the_text() -> None:
    found = UnigramModel([RESPONSE, *SAMPLES]).surprises("Ann swims.")
    assert found is not None
    assert found.maximum == pytest.approx(math.log(12 / 2))
    assert found.average == pytest.approx((math.log(12 / 5) + math.log(12 / 2)) / 2)
    assert found.word == "swims"


def test_a_text_without_words_has_no_surprise() -> None:
    assert UnigramModel(["a b"]).surprises("... !") is None


async def test_score_is_1_for_a_word_of_the_claim_alone_and_0_for_one_that_all_texts_have(
    make_context: MakeContext,
) -> None:
    exchange = exchange_of(RESPONSE, samples=SAMPLES)
    result = await NgramMeasure().measure(exchange, claims_of(RESPONSE, "Ann paints.", "Ann swims."), make_context())
    # "paints" stands once in each of the three texts, "swims" in the response alone.
    assert [claim.score for claim in result.claims] == pytest.approx([0.0, 1.0])
    assert result.claims[1].details["max_neg_logprob"] == pytest.approx(math.log(6))
    assert result.score == 1.0


async def test_without_samples_nothing_is_measured(make_context: MakeContext) -> None:
    result = await NgramMeasure().measure(exchange_of(RESPONSE), claims_of(RESPONSE, "Ann paints."), make_context())
    assert (result.score, result.reason, result.claims[0].score) == (None, "no_model", None)
    assert not result.ran


async def test_a_claim_without_words_is_not_measured(make_context: MakeContext) -> None:
    exchange = exchange_of("Ann. ...", samples=["Ann."])
    result = await NgramMeasure().measure(exchange, claims_of("Ann. ...", "Ann.", "..."), make_context())
    assert [claim.score for claim in result.claims] == [0.0, None]
    assert result.reason == "1 of 2 claims not measured: no_words"


def test_numbers_and_apostrophes_stay_whole() -> None:
    assert words("It's 1,889.5 m² — Zürich’s!") == ["it's", "1,889.5", "m²", "zürich’s"]
