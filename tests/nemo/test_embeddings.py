"""The offline embedding engine behind NeMo's own interface."""

import asyncio

import numpy as np
import pytest
from nemoguardrails.embeddings.providers import init_embedding_model

from evidencerails.adapters.embeddings import EvidencerailsEmbeddingModel, register
from evidencerails.errors import SettingsError

EXAMPLES = ["hello there", "how do I return a product", "what is the weather like", "tell me about the warranty"]
QUESTIONS = ["hello", "I want to return something, a product", "how will the weather be", "does it have a warranty?"]


def _nearest(vectors: np.ndarray, others: np.ndarray) -> list[int]:
    return (others @ vectors.T).argmax(axis=1).tolist()


def test_nemo_finds_the_engine_however_often_it_is_registered() -> None:
    register()
    register()
    model = init_embedding_model("embedded", "evidencerails")
    assert isinstance(model, EvidencerailsEmbeddingModel)


def test_a_rephrased_message_finds_its_example() -> None:
    model = EvidencerailsEmbeddingModel("embedded")
    examples, questions = np.array(model.encode(EXAMPLES)), np.array(model.encode(QUESTIONS))
    assert _nearest(examples, questions) == [0, 1, 2, 3]


@pytest.mark.parametrize("text", ["", " ", "\x00", "\ud800", "日本語の文", "a" * 100_000])
def test_every_text_has_a_unit_vector(text: str) -> None:
    vectors = np.array(EvidencerailsEmbeddingModel().encode([text, "x"]))
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), [1, 1], rtol=1e-4)


async def test_async_gives_the_same_plain_floats() -> None:
    model = EvidencerailsEmbeddingModel()
    first, second = await asyncio.gather(model.encode_async(EXAMPLES), model.encode_async(EXAMPLES))
    assert first == second == model.encode(EXAMPLES)
    assert type(first[0][0]) is float
    assert await model.encode_async([]) == []


def test_another_model_is_refused() -> None:
    with pytest.raises(SettingsError, match="no model 'all-MiniLM'; available: 'embedded'"):
        EvidencerailsEmbeddingModel("all-MiniLM")
