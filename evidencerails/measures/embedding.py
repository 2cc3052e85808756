"""How near a claim's meaning comes to anything in the samples, by sentence vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from evidencerails.measures.base import ClaimScore, clipped
from evidencerails.measures.by_encoder import EncoderMeasure
from evidencerails.measures.samples import sentences_of

if TYPE_CHECKING:
    from evidencerails.measures.encoder import TextEncoder


class EmbeddingMeasure(EncoderMeasure):
    """1 - mean over samples of the highest cosine between the claim and a sentence of the sample.

    ChainCheck and uqlm compare whole answers in this way; sentences let one wrong one stand out. A cosine below 0
    counts as 0. Weak where one word decides: "in 1887" and "in 1889" are near neighbours.
    """

    name = "embedding"

    def _scores(self, encoder: TextEncoder, claims: Sequence[str], samples: Sequence[str]) -> list[ClaimScore]:
        cosines = _cosines(encoder, claims, samples)
        return [ClaimScore(score=clipped(1.0 - cosine), details={"cosine": cosine}) for cosine in cosines]


def _cosines(encoder: TextEncoder, claims: Sequence[str], samples: Sequence[str]) -> list[float]:
    """For each claim the mean over samples of its highest cosine to a sentence, negative ones taken as 0."""
    if not claims:
        return []
    per_sample = [sentences_of(sample) for sample in samples]
    vectors = encoder.sentence_vectors([*claims, *(text for sentences in per_sample for text in sentences)])
    similarity = vectors[: len(claims)] @ vectors[len(claims) :].T
    sums = [0.0] * len(claims)
    first = 0
    for sentences in per_sample:
        block = similarity[:, first : first + len(sentences)]
        first += len(sentences)
        for place in range(len(claims)):
            sums[place] += max(0.0, float(block[place].max()))
    return [total / len(samples) for total in sums]
