"""How near a claim's meaning comes to anything in the samples, by sentence vectors."""

from __future__ import annotations

from collections.abc import Sequence

from evidencerails.measures.base import ClaimScore, clipped
from evidencerails.measures.encoder import TextEncoder
from evidencerails.measures.samples import EncoderMeasure, sentences_of


class EmbeddingMeasure(EncoderMeasure):
    """1 - mean over samples of the highest cosine between the claim and a sentence of the sample.

    ChainCheck and uqlm compare whole answers in this way; sentences let one wrong one stand out. A cosine below 0
    counts as 0. Weak where one word decides: "in 1887" and "in 1889" are near neighbours.
    """

    name = "embedding"

    def scores(self, encoder: TextEncoder, claims: Sequence[str], samples: Sequence[str]) -> list[ClaimScore]:
        import numpy as np

        per_sample = [sentences_of(sample) for sample in samples]
        vectors = encoder.sentence_vectors([*claims, *(text for sentences in per_sample for text in sentences)])
        similarity = vectors[: len(claims)] @ vectors[len(claims) :].T
        starts = np.cumsum([0, *map(len, per_sample[:-1])])
        cosines = np.maximum(0.0, np.maximum.reduceat(similarity, starts, axis=1)).mean(axis=1).tolist()
        return [ClaimScore(score=clipped(1.0 - cosine), details={"cosine": cosine}) for cosine in cosines]
