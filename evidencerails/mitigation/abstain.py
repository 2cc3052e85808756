"""Abstaining after generation: how sure the answer is, and whether it stands, stands with caveats, or does not leave.

Confidence is the mean of four parts: groundedness, 1 - normalised semantic entropy,
self-consistency and the quality of what was retrieved. What was not measured is left out and named. Two thresholds make
three outcomes; `fit_thresholds` finds them on labelled answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from evidencerails.measures.aggregate import weighted_mean
from evidencerails.report import Abstention, Report
from evidencerails.settings.mitigation import AbstentionSettings

ABSTAIN_LEAD = "I can't answer that reliably from the sources I have."
PARTIAL_NOTE = "Parts of this answer could not be confirmed; please check them before you rely on them."
_MISSING = {
    "no_evidence": "There was no source to answer from.",
    "low_groundedness": "The sources do not confirm what an answer would have to say.",
    "low_certainty": "Several attempts at an answer did not mean the same.",
    "low_self_consistency": "Several attempts at an answer contradicted each other.",
    "low_retrieval_quality": "The sources that were found say little about the question.",
    "no_relevant_evidence": "None of the sources says anything about the question.",
    "no_answer_in_evidence": "The sources are about that, but do not say it.",
    "low_coverage": "The sources that were found cover only a part of the question.",
    "out_of_domain": "The question lies outside what I am set up to answer.",
    "stale_evidence": "The sources about it are out of date.",
    "not_measured": "Nothing could be measured that would show how reliable an answer is.",
    "findings": "The answer that was written has statements that the sources do not bear out.",
}
"""What each reason means for the user."""
_HELPS = {
    "no_evidence": "provide a document that covers it",
    "low_retrieval_quality": "name the document or topic more precisely",
    "no_relevant_evidence": "provide a document that covers it, or ask in other words",
    "low_coverage": "ask about one thing at a time, or provide a document that covers the rest",
    "out_of_domain": "ask about " + "{domain}",
    "stale_evidence": "provide a newer source",
}
_ELSE_HELPS = "ask more narrowly, or provide a source that covers it"


def confidence_in(report: Report, settings: AbstentionSettings, quality: float | None) -> Abstention:
    """The confidence in an answer by its report, and what follows from it.

    An answer that makes no claim is as good as it is: there is nothing to abstain from.
    """
    parts = confidence_parts(report.metrics, quality)
    measured = {name: value for name, value in parts.items() if value is not None}
    missing = tuple(name for name, value in parts.items() if value is None)
    if not measured.keys() - {"retrieval_quality"}:
        return _unmeasured(report, missing)
    confidence = weighted_mean(parts, settings.weights.model_dump()).score
    if confidence is None:
        return _unmeasured(report, missing)
    reasons = tuple(f"low_{name}" for name, value in measured.items() if value < settings.answer_from)
    found = Abstention(action="answer", confidence=confidence, parts=measured, missing=missing)
    if confidence >= settings.answer_from:
        return found
    if confidence >= settings.partial_from:
        return found.model_copy(update={"action": "partial", "reasons": reasons})
    return found.model_copy(update={"action": "abstain", "reasons": reasons, "message": message_for(reasons)})


def confidence_parts(metrics: Mapping[str, float], quality: float | None) -> dict[str, float | None]:
    """The four parts, each in [0, 1], 1 being sure; None for what was not measured."""
    entropy = metrics.get("measure_semantic_entropy")
    drift = metrics.get("pairwise_contradiction_rate", metrics.get("sample_disagreement"))
    return {
        "groundedness": metrics.get("groundedness"),
        "certainty": None if entropy is None else 1.0 - entropy,
        "self_consistency": None if drift is None else 1.0 - drift,
        "retrieval_quality": quality,
    }


def _unmeasured(report: Report, missing: tuple[str, ...]) -> Abstention:
    if report.status != "unverified":
        return Abstention(action="answer", missing=missing)
    reason = "no_evidence" if "no_evidence" in report.reason else "not_measured"
    return Abstention(action="abstain", missing=missing, reasons=(reason,), message=message_for((reason,)))


def abstention_for(report: Report) -> Abstention:
    """The abstention of a decision that a policy made: the report's own, turned into one that abstains."""
    found = report.abstention or Abstention(action="abstain")
    if "no_evidence" in report.reason:
        extra: tuple[str, ...] = ("no_evidence",)
    else:
        extra = ("findings",) if report.findings else ("not_measured",)
    reasons = found.reasons or extra
    return found.model_copy(update={"action": "abstain", "reasons": reasons, "message": message_for(reasons)})


def message_for(reasons: Sequence[str], *, domain: Sequence[str] = ()) -> str:
    """The message for the user: that there is no answer, why, and what would help; it quotes nothing withheld."""
    why = [_MISSING[reason] for reason in reasons if reason in _MISSING]
    helps = next((_HELPS[reason] for reason in reasons if reason in _HELPS), _ELSE_HELPS)
    advice = f"What would help: {helps.format(domain=', '.join(domain) or 'something else')}."
    return " ".join([ABSTAIN_LEAD, *why, advice])


# ---- calibration


class LabelledConfidence(NamedTuple):
    """An answer's confidence, and whether it was right."""

    confidence: float
    is_right: bool


class Thresholds(NamedTuple):
    """Thresholds fitted to labelled answers, and what they cost there."""

    answer_from: float
    partial_from: float
    false_abstention_rate: float
    """Share of right answers below `partial_from`."""
    leak_rate: float
    """Share of wrong answers at or above `answer_from`."""


def fit_thresholds(
    rows: Sequence[LabelledConfidence], *, false_abstention_cost: float = 1.0, leak_cost: float = 1.0
) -> Thresholds:
    """The thresholds with the least cost on held-out answers.

    Each is argmin of false_abstention_cost * rate of right answers below + leak_cost * rate of wrong answers at or
    above it; for `partial_from` a leak costs half, since such an answer leaves with caveats.

    Raises:
        ValueError: there are not both right and wrong answers.
    """
    right = [row.confidence for row in rows if row.is_right]
    wrong = [row.confidence for row in rows if not row.is_right]
    if not right or not wrong:
        raise ValueError(f"needs right and wrong answers, got {len(right)} right and {len(wrong)} wrong ones")
    places = sorted({0.0, *(round(row.confidence, 6) for row in rows), 1.0})

    def cost(place: float, leak: float) -> float:
        return false_abstention_cost * _below(right, place) + leak * (1.0 - _below(wrong, place))

    answer_from = min(places, key=lambda place: (cost(place, leak_cost), place))
    below = [place for place in places if place <= answer_from]
    partial_from = min(below, key=lambda place: (cost(place, leak_cost / 2), place))
    return Thresholds(answer_from, partial_from, _below(right, partial_from), 1.0 - _below(wrong, answer_from))


def _below(values: Sequence[float], place: float) -> float:
    return sum(value < place for value in values) / len(values)
