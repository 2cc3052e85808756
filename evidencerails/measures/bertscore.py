"""How well the samples say what a claim says, token by token (SelfCheckGPT, BERTScore)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from evidencerails.measures.base import ClaimScore, clipped
from evidencerails.measures.encoder import TextEncoder
from evidencerails.measures.samples import EncoderMeasure, sentences_of

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
