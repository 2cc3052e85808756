"""One measure by itself: its number for a response and for each claim, without any check or decision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from evidencerails.exchange import EvidenceInput, Exchange, PromptInput, Sample
from evidencerails.measures.base import MeasureResult, run_measure
from evidencerails.measures.registry import get_measure
from evidencerails.text.claims import extract_claims

if TYPE_CHECKING:
    from evidencerails.guard import Guard


async def measure(
    name: str,
    response: str,
    *,
    guard: Guard | None = None,
    evidence: EvidenceInput = None,
    prompt: PromptInput = None,
    samples: Sequence[str | Sample] | None = None,
    logprobs: Sequence[Any] | None = None,
) -> MeasureResult:
    """What the measure `name` says about a response and the claims that the rules find in it.

        result = await measure("ngram", "Paris has 2 million people.", samples=["Paris has 11 million people."])
        result.score, [claim.score for claim in result.claims]

    Args:
        guard: lends its models and settings; one with the default settings if None.

    Raises:
        SettingsError: there is no such measure.
        InputError: an argument has a shape that cannot be read. What goes wrong later is in the result instead.
    """
    from evidencerails.guard import Guard

    chosen = get_measure(name)
    exchange = Exchange.of(response, evidence=evidence, prompt=prompt, samples=samples, logprobs=logprobs or ())
    own = guard or Guard()
    try:
        context, _ = own.context(exchange)
        claims = await context.nli.run(extract_claims, response, context.splitter)
        return await run_measure(chosen, exchange, claims, context)
    finally:
        if guard is None:
            own.close()
