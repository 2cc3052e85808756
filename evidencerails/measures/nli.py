"""1 - support: how little the evidence entails a claim."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from evidencerails.exchange import Exchange, Span
from evidencerails.measures.base import (
    ClaimScore,
    MeasureContext,
    MeasureResult,
    Statement,
    clipped,
    result_of,
    unmeasured,
)
from evidencerails.measures.evidence import windows_for
from evidencerails.nli.base import CONTRADICTION, ENTAILMENT, LABELS
from evidencerails.nli.windows import Window
from evidencerails.report import Label, Quote
from evidencerails.text.language import unknown_language

if TYPE_CHECKING:
    from evidencerails.nli.base import Scores

_LABELS: dict[str, Label] = {"entailment": "supported", "neutral": "absent", "contradiction": "contradicted"}


class NliMeasure:
    """1 - max over evidence windows of P(entailment).

    The label is that of the likeliest relation: a claim that some window entails is supported; else a window that
    contradicts it makes it contradicted; else it is absent, which is never clean. This is the bare model: the
    calibrated combination with typed values is `evidencerails.verdict`.
    """

    name = "nli"
    version = "1"

    async def measure(self, exchange: Exchange, claims: Sequence[Statement], context: MeasureContext) -> MeasureResult:
        """Score each claim against the evidence."""
        if not exchange.evidence:
            return unmeasured(self, claims, "no_evidence")
        if reason := await context.nli.run(unknown_language, exchange.response, context.nli.languages):
            return unmeasured(self, claims, reason)
        texts = [claim.text for claim in claims]
        windows = await context.nli.run(windows_for, texts, exchange.evidence, context.nli)
        pairs = [(w.text, text) for text, chosen in zip(texts, windows.per_claim, strict=True) for w in chosen]
        rows = iter(await context.nli.scores(pairs))
        scores = [_claim_score(chosen, [next(rows) for _ in chosen]) for chosen in windows.per_claim]
        version = context.nli.identity
        return result_of(self, scores, version=version, details={"coverage": windows.coverage.share})


def _claim_score(windows: Sequence[Window], rows: Sequence[Scores]) -> ClaimScore:
    if not windows:
        return ClaimScore(reason="no_evidence")
    support, against = (
        max(range(len(rows)), key=lambda place: float(rows[place][column])) for column in (ENTAILMENT, CONTRADICTION)
    )
    label = _LABELS[LABELS[int(rows[support].argmax())]]
    if label != "supported" and int(rows[against].argmax()) == CONTRADICTION:
        label = "contradicted"
    place, column = (against, CONTRADICTION) if label == "contradicted" else (support, ENTAILMENT)
    passage, score = windows[place].passage, clipped(float(rows[place][column]))
    span = Span.of(passage.text, windows[place].start, windows[place].end)
    quote = Quote(passage_id=passage.id, source=passage.source, span=span, score=score)
    return ClaimScore(
        score=clipped(1.0 - float(rows[support][ENTAILMENT])),
        label=label,
        evidence=() if label == "absent" else (quote,),
        details={name: float(value) for name, value in zip(LABELS, rows[place], strict=True)},
    )
