"""Log probabilities: of the very response, aligned by characters, or none at all."""

from __future__ import annotations

import math

import pytest
from scoring_tools import MakeContext, claims_of, exchange_of

from evidencerails.exchange import TokenLogprob
from evidencerails.measures.logprobs import LogprobsMeasure, PlacedToken, align

RESPONSE = "Ann paints. Ann swims."


def tokens(*pairs: tuple[str, float]) -> list[TokenLogprob]:
    return [TokenLogprob(token=text, logprob=value) for text, value in pairs]


TOKENS = tokens(("Ann", -0.1), (" paints", -0.3), (".", -5.0), (" Ann", -0.2), (" sw", -1.0), ("ims", -2.0), (".", 0.0))


async def test_score_is_one_minus_the_geometric_mean_of_the_probabilities(make_context: MakeContext) -> None:
    claims = claims_of(RESPONSE, "Ann paints.", "Ann swims.")
    result = await LogprobsMeasure().measure(exchange_of(RESPONSE, logprobs=TOKENS), claims, make_context())
    # Full stops do not count: (-.1 - .3) / 2 = -.2 and (-.2 - 1 - 2) / 3 = -1.0667
    assert [claim.score for claim in result.claims] == pytest.approx([1 - math.exp(-0.2), 1 - math.exp(-3.2 / 3)])
    assert result.claims[1].details == {"mean_logprob": pytest.approx(-3.2 / 3), "min_logprob": -2.0, "tokens": 3}


@pytest.mark.parametrize(
    "other",
    [
        tokens(("Ann", -0.1), (" sings.", -0.3)),  # another text
        tokens(("Ann", -0.1), (" paints.", -0.3)),  # the beginning only
        [*TOKENS, *tokens((" Bob", -0.1))],  # more than the response
        tokens(("\ufffd", -0.1)),
    ],
)
async def test_tokens_of_another_text_are_refused(make_context: MakeContext, other: list[TokenLogprob]) -> None:
    claims = claims_of(RESPONSE, "Ann paints.")
    result = await LogprobsMeasure().measure(exchange_of(RESPONSE, logprobs=other), claims, make_context())
    assert (result.score, result.reason) == (None, "logprobs_of_other_text")


async def test_without_logprobs_nothing_is_measured_and_nothing_is_generated(
    make_context: MakeContext, server: object
) -> None:
    context = make_context(server=server, prompt="Who is Ann?")
    result = await LogprobsMeasure().measure(exchange_of(RESPONSE), claims_of(RESPONSE, "Ann paints."), context)
    assert (result.score, result.reason) == (None, "no_logprobs")
    assert server.requests == []  # type: ignore[attr-defined]


def test_white_space_around_the_whole_may_differ() -> None:
    placed = align("Ann.", tokens(("\n", -0.5), (" Ann", -0.1), (".\n", -0.2)))
    assert placed == [PlacedToken(-2, -1, -0.5), PlacedToken(-1, 3, -0.1), PlacedToken(3, 5, -0.2)]
    assert align("  Ann.", tokens(("Ann.", -0.1))) == [PlacedToken(2, 6, -0.1)]


def test_an_empty_response_has_no_tokens() -> None:
    assert align("", []) is None
    assert align("  ", tokens((" ", -0.1))) is None


async def test_a_claim_of_marks_alone_has_no_tokens(make_context: MakeContext) -> None:
    exchange = exchange_of("Ann …", logprobs=tokens(("Ann", -0.1), (" …", -3.0)))
    result = await LogprobsMeasure().measure(exchange, claims_of("Ann …", "…"), make_context())
    assert (result.claims[0].score, result.claims[0].reason) == (None, "no_tokens")
