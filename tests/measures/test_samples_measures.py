"""Measures that compare with samples by vectors: against values worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scoring_tools import MakeContext, TableEncoder, claims_of, exchange_of

from evidencerails.measures.bertscore import UNRELATED_F1, BertScoreMeasure, bertscore_f1
from evidencerails.measures.embedding import EmbeddingMeasure
from evidencerails.testing import ReplayServer

WORDS = {"Ann": (1, 0), "paints": (0, 1), "swims": (0.6, 0.8), "runs": (0, -1)}


def rows(*names: str) -> np.ndarray:
    return np.array([WORDS[name] for name in names], dtype=np.float32)


def test_equal_texts_have_an_f1_of_1() -> None:
    assert bertscore_f1(rows("Ann", "paints"), rows("Ann", "paints")) == pytest.approx(1.0)


def test_f1_by_greedy_matching() -> None:
    # candidate Ann paints, reference Ann swims. Cosines: Ann-Ann 1, Ann-swims .6, paints-Ann 0, paints-swims .8.
    # precision (1 + .8) / 2 = .9, recall (1 + .8) / 2 = .9
    assert bertscore_f1(rows("Ann", "paints"), rows("Ann", "swims")) == pytest.approx(0.9)
    # candidate Ann, reference Ann paints: precision 1, recall (1 + 0) / 2 = .5, F1 = 2 * .5 / 1.5
    assert bertscore_f1(rows("Ann"), rows("Ann", "paints")) == pytest.approx(2 / 3)


def test_no_tokens_and_nothing_in_common_are_0() -> None:
    assert bertscore_f1(rows("Ann"), np.zeros((0, 2), np.float32)) == 0.0
    assert bertscore_f1(np.zeros((0, 2), np.float32), rows("Ann")) == 0.0
    assert bertscore_f1(rows("paints"), rows("runs")) == 0.0


async def test_bertscore_is_1_minus_the_mean_over_samples_of_the_best_sentence(make_context: MakeContext) -> None:
    exchange = exchange_of("Ann paints.", samples=["Ann swims. Ann paints.", "Ann swims."])
    measure = BertScoreMeasure(TableEncoder(WORDS))
    result = await measure.measure(exchange, claims_of("Ann paints.", "Ann paints."), make_context())
    # best in the first sample 1, in the second .9: 1 - .95
    assert result.claims[0].score == pytest.approx(0.05)
    assert result.version == "1+table-encoder@1"


async def test_bertscore_is_rescaled_by_the_f1_of_unrelated_texts(
    make_context: MakeContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evidencerails.measures.bertscore.UNRELATED_F1", {"table-encoder": 0.5})
    exchange = exchange_of("Ann paints.", samples=["Ann swims."])
    measure = BertScoreMeasure(TableEncoder(WORDS))
    result = await measure.measure(exchange, claims_of("Ann paints.", "Ann paints."), make_context())
    # 1 - (.9 - .5) / (1 - .5) = .2
    assert result.claims[0].score == pytest.approx(0.2)
    assert set(UNRELATED_F1) == {"evidencerails-embedding-minilm-l6"}


VECTORS = {"Ann paints.": (1, 0), "Ann swims.": (0.6, 0.8), "Ann does not.": (-1, 0), "Ann.": (0, 1)}


@pytest.mark.parametrize(
    ("samples", "score"),
    [
        (["Ann paints."], 0.0),
        (["Ann swims."], 0.4),
        (["Ann swims. Ann paints."], 0.0),  # the nearest sentence counts
        (["Ann paints.", "Ann swims."], 0.2),  # mean over samples of the cosine: (1 + .6) / 2
        (["Ann does not."], 1.0),  # a negative cosine counts as 0
        (["Ann.", "Ann."], 1.0),
    ],
)
async def test_embedding_is_1_minus_the_mean_cosine(
    make_context: MakeContext, samples: list[str], score: float
) -> None:
    exchange = exchange_of("Ann paints.", samples=samples)
    measure = EmbeddingMeasure(TableEncoder(VECTORS))
    result = await measure.measure(exchange, claims_of("Ann paints.", "Ann paints."), make_context())
    assert result.claims[0].score == pytest.approx(score)


@pytest.mark.parametrize("measure", [BertScoreMeasure(TableEncoder({})), EmbeddingMeasure(TableEncoder({}))])
async def test_without_samples_nothing_is_measured(
    make_context: MakeContext, server: ReplayServer, measure: BertScoreMeasure | EmbeddingMeasure
) -> None:
    claims = claims_of("Ann.", "Ann.")
    assert (await measure.measure(exchange_of("Ann."), claims, make_context())).reason == "no_model"
    result = await measure.measure(exchange_of("Ann."), claims, make_context(server=server))
    assert (result.score, result.reason) == (None, "no_prompt")


async def test_samples_are_drawn_where_none_are_given(make_context: MakeContext, server: ReplayServer) -> None:
    server.say(["Ann swims.", "Ann paints."])
    context = make_context(server=server, prompt="What does Ann do?")
    measure = EmbeddingMeasure(TableEncoder(VECTORS))
    claims = claims_of("Ann paints.", "Ann paints.")
    result = await measure.measure(exchange_of("Ann paints."), claims, context)
    assert result.claims[0].score == pytest.approx(0.2)
    await measure.measure(exchange_of("Ann paints."), claims, context)
    assert len(server.requests) == 1


async def test_no_claims(make_context: MakeContext) -> None:
    exchange = exchange_of("Ann paints.", samples=["Ann paints."])
    for measure in (BertScoreMeasure(TableEncoder(WORDS)), EmbeddingMeasure(TableEncoder(VECTORS))):
        result = await measure.measure(exchange, [], make_context())
        assert (result.score, result.reason) == (None, "no_claims")
