"""How near a claim's meaning comes to anything in the samples, by sentence vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from groundrails.exchange import Exchange
from groundrails.scoring.base import ClaimScore, MeasureResult, Statement, clipped, result_of, unmeasured
from groundrails.scoring.encoder import TextEncoder, default_encoder
from groundrails.scoring.samples import readable_samples, sentences_of

if TYPE_CHECKING:
    from groundrails.checks.base import CheckContext


class EmbeddingMeasure:
    """1 - mean over samples of the highest cosine between the claim and a sentence of the sample.

    ChainCheck and uqlm compare whole answers in this way; sentences let one wrong one stand out. A cosine below 0
    counts as 0. Weak where one word decides: "in 1887" and "in 1889" are near neighbours.

    Args:
        encoder: gives sentence vectors; the embedded one if None.
    """

    name = "embedding"
    version = "1"

    def __init__(self, encoder: TextEncoder | None = None) -> None:
        self._encoder = encoder

    async def measure(self, exchange: Exchange, claims: Sequence[Statement], context: CheckContext) -> MeasureResult:
        """Score each claim against the samples."""
        encoder = self._encoder or default_encoder()
        drawn = await readable_samples(exchange, context, encoder.languages)
        if not drawn.texts:
            return unmeasured(self, claims, drawn.reason)
        cosines = await context.nli.run(_cosines, encoder, [claim.text for claim in claims], drawn.texts)
        scores = [ClaimScore(score=clipped(1.0 - cosine), details={"cosine": cosine}) for cosine in cosines]
        version = f"{self.version}+{encoder.name}@{encoder.version}"
        return result_of(self, scores, version=version, details={"samples": len(drawn.texts)})


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
