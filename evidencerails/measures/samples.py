"""What measures compare a response with: samples (those given, else drawn once a turn), by NLI."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from evidencerails.exchange import Exchange, Passage
from evidencerails.measures.aggregate import risk_level
from evidencerails.measures.base import MeasureContext, UnmeasuredError, run_measures
from evidencerails.measures.logprobs import LogprobsMeasure
from evidencerails.measures.nli import NliMeasure
from evidencerails.report import RiskLevel
from evidencerails.text.claims import extract_claims
from evidencerails.text.language import unknown_language
from evidencerails.text.sentences import split_sentences
from evidencerails.verdict.reading import ClaimEvidence, read_claims

SAMPLES_BY_RISK: dict[RiskLevel, int] = {"low": 1, "medium": 3, "high": 5}
"""Samples to draw, by the estimated risk of the response."""
UNKNOWN_RISK: RiskLevel = "medium"
"""Risk of a response without any signal: no evidence, no log probabilities."""


class WantedSamples(NamedTuple):
    samples: int
    signals: dict[str, float] | None = None
    """What the estimated risk rests on, each in [0, 1]; None where the settings give a number."""


async def wanted_samples(exchange: Exchange, context: MeasureContext) -> WantedSamples:
    """The number of samples that the settings ask for.

    `by_risk`: by what is known before any sample is drawn, and costs no call: how little the evidence entails the worst
    claim, and how unsure the model was of the tokens of its worst one. The higher of the two is the risk.
    """
    if isinstance(context.config.consistency.samples, int):
        return WantedSamples(context.config.consistency.samples)
    claims = await context.nli.run(extract_claims, exchange.response)
    results = await run_measures((NliMeasure(), LogprobsMeasure()), exchange, claims, context)
    signals = {result.name: round(result.score, 4) for result in results if result.score is not None}
    level = risk_level(max(signals.values(), default=None), context.config.scoring.risk) or UNKNOWN_RISK
    return WantedSamples(SAMPLES_BY_RISK[level], signals)


async def samples_for(exchange: Exchange, context: MeasureContext, languages: tuple[str, ...] = ()) -> Sequence[str]:
    """The texts of the exchange's own samples if it has any, else of as many as the settings ask for.

    Args:
        languages: of the model that compares; a response in another one gets no samples. Empty if any can be compared.

    Raises:
        LlmError: every request failed.
        UnmeasuredError: there are none, or none that can be compared.
    """
    if languages and (reason := await context.nli.run(unknown_language, exchange.response, languages)):
        raise UnmeasuredError(reason)
    samples = exchange.samples
    if not samples:
        if context.sampler is None:
            raise UnmeasuredError("no_model")
        if context.sampler.unavailable:
            raise UnmeasuredError(context.sampler.unavailable)
        samples = await context.sampler.draw((await wanted_samples(exchange, context)).samples)
    texts = [sample.text for sample in samples if sample.text.strip()]
    if not texts:
        raise UnmeasuredError("no_samples")
    return texts


def sentences_of(text: str) -> list[str]:
    """The sentences of a sample; the whole text if it cannot be split."""
    return [span.text for span in split_sentences(text) if span.text.strip()] or [text]


Stand = Literal["supports", "contradicts", "silent"]


class Relation(NamedTuple):
    """What one text says about one statement: probabilities, each the highest over the text's windows."""

    entailment: float
    contradiction: float

    @property
    def stand(self) -> Stand:
        """Support wins: what a text says in one place is not taken back by another that words it differently."""
        if self.entailment >= DECIDES_FROM:
            return "supports"
        return "contradicts" if self.contradiction >= DECIDES_FROM else "silent"


DECIDES_FROM = 0.5
"""A relation is taken as given from this probability on: then it is likelier than both others together."""


async def relations(statements: Sequence[str], texts: Sequence[str], context: MeasureContext) -> list[list[Relation]]:
    """What each text says about each statement: `found[statement][text]`.

    Raises:
        NliError: the model failed.
    """
    columns = [(await read_claims(statements, [Passage(id="sample", text=text)], context.nli)).claims for text in texts]
    return [[_highest(column[place]) for column in columns] for place in range(len(statements))]


def _highest(read: ClaimEvidence) -> Relation:
    scores = [window.nli for window in read.windows]
    return Relation(
        max((one.entailment for one in scores), default=0.0), max((one.contradiction for one in scores), default=0.0)
    )
