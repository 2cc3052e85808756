"""The embedding engine of NeMo's dialog rails, offline: `{type: embeddings, engine: evidencerails, model: embedded}`.

NeMo looks user messages up in an index of sentence vectors; its default model is downloaded at first use, and without a
network the turn dies. This engine takes the vectors from the encoder inside the package.

`encode` and `encode_async` are all that NeMo 0.24 asks of an engine; it makes one object for each engine and model.
"""

from __future__ import annotations

import asyncio
from typing import Any

from nemoguardrails.embeddings.providers import register_embedding_provider
from nemoguardrails.embeddings.providers.base import EmbeddingModel
from nemoguardrails.embeddings.providers.registry import EmbeddingProviderRegistry

from evidencerails.errors import SettingsError

ENGINE, MODEL = "evidencerails", "embedded"


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

    def encode(self, documents: list[str]) -> list[list[float]]:
        """Unit vectors of the documents, in their order."""
        from evidencerails.measures.encoder import default_encoder

        if not documents:
            return []
        return [[float(value) for value in row] for row in default_encoder().sentence_vectors(documents)]

    async def encode_async(self, documents: list[str]) -> list[list[float]]:
        return await asyncio.get_running_loop().run_in_executor(None, self.encode, documents)


def register() -> None:
    """Make the engine known to NeMo; once per process, as NeMo refuses a name that it has."""
    if ENGINE not in EmbeddingProviderRegistry().items:
        register_embedding_provider(EvidencerailsEmbeddingModel)
