"""In how many different meanings the model answers: entropy over clusters of answers that entail each other."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from evidencerails.exchange import Exchange
from evidencerails.measures.base import ClaimScore, MeasureContext, MeasureResult, Statement, UnmeasuredError, clipped
from evidencerails.measures.samples import DECIDES_FROM, relations, samples_for, sentences_of

RESPONSE_LEVEL = "response_level"
"""Reason of a claim's missing score: this measure speaks about the whole response only."""
MAX_SENTENCES = 20
"""Of one answer. Answers of more sentences hardly ever entail each other whole, which would say nothing about the
model; and the pairs grow with the square of the answers."""
SHORT_ANSWER_WORDS = 6
"""Up to so many words an answer is read together with its question: "Paris" entails nothing by itself."""


def clusters_of(count: int, are_equivalent: Callable[[int, int], bool]) -> list[list[int]]:
    """Numbers 0 to count - 1 in groups: each joins the first group whose first member it is equivalent to."""
    clusters: list[list[int]] = []
    for item in range(count):
        home = next((cluster for cluster in clusters if are_equivalent(cluster[0], item)), None)
        if home is None:
            clusters.append([item])
        else:
            home.append(item)
    return clusters


def entropy(sizes: Sequence[int]) -> float:
    """Discrete entropy of a partition in nats: - sum p ln p with p = size / total; 0.0 for one cluster or none."""
    total = sum(sizes)
    return 0.0 - math.fsum(size / total * math.log(size / total) for size in sizes if size)


def normalised_entropy(sizes: Sequence[int]) -> float | None:
    """Entropy in [0, 1]: 0 if all items are in one cluster, 1 if each has its own; None for fewer than two items."""
    total = sum(sizes)
    return None if total < 2 else clipped(entropy(sizes) / math.log(total))


class SemanticEntropyMeasure:
    """Discrete semantic entropy of the response and its samples, divided by the highest possible one, ln M.

    Farquhar et al., Nature 630 (2024): answers share a meaning if each entails the other; clusters are formed greedily.
    A longer answer entails another if it entails every sentence of it. Speaks about the response, not about claims.
    """

    name = "semantic_entropy"
    version = "1"

    async def measure(self, exchange: Exchange, claims: Sequence[Statement], context: MeasureContext) -> MeasureResult:
        samples = await samples_for(exchange, context, context.nli.languages)
        answers, question = [exchange.response, *samples], exchange.user_input.strip()
        # If one is short, all get the question: "Paris" and "It is Paris." should entail each other.
        is_short = bool(question) and any(len(answer.split()) <= SHORT_ANSWER_WORDS for answer in answers)
        if is_short:
            answers = [f"{question} {answer.strip()}" for answer in answers]
        # What another answer has to entail of each: its sentences, or the short answer with its question.
        sentences = [[text] for text in answers] if is_short else await context.nli.run(_split, answers)
        if (longest := max(map(len, sentences))) > MAX_SENTENCES:
            raise UnmeasuredError(f"too_long: {longest} sentences, at most {MAX_SENTENCES}")
        entails = await _entailments(answers, sentences, context)
        clusters = clusters_of(len(answers), lambda one, other: entails[one][other] and entails[other][one])
        sizes = [len(cluster) for cluster in clusters]
        own = next(cluster for cluster in clusters if 0 in cluster)
        return MeasureResult(
            name=self.name,
            version=f"{self.version}+{context.nli.identity}",
            claims=tuple(ClaimScore(reason=RESPONSE_LEVEL) for _ in claims),
            score=normalised_entropy(sizes),
            details={
                "clusters": clusters,
                "entropy_nats": entropy(sizes),
                "share_of_own_meaning": len(own) / sum(sizes),
            },
        )


def _split(answers: Sequence[str]) -> list[list[str]]:
    return [sentences_of(text) for text in answers]


async def _entailments(
    answers: Sequence[str], sentences: Sequence[Sequence[str]], context: MeasureContext
) -> list[list[bool]]:
    """`found[i][j]`: answer i entails every sentence of answer j. Equal answers entail each other in any case."""
    plain = [" ".join(answer.casefold().split()) for answer in answers]
    statements = list(dict.fromkeys(sentence for some in sentences for sentence in some))
    found = dict(zip(statements, await relations(statements, answers, context), strict=True))
    return [
        [
            plain[i] == plain[j] or all(found[sentence][i].entailment >= DECIDES_FROM for sentence in sentences[j])
            for j in range(len(answers))
        ]
        for i in range(len(answers))
    ]
