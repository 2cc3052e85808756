"""Meanings are counted, not wordings."""

from __future__ import annotations

import math

import pytest
from scoring_tools import MakeContext, Row, claims_of, exchange_of

from evidencerails.measures.semantic_entropy import SemanticEntropyMeasure, clusters_of, entropy, normalised_entropy

YES: Row = (0.9, 0.05, 0.05)


def mutual(*pairs: tuple[str, str]) -> dict[tuple[str, str], Row]:
    return {pair: YES for one, other in pairs for pair in ((one, other), (other, one))}


@pytest.mark.parametrize(
    ("sizes", "nats", "normalised"),
    [
        ([], 0.0, None),
        ([1], 0.0, None),
        ([3], 0.0, 0.0),
        ([1, 1], math.log(2), 1.0),
        ([2, 1], 0.6365, 0.5794),  # - 2/3 ln 2/3 - 1/3 ln 1/3; divided by ln 3
        ([2, 2], math.log(2), 0.5),  # ln 2 / ln 4
        ([1] * 5, math.log(5), 1.0),
    ],
)
def test_entropy(sizes: list[int], nats: float, normalised: float | None) -> None:
    assert entropy(sizes) == pytest.approx(nats, abs=1e-4)
    assert normalised_entropy(sizes) == (None if normalised is None else pytest.approx(normalised, abs=1e-4))


def test_clusters_are_formed_by_their_first_member() -> None:
    same = {(0, 2), (2, 3)}
    assert clusters_of(4, lambda one, other: (one, other) in same) == [[0, 2], [1], [3]]
    assert clusters_of(0, lambda one, other: True) == []


async def test_entropy_of_a_response_and_its_samples(make_context: MakeContext) -> None:
    a, b, c = "The tower is in Paris.", "Paris is where it stands.", "The tower stands in Lyon."
    context = make_context(mutual((a, b)))
    result = await SemanticEntropyMeasure().measure(exchange_of(a, samples=[b, c]), claims_of(a, a), context)
    assert result.score == pytest.approx(0.5794, abs=1e-4)
    assert result.details["clusters"] == [[0, 1], [2]]
    assert result.details["share_of_own_meaning"] == pytest.approx(2 / 3)
    assert (result.claims[0].score, result.claims[0].reason) == (None, "response_level")
    assert result.ran


async def test_one_way_entailment_is_another_meaning(make_context: MakeContext) -> None:
    a, b = "The tower is in Paris.", "The tower is in France."
    result = await SemanticEntropyMeasure().measure(exchange_of(a, samples=[b]), [], make_context({(a, b): YES}))
    assert result.score == 1.0


async def test_equal_answers_need_no_model(make_context: MakeContext) -> None:
    exchange = exchange_of("The tower  is in Paris.", samples=["the tower is in paris."] * 3)
    result = await SemanticEntropyMeasure().measure(exchange, [], make_context())
    assert result.score == 0.0


async def test_a_longer_answer_entails_another_if_it_entails_each_sentence(make_context: MakeContext) -> None:
    a, b = "The tower is old. It is in Paris.", "It stands in Paris. It is an old tower."
    sentences = {a: a.split(". ", 1), b: b.split(". ", 1)}
    first = {(b, "The tower is old."): YES, (b, "It is in Paris."): YES, (a, "It stands in Paris."): YES}
    both = {**first, (a, "It is an old tower."): YES}
    assert len(sentences[a]) == 2
    exchange = exchange_of(a, samples=[b])
    assert (await SemanticEntropyMeasure().measure(exchange, [], make_context(first))).score == 1.0
    assert (await SemanticEntropyMeasure().measure(exchange, [], make_context(both))).score == 0.0


async def test_a_short_answer_is_read_with_its_question(make_context: MakeContext) -> None:
    question = "Where is the tower?"
    rows = mutual((f"{question} Paris", f"{question} It stands in Paris, the capital of France."))
    exchange = exchange_of("Paris", samples=["It stands in Paris, the capital of France."], prompt=question)
    assert (await SemanticEntropyMeasure().measure(exchange, [], make_context(rows))).score == 0.0


async def test_what_cannot_be_measured(make_context: MakeContext) -> None:
    result = await SemanticEntropyMeasure().measure(exchange_of("A."), claims_of("A.", "A."), make_context())
    assert (result.score, result.reason, result.ran) == (None, "no_model", False)
    long = " ".join(f"Sentence number {n} is here." for n in range(21))
    result = await SemanticEntropyMeasure().measure(exchange_of(long, samples=["B."]), [], make_context())
    assert (result.score, result.reason) == (None, "too_long: 21 sentences, at most 20")
