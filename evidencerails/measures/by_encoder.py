"""Measures that compare claims with samples by an encoder's vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from evidencerails.exchange import Exchange
from evidencerails.measures.base import ClaimScore, MeasureResult, Statement, result_of, unmeasured
from evidencerails.measures.encoder import TextEncoder, default_encoder
from evidencerails.measures.samples import readable_samples

if TYPE_CHECKING:
    from evidencerails.checks.base import CheckContext


class EncoderMeasure:
    """Base of the measures `bertscore` and `embedding`.

    Args:
        encoder: gives the vectors; the embedded one if None.
    """

    name: str
    version = "1"

    def __init__(self, encoder: TextEncoder | None = None) -> None:
        self._encoder = encoder

    async def measure(self, exchange: Exchange, claims: Sequence[Statement], context: CheckContext) -> MeasureResult:
        """Score each claim against the samples."""
        encoder: TextEncoder = self._encoder or default_encoder()
        drawn = await readable_samples(exchange, context, encoder.languages)
        if not drawn.texts:
            return unmeasured(self, claims, drawn.reason)
        scores = await context.nli.run(self._scores, encoder, [claim.text for claim in claims], drawn.texts)
        version = f"{self.version}+{encoder.name}@{encoder.version}"
        details = {"samples": len(drawn.texts), **self._details(encoder)}
        return result_of(self, scores, version=version, details=details)

    def _scores(self, encoder: TextEncoder, claims: Sequence[str], samples: Sequence[str]) -> list[ClaimScore]:
        """One score for each claim. Blocks."""
        raise NotImplementedError

    def _details(self, encoder: TextEncoder) -> dict[str, float]:
        """What the scores rest on besides the samples."""
        return {}
