"""The samples that measures compare a response with (those given, else drawn once a turn), and the base of the measures
that do so by vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from evidencerails.config import ConsistencySettings
from evidencerails.exchange import Exchange
from evidencerails.measures.base import ClaimScore, MeasureContext, MeasureResult, Statement, result_of, unmeasured
from evidencerails.measures.encoder import TextEncoder, default_encoder
from evidencerails.measures.languages import unknown_language
from evidencerails.text.sentences import split_sentences

SAMPLES_BY_RISK = 3
"""Samples where the settings leave the number to the risk: a measure knows no risk yet, this is the middle step."""


class Drawn(NamedTuple):
    """Texts of the samples; with none, the reason."""

    texts: tuple[str, ...]
    reason: str


async def samples_for(exchange: Exchange, context: MeasureContext, languages: tuple[str, ...] | None = None) -> Drawn:
    """The exchange's own samples if it has any, else as many as the settings ask for.

    Args:
        languages: of the model that compares; a response in another one gets no samples. None if any can be compared.

    Raises:
        LlmError: every request failed.
    """
    if languages and (reason := await context.nli.run(unknown_language, exchange.response, languages)):
        return Drawn((), reason)
    if exchange.samples:
        return Drawn(tuple(sample.text for sample in exchange.samples), "")
    if context.sampler is None:
        return Drawn((), "no_model")
    if context.sampler.unavailable:
        return Drawn((), context.sampler.unavailable)
    drawn = await context.sampler.draw(_wanted(context.config.consistency))
    texts = tuple(sample.text for sample in drawn if sample.text.strip())
    return Drawn(texts, "" if texts else "no_samples")


def _wanted(settings: ConsistencySettings) -> int:
    return settings.samples if isinstance(settings.samples, int) else SAMPLES_BY_RISK


def sentences_of(text: str) -> list[str]:
    """The sentences of a sample; the whole text if it cannot be split."""
    return [span.text for span in split_sentences(text) if span.text.strip()] or [text]


class EncoderMeasure:
    """Base of the measures `bertscore` and `embedding`.

    Args:
        encoder: gives the vectors; the embedded one if None.
    """

    name: str
    version = "1"

    def __init__(self, encoder: TextEncoder | None = None) -> None:
        self._encoder = encoder

    async def measure(self, exchange: Exchange, claims: Sequence[Statement], context: MeasureContext) -> MeasureResult:
        """Score each claim against the samples."""
        encoder: TextEncoder = self._encoder or default_encoder()
        drawn = await samples_for(exchange, context, encoder.languages)
        if not drawn.texts:
            return unmeasured(self, claims, drawn.reason)
        texts = [claim.text for claim in claims]
        scores = await context.nli.run(self.scores, encoder, texts, drawn.texts) if texts else []
        version = f"{self.version}+{encoder.name}@{encoder.version}"
        return result_of(self, scores, version=version, details={"samples": len(drawn.texts)})

    def scores(self, encoder: TextEncoder, claims: Sequence[str], samples: Sequence[str]) -> list[ClaimScore]:
        """One score for each claim. Blocks."""
        raise NotImplementedError
