"""How near the samples come to what a claim says: token by token (SelfCheckGPT, BERTScore), or by sentence vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from evidencerails.exchange import Exchange
from evidencerails.measures.base import ClaimScore, MeasureContext, MeasureResult, Statement, clipped, result_of
from evidencerails.measures.encoder import TextEncoder, default_encoder
from evidencerails.measures.samples import samples_for, sentences_of

if TYPE_CHECKING:
    from evidencerails.measures.encoder import Vectors

UNRELATED_F1 = {"evidencerails-embedding-minilm-l6": 0.15}
"""BERTScore F1 of two sentences that have nothing in common, by encoder: mean over 1,200 random pairs of MultiNLI
premises. Scores are rescaled so that this is 0, as BERTScore's `rescale_with_baseline` does."""


def bertscore_f1(candidate: Vectors, reference: Vectors) -> float:
    """BERTScore F1 by greedy matching (arXiv 1904.09675, section 3), without idf weights; in [-1, 1].

    Recall is the mean over reference tokens of the highest cosine to a candidate token, precision the other way round.

    Args:
        candidate, reference: unit vectors of tokens, shape (tokens, d); an empty one gives 0.
    """
    if not len(candidate) or not len(reference):
        return 0.0
    similarity = candidate @ reference.T
    precision, recall = float(similarity.max(axis=1).mean()), float(similarity.max(axis=0).mean())
    return 0.0 if precision + recall <= 0 else 2 * precision * recall / (precision + recall)


class EncoderMeasure:
    """Base of the measures `bertscore` and `embedding`.

    Args:
        encoder: gives the vectors; the embedded one if None.
    """

    name: str
    version = "1"

    def __init__(self, encoder: TextEncoder | None = None) -> None:
        self._encoder = encoder

    async def measure(self, exchange: Exchange, claims: Sequence[Statement], context: MeasureContext) -> MeasureResult:
        encoder: TextEncoder = self._encoder or default_encoder()
        samples = await samples_for(exchange, context, encoder.languages)
        texts = [claim.text for claim in claims]
        scores = await context.nli.run(self.scores, encoder, texts, samples) if texts else []
        version = f"{encoder.name}@{encoder.version}"
        return result_of(self, scores, version=version, details={"samples": len(samples)})

    def scores(self, encoder: TextEncoder, claims: Sequence[str], samples: Sequence[str]) -> list[ClaimScore]:
        """One score for each claim. Blocks."""
        raise NotImplementedError


class BertScoreMeasure(EncoderMeasure):
    """S(i) = 1 - mean over samples of max over the sample's sentences of BERTScore(claim i, sentence).

    SelfCheckGPT with BERTScore (arXiv 2303.08896, section 5.1; NeMo Guardrails has it as a TODO). Differences: token
    vectors are those of the encoder inside the package (all-MiniLM-L6-v2, last layer) instead of RoBERTa-large.
    """

    name = "bertscore"

    def scores(self, encoder: TextEncoder, claims: Sequence[str], samples: Sequence[str]) -> list[ClaimScore]:
        means = [sum(row) / len(samples) for row in _best_f1(encoder, claims, samples)]
        return [ClaimScore(score=_drift(f1, encoder), details={"f1": f1}) for f1 in means]


def sample_drifts(encoder: TextEncoder, claims: Sequence[str], samples: Sequence[str]) -> list[list[float]]:
    """How far each sample is from saying each claim, a row for a claim, in [0, 1]; 1: nothing in common. Blocks."""
    return [[_drift(f1, encoder) for f1 in row] for row in _best_f1(encoder, claims, samples)]


def _best_f1(encoder: TextEncoder, claims: Sequence[str], samples: Sequence[str]) -> list[list[float]]:
    """For each claim its best F1 in each sample."""
    per_sample = [sentences_of(sample) for sample in samples]
    vectors = iter(encoder.token_vectors([*claims, *(text for sentences in per_sample for text in sentences)]))
    claim_vectors = [next(vectors) for _ in claims]
    sample_vectors = [[next(vectors) for _ in sentences] for sentences in per_sample]
    return [
        [max((bertscore_f1(claim, one) for one in sentences), default=0.0) for sentences in sample_vectors]
        for claim in claim_vectors
    ]


def _drift(f1: float, encoder: TextEncoder) -> float:
    floor = UNRELATED_F1.get(encoder.name, 0.0)
    return clipped(1.0 - (f1 - floor) / (1.0 - floor))


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
