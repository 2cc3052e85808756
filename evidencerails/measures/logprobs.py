"""How sure the model was of the very tokens it wrote, by claim."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple

from evidencerails.exchange import Exchange, Span, TokenLogprob
from evidencerails.measures.base import (
    ClaimScore,
    MeasureContext,
    MeasureResult,
    Statement,
    UnmeasuredError,
    clipped,
    result_of,
)

OTHER_TEXT = "logprobs_of_other_text"
"""Reason where the tokens are not those of the response."""


class PlacedToken(NamedTuple):
    """A token of the response: `response[start:end]`, and its natural-log probability."""

    start: int
    end: int
    logprob: float


def align(response: str, tokens: Sequence[TokenLogprob]) -> list[PlacedToken] | None:
    """The tokens with their places in the response; None unless they concatenate to it.

    White space around the whole may differ, as applications strip answers. Nothing else may: probabilities of another
    text say nothing about this one.
    """
    whole = "".join(token.token for token in tokens)
    body = response.strip()
    if not body or whole.strip() != body:
        return None
    place = (len(response) - len(response.lstrip())) - (len(whole) - len(whole.lstrip()))
    placed = []
    for token in tokens:
        placed.append(PlacedToken(place, place + len(token.token), token.logprob))
        place += len(token.token)
    return placed


class LogprobsMeasure:
    """1 - probability of the claim's tokens, from the log probabilities that came with the response itself.

    That is 1 - exp(mean log p), one minus the geometric mean of the token probabilities; SelfCheckGPT's grey-box
    baseline Avg(-log p) orders claims in the same way (arXiv 2303.08896, section 4.1). Never of a new generation: that
    would measure another text.
    """

    name = "logprobs"
    version = "1"

    async def measure(self, exchange: Exchange, claims: Sequence[Statement], context: MeasureContext) -> MeasureResult:
        """Score each claim by the tokens that overlap its span."""
        if not exchange.logprobs:
            raise UnmeasuredError("no_logprobs")
        scores = await context.nli.run(_scores, exchange, claims)
        return result_of(self, scores, details={"tokens": len(exchange.logprobs)})


def _scores(exchange: Exchange, claims: Sequence[Statement]) -> list[ClaimScore]:
    placed = align(exchange.response, exchange.logprobs)
    if placed is None:
        raise UnmeasuredError(OTHER_TEXT)
    # Without white space and bare marks: which one the model picked says nothing about a fact.
    telling = [one for one in placed if any(map(str.isalnum, exchange.response[max(0, one.start) : one.end]))]
    ends = [token.end for token in telling]
    return [_score(telling[bisect_right(ends, claim.span.start) :], claim.span) for claim in claims]


def _score(tokens: Sequence[PlacedToken], span: Span) -> ClaimScore:
    """Score of a span; the tokens begin with the first that reaches into it."""
    values = [token.logprob for token in takewhile(lambda token: token.start < span.end, tokens)]
    if not values:
        return ClaimScore(reason="no_tokens")
    mean = math.fsum(values) / len(values)
    details = {"mean_logprob": mean, "min_logprob": min(values), "tokens": len(values)}
    return ClaimScore(score=clipped(1.0 - math.exp(mean)), details=details)
