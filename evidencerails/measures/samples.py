"""The samples that measures compare a response with: those given, else drawn once a turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from evidencerails.exchange import Exchange
from evidencerails.measures.languages import unknown_language

if TYPE_CHECKING:
    from evidencerails.checks.base import CheckContext
    from evidencerails.config import ConsistencySettings

SAMPLES_BY_RISK = 3
"""Samples where the settings leave the number to the risk: a measure knows no risk yet, this is the middle step."""


class Drawn(NamedTuple):
    """Texts of the samples; with none, the reason."""

    texts: tuple[str, ...]
    reason: str


async def samples_for(exchange: Exchange, context: CheckContext) -> Drawn:
    """The exchange's own samples if it has any, else as many as the settings ask for.

    Raises:
        LlmError: every request failed.
    """
    if exchange.samples:
        return Drawn(tuple(sample.text for sample in exchange.samples), "")
    if context.sampler is None:
        return Drawn((), "no_model")
    if context.sampler.unavailable:
        return Drawn((), context.sampler.unavailable)
    drawn = await context.sampler.draw(wanted_samples(context.config.consistency))
    texts = tuple(sample.text for sample in drawn if sample.text.strip())
    return Drawn(texts, "" if texts else "no_samples")


async def readable_samples(exchange: Exchange, context: CheckContext, languages: tuple[str, ...]) -> Drawn:
    """`samples_for`, unless the response is in a language that is none of these: that is the reason then."""
    if reason := await context.nli.run(unknown_language, exchange.response, languages):
        return Drawn((), reason)
    return await samples_for(exchange, context)


def wanted_samples(settings: ConsistencySettings) -> int:
    """How many samples a measure asks for."""
    return settings.samples if isinstance(settings.samples, int) else SAMPLES_BY_RISK


def sentences_of(text: str) -> list[str]:
    """The sentences of a sample; the whole text if it cannot be split."""
    from evidencerails.text.sentences import split_sentences

    return [span.text for span in split_sentences(text) if span.text.strip()] or [text]
