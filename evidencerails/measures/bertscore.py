"""How well the samples say what a claim says, token by token (SelfCheckGPT, BERTScore)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from evidencerails.measures.base import ClaimScore, clipped
from evidencerails.measures.by_encoder import EncoderMeasure
from evidencerails.measures.samples import sentences_of

if TYPE_CHECKING:
    from evidencerails.measures.encoder import TextEncoder, Vectors

UNRELATED_F1: Mapping[str, float] = {"evidencerails-embedding-minilm-l6": 0.15, "evidencerails-nli-minilm-l6": 0.47}
"""BERTScore F1 of two sentences that have nothing in common, by encoder: means over 1,200 random pairs of MultiNLI
premises. Scores are rescaled so that this is 0, as BERTScore's `rescale_with_baseline` does. The encoder of the NLI
classifier brings unrelated sentences near each other: it separates wordings less well than one made for likeness."""


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

    def _scores(self, encoder: TextEncoder, claims: Sequence[str], samples: Sequence[str]) -> list[ClaimScore]:
        floor = UNRELATED_F1.get(encoder.name, 0.0)
        return [_claim_score(value, floor) for value in _consistencies(encoder, claims, samples)]

    def _details(self, encoder: TextEncoder) -> dict[str, float]:
        return {"unrelated_f1": UNRELATED_F1.get(encoder.name, 0.0)}


def sample_drifts(encoder: TextEncoder, claims: Sequence[str], samples: Sequence[str]) -> list[list[float]]:
    """How far each sample is from saying each claim, a row for a claim, in [0, 1]; 1: nothing in common. Blocks."""
    floor = UNRELATED_F1.get(encoder.name, 0.0)
    return [[_drift(f1, floor) for f1 in row] for row in _best_f1(encoder, claims, samples)]


def _consistencies(encoder: TextEncoder, claims: Sequence[str], samples: Sequence[str]) -> list[float]:
    """For each claim the mean over samples of its best F1 in the sample."""
    return [sum(row) / len(samples) for row in _best_f1(encoder, claims, samples)]


def _best_f1(encoder: TextEncoder, claims: Sequence[str], samples: Sequence[str]) -> list[list[float]]:
    """For each claim its best F1 in each sample."""
    per_sample = [sentences_of(sample) for sample in samples]
    vectors = iter(encoder.token_vectors([*claims, *(text for sentences in per_sample for text in sentences)]))
    claim_vectors = [next(vectors) for _ in claims]
    sample_vectors = [[next(vectors) for _ in sentences] for sentences in per_sample]
    return [list(_best_matches(claim, sample_vectors)) for claim in claim_vectors]


def _best_matches(claim: Vectors, samples: Sequence[Sequence[Vectors]]) -> Iterator[float]:
    for sentences in samples:
        yield max((bertscore_f1(claim, sentence) for sentence in sentences), default=0.0)


def _claim_score(f1: float, floor: float) -> ClaimScore:
    return ClaimScore(score=_drift(f1, floor), details={"f1": f1})


def _drift(f1: float, floor: float) -> float:
    return clipped(1.0 - (f1 - floor) / (1.0 - floor))
