"""How surprising a claim's words are to a unigram model of the response and its samples (SelfCheckGPT, n-gram)."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from evidencerails.exchange import Exchange
from evidencerails.measures.base import (
    ClaimScore,
    MeasureContext,
    MeasureResult,
    Statement,
    clipped,
    result_of,
    unmeasured,
)
from evidencerails.measures.samples import samples_for

Statistic = Literal["max", "avg"]

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
        pseudo_count: k.
    """

    def __init__(self, texts: Iterable[str], pseudo_count: float = PSEUDO_COUNT) -> None:
        self._counts: Counter[str] = Counter(word for text in texts for word in words(text))
        self._k = pseudo_count
        self._total = sum(self._counts.values()) + pseudo_count * (len(self._counts) + 1)

    def surprise(self, word: str) -> float:
        """-log p of one lower-cased word, in nats; infinite for an unseen one without smoothing."""
        return self.surprise_of_count(self._counts[word])

    def surprise_of_count(self, count: int) -> float:
        """-log p of a word that was counted so often."""
        weight = count + self._k
        return -math.log(weight / self._total) if weight > 0 else math.inf

    def surprises(self, text: str) -> Surprise | None:
        """Avg(-log p) and Max(-log p) over the text's words; None if it has none."""
        found = [(self.surprise(word), word) for word in words(text)]
        if not found:
            return None
        values = [value for value, _ in found]
        return Surprise(sum(values) / len(values), max(values), max(found)[1])


class NgramMeasure:
    """SelfCheckGPT's unigram variant: a word that is in the response but hardly in the samples is suspicious.

    The published score, Max(-log p) or Avg(-log p), has no upper bound and rises with the length of the samples; it is
    in the details. The score is linear in it: 0 where it is as low as for a word that is once in every text, 1
    where it is as high as for a word that only this claim has.

    Args:
        statistic: `max` (the stronger one in the paper's table 2) or `avg`.
    """

    name = "ngram"
    version = "1"

    def __init__(self, statistic: Statistic = "max") -> None:
        self._statistic = statistic

    async def measure(self, exchange: Exchange, claims: Sequence[Statement], context: MeasureContext) -> MeasureResult:
        """Score each claim by the words of its span."""
        drawn = await samples_for(exchange, context)
        if not drawn.texts:
            return unmeasured(self, claims, drawn.reason)
        scores = await context.nli.run(self._scores, exchange.response, drawn.texts, claims)
        return result_of(self, scores, details={"samples": len(drawn.texts), "statistic": self._statistic})

    def _scores(self, response: str, samples: Sequence[str], claims: Sequence[Statement]) -> list[ClaimScore]:
        model = UnigramModel([response, *samples])
        return [self._score(model, claim, texts=len(samples) + 1) for claim in claims]

    def _score(self, model: UnigramModel, claim: Statement, texts: int) -> ClaimScore:
        found = model.surprises(claim.span.text)
        if found is None:
            return ClaimScore(reason="no_words")
        value = found.maximum if self._statistic == "max" else found.average
        low, high = model.surprise_of_count(texts), model.surprise_of_count(1)
        details = {"max_neg_logprob": found.maximum, "avg_neg_logprob": found.average, "word": found.word}
        return ClaimScore(score=clipped((value - low) / (high - low)), details=details)


def words(text: str) -> list[str]:
    """The words and numbers of a text, in lower case."""
    return _WORD.findall(text.lower())
