"""How surprising a claim's words are to a unigram model of the response and its samples (SelfCheckGPT, n-gram)."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from evidencerails.exchange import Exchange
from evidencerails.measures.base import ClaimScore, MeasureContext, MeasureResult, Statement, clipped, result_of
from evidencerails.measures.samples import samples_for

PSEUDO_COUNT = 1.0
"""Added to each count (Laplace); keeps a word that nobody counted from costing infinitely much."""
_WORD = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)?")


class Surprise(NamedTuple):
    """-log p of a claim's words, in nats, and which word surprises most."""

    average: float
    maximum: float
    word: str


class UnigramModel:
    """Word frequencies of some texts: p(w) = (count(w) + k) / (T + k V).

    T counts all words, V the different ones, one of them standing for all unseen ones (SelfCheckGPT,
    arXiv 2303.08896, section 5.3; here words instead of spaCy tokens: marks do not count).

    Args:
        texts: the response first or last, and its samples: the order does not matter.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._counts: Counter[str] = Counter(word for text in texts for word in words(text))
        self._total = sum(self._counts.values()) + PSEUDO_COUNT * (len(self._counts) + 1)

    def surprise(self, word: str) -> float:
        """-log p of one lower-cased word, in nats."""
        return self.surprise_of_count(self._counts[word])

    def surprise_of_count(self, count: int) -> float:
        """-log p of a word that was counted so often."""
        return -math.log((count + PSEUDO_COUNT) / self._total)

    def surprises(self, text: str) -> Surprise | None:
        """Avg(-log p) and Max(-log p) over the text's words; None if it has none."""
        found = [(self.surprise(word), word) for word in words(text)]
        return Surprise(sum(value for value, _ in found) / len(found), *max(found)) if found else None


class NgramMeasure:
    """SelfCheckGPT's unigram variant: a word that is in the response but hardly in the samples is suspicious.

    The published score, Max(-log p), the stronger one in the paper's table 2, has no upper bound and rises with the
    length of the samples; it is in the details. The score is linear in it: 0 where it is as low as for a word that is
    once in every text, 1 where it is as high as for a word that only this claim has.
    """

    name = "ngram"
    version = "1"

    async def measure(self, exchange: Exchange, claims: Sequence[Statement], context: MeasureContext) -> MeasureResult:
        samples = await samples_for(exchange, context)
        scores = await context.nli.run(_scores, exchange.response, samples, claims)
        return result_of(self, scores, details={"samples": len(samples)})


def _scores(response: str, samples: Sequence[str], claims: Sequence[Statement]) -> list[ClaimScore]:
    model = UnigramModel([response, *samples])
    low, high = model.surprise_of_count(len(samples) + 1), model.surprise_of_count(1)
    scores = []
    for found in (model.surprises(claim.span.text) for claim in claims):
        if found is None:
            scores.append(ClaimScore(reason="no_words"))
            continue
        details = {"max_neg_logprob": found.maximum, "avg_neg_logprob": found.average, "word": found.word}
        scores.append(ClaimScore(score=clipped((found.maximum - low) / (high - low)), details=details))
    return scores


def words(text: str) -> list[str]:
    """The words and numbers of a text, in lower case."""
    return _WORD.findall(text.lower())
