"""Confabulations: specific, underivable and confident.

confabulation(c) <=> specific(c) and not derivable(c, C) and confidence(c) > threshold

The checks say what is specific and not derivable: a claim with a number, date or name that the evidence lacks. Here the
third part is decided: a claim that is hedged, or that the model itself held for unlikely, is a contextual error and no
confabulation, since no reader takes it for certain.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from evidencerails.exchange import Exchange, Span
from evidencerails.report import CheckResult, Finding

MIN_CONFIDENCE = 0.5
"""Mean probability of its tokens from which the model was sure of a claim, where log probabilities are known."""
_HEDGES = re.compile(
    r"\b(?:(?-i:may)|might|could|perhaps|possibly|probably|presumably|likely|unlikely|apparently|seemingly|reportedly|"
    r"allegedly|supposedly|maybe|roughly speaking|it seems|it appears|seems? to|appears? to|"
    r"i (?:think|believe|guess|assume|suspect)|"
    r"as far as i know|not (?:sure|certain|entirely clear)|unsure|uncertain|unclear|if i (?:recall|remember))\b",
    re.IGNORECASE,
)


def with_confabulations(results: Sequence[CheckResult], exchange: Exchange) -> list[CheckResult]:
    """The results; of the claims called confabulatory those stay so that were stated with confidence."""
    offsets = _token_offsets(exchange)

    def settled(finding: Finding) -> Finding:
        if finding.category != "confabulatory" or finding.kind != "unsupported_claim" or finding.span is None:
            return finding
        if is_confident(finding.span, exchange, offsets):
            return finding
        return finding.model_copy(update={"category": "contextual"})

    return [one.model_copy(update={"findings": tuple(map(settled, one.findings))}) for one in results]


def is_confident(span: Span, exchange: Exchange, offsets: Sequence[int] = ()) -> bool:
    """True if the words do not hedge, and the model gave them at least `MIN_CONFIDENCE` where that is known."""
    if _HEDGES.search(span.text):
        return False
    confidence = confidence_in(span, exchange, offsets)
    return confidence is None or confidence >= MIN_CONFIDENCE


def confidence_in(span: Span, exchange: Exchange, offsets: Sequence[int] = ()) -> float | None:
    """Mean probability of the tokens of a span, in [0, 1]; None without log probabilities of this very response."""
    offsets = offsets or _token_offsets(exchange)
    chosen = [
        token.logprob
        for start, token in zip(offsets, exchange.logprobs, strict=False)
        if start < span.end and start + len(token.token) > span.start
    ]
    return sum(math.exp(logprob) for logprob in chosen) / len(chosen) if chosen else None


def _token_offsets(exchange: Exchange) -> list[int]:
    """Where each token of the log probabilities begins in the response; empty if they are of another text."""
    if not exchange.logprobs or "".join(token.token for token in exchange.logprobs) != exchange.response:
        return []
    offsets, at = [], 0
    for token in exchange.logprobs:
        offsets.append(at)
        at += len(token.token)
    return offsets
