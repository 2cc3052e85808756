"""1 - support: how little the evidence entails a claim."""

from __future__ import annotations

from collections.abc import Sequence

from evidencerails.exchange import Exchange
from evidencerails.measures.base import (
    ClaimScore,
    MeasureContext,
    MeasureResult,
    Statement,
    UnmeasuredError,
    clipped,
    result_of,
)
from evidencerails.nli.base import LABELS
from evidencerails.report import Label, NliScores
from evidencerails.text.language import unknown_language
from evidencerails.verdict.reading import ClaimEvidence, read_claims

_LABELS: dict[str, Label] = {"entailment": "supported", "neutral": "absent", "contradiction": "contradicted"}


class NliMeasure:
    """1 - max over evidence windows of P(entailment).

    The label is that of the likeliest relation: a claim that some window entails is supported; else a window that
    contradicts it makes it contradicted; else it is absent, which is never clean. This is the bare model, over the same
    windows as the checks; the calibrated combination with typed values is `evidencerails.verdict`.
    """

    name = "nli"
    version = "1"

    async def measure(self, exchange: Exchange, claims: Sequence[Statement], context: MeasureContext) -> MeasureResult:
        if not exchange.evidence:
            raise UnmeasuredError("no_evidence")
        if reason := await context.nli.run(unknown_language, exchange.response, context.nli.languages):
            raise UnmeasuredError(reason)
        read = await read_claims([claim.text for claim in claims], exchange.evidence, context.nli)
        scores = [_claim_score(one) for one in read.claims]
        return result_of(self, scores, version=context.nli.identity, details={"coverage": read.coverage.share})


def _claim_score(one: ClaimEvidence) -> ClaimScore:
    if not one.windows:
        return ClaimScore(reason="no_evidence")
    support = max(one.windows, key=lambda window: window.nli.entailment)
    against = max(one.windows, key=lambda window: window.nli.contradiction)
    label = _likeliest(support.nli)
    if label != "supported" and _likeliest(against.nli) == "contradicted":
        label = "contradicted"
    seen = against if label == "contradicted" else support
    quote = seen.quote(one.hypothesis, seen.nli.contradiction if label == "contradicted" else seen.nli.entailment)
    return ClaimScore(
        score=clipped(1.0 - support.nli.entailment),
        label=label,
        evidence=() if label == "absent" or quote is None else (quote,),
        details=seen.nli.model_dump(),
    )


def _likeliest(scores: NliScores) -> Label:
    return _LABELS[max(LABELS, key=lambda name: float(getattr(scores, name)))]
