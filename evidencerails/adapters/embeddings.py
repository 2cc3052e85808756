"""The embedding engine of NeMo's dialog rails, offline: `{type: embeddings, engine: evidencerails, model: embedded}`.

NeMo looks user messages up in an index of sentence vectors; its default model is downloaded at first use, and without a
network the turn dies. This engine takes the vectors from the encoder inside the package. Where that file is not part of
the installation it uses hashed words and letter groups instead: they find a rephrased example by its wording, not by
its meaning.

`encode` and `encode_async` are all that NeMo 0.24 asks of an engine; it makes one object for each engine and model.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from nemoguardrails.embeddings.providers import register_embedding_provider
from nemoguardrails.embeddings.providers.base import EmbeddingModel
from nemoguardrails.embeddings.providers.registry import EmbeddingProviderRegistry

from evidencerails.errors import SettingsError
from evidencerails.nli.model_file import DESCRIPTION
from evidencerails.nli.windows import content_terms, plain_words
from evidencerails.settings.paths import PACKAGE

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vectors = npt.NDArray[np.float32]

ENGINE, MODEL = "evidencerails", "embedded"
ENCODER_FOLDER = PACKAGE / "measures" / "model"
HASHED_SIZE = 512
_GROUP_LENGTHS = (3, 4)
_TERM_WEIGHT, _WORD_WEIGHT, _GROUP_WEIGHT = 1.0, 0.3, 0.25


class EvidencerailsEmbeddingModel(EmbeddingModel):  # type: ignore[misc]
    """NeMo's interface to the embedded sentence encoder. Loads it at first use.

    Args:
        embedding_model: the `model` of the config; only `embedded` exists.

    Raises:
        SettingsError: another model is named.
    """

    engine_name = ENGINE

    def __init__(self, embedding_model: str = MODEL, **_: Any) -> None:
        if embedding_model != MODEL:
            raise SettingsError(f"embedding engine {ENGINE!r} has no model {embedding_model!r}; available: {MODEL!r}")
        self.embedding_model = embedding_model
        self.version = "encoder" if (ENCODER_FOLDER / DESCRIPTION).is_file() else "hashed-words-1"

    def encode(self, documents: list[str]) -> list[list[float]]:
        """Unit vectors of the documents, in their order."""
        if not documents:
            return []
        vectors = _encoder_vectors(documents) if self.version == "encoder" else hashed_vectors(documents)
        return [[float(value) for value in row] for row in vectors]

    async def encode_async(self, documents: list[str]) -> list[list[float]]:
        """As `encode`, in a thread."""
        return await asyncio.get_running_loop().run_in_executor(None, self.encode, documents)


def register() -> None:
    """Make the engine known to NeMo; once per process, as NeMo refuses a name that it has."""
    if ENGINE not in EmbeddingProviderRegistry().items:
        register_embedding_provider(EvidencerailsEmbeddingModel)


def hashed_vectors(documents: list[str]) -> Vectors:
    """Unit vectors of hashed words and letter groups, shape (n, `HASHED_SIZE`); the same in every process."""
    import numpy as np

    vectors = np.zeros((len(documents), HASHED_SIZE), dtype=np.float32)
    vectors[:, 0] = 1e-3  # a text without words still has a direction
    for place, document in enumerate(documents):
        for feature, weight in _features(document):
            digest = zlib.crc32(feature.encode("utf-8", "replace"))
            vectors[place, digest % HASHED_SIZE] += weight if digest & 0x10000 else -weight
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


def _features(document: str) -> Iterator[tuple[str, float]]:
    for term in content_terms(document):
        yield f"term {term}", _TERM_WEIGHT
    for word in plain_words(document):
        yield f"word {word}", _WORD_WEIGHT
        marked = f"<{word}>"
        for length in _GROUP_LENGTHS:
            for start in range(len(marked) - length + 1):
                yield f"group {marked[start : start + length]}", _GROUP_WEIGHT


def _encoder_vectors(documents: list[str]) -> Vectors:
    from evidencerails.measures.encoder import default_encoder

    return default_encoder().sentence_vectors(documents)
