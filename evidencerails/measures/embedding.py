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
        """See `EncoderMeasure.scores`."""
        per_sample = [sentences_of(sample) for sample in samples]
        vectors = encoder.sentence_vectors([*claims, *(text for sentences in per_sample for text in sentences)])
        similarity = vectors[: len(claims)] @ vectors[len(claims) :].T
        sums, first = [0.0] * len(claims), 0
        for sentences in per_sample:
            best = similarity[:, first : first + len(sentences)].max(axis=1)
            sums = [total + max(0.0, float(cosine)) for total, cosine in zip(sums, best, strict=True)]
            first += len(sentences)
        cosines = [total / len(samples) for total in sums]
        return [ClaimScore(score=clipped(1.0 - cosine), details={"cosine": cosine}) for cosine in cosines]
