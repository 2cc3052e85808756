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
        given = list(texts)
        self._counts: Counter[str] = Counter(word for text in given for word in words(text))
        self._total = sum(self._counts.values()) + PSEUDO_COUNT * (len(self._counts) + 1)
        self._low, self._high = self._of_count(len(given)), self._of_count(1)

    def surprise(self, word: str) -> float:
        """-log p of one lower-cased word, in nats."""
        return self._of_count(self._counts[word])

    def novelty(self, surprise: float) -> float:
        """The surprise in [0, 1]: 0 if it is as low as for a word that is once in every text, 1 if it is as high as for
        one that only one of them has."""
        return clipped((surprise - self._low) / (self._high - self._low))

    def _of_count(self, count: int) -> float:
        return -math.log((count + PSEUDO_COUNT) / self._total)

    def surprises(self, text: str) -> Surprise | None:
        """Avg(-log p) and Max(-log p) over the text's words; None if it has none."""
        found = [(self.surprise(word), word) for word in words(text)]
        return Surprise(sum(value for value, _ in found) / len(found), *max(found)) if found else None


class NgramMeasure:
    """SelfCheckGPT's unigram variant: a word that is in the response but hardly in the samples is suspicious.

    The published score, Max(-log p), the stronger one in the paper's table 2, has no upper bound and rises with the
    length of the samples; it is in the details. The score is its novelty.
    """

    name = "ngram"
    version = "1"

    async def measure(self, exchange: Exchange, claims: Sequence[Statement], context: MeasureContext) -> MeasureResult:
        samples = await samples_for(exchange, context)
        scores = await context.nli.run(_scores, exchange.response, samples, claims)
        return result_of(self, scores, details={"samples": len(samples)})


def _scores(response: str, samples: Sequence[str], claims: Sequence[Statement]) -> list[ClaimScore]:
    model = UnigramModel([response, *samples])
    scores = []
    for found in (model.surprises(claim.span.text) for claim in claims):
        if found is None:
            scores.append(ClaimScore(reason="no_words"))
            continue
        details = {"max_neg_logprob": found.maximum, "avg_neg_logprob": found.average, "word": found.word}
        scores.append(ClaimScore(score=model.novelty(found.maximum), details=details))
    return scores


def words(text: str) -> list[str]:
    """The words and numbers of a text, in lower case."""
    return _WORD.findall(text.lower())
