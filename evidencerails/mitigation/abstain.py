"""Abstaining after generation: how sure the answer is, and whether it stands, stands with caveats, or does not leave.

Confidence is the mean of four parts: groundedness, 1 - normalised semantic entropy,
self-consistency and the quality of what was retrieved. What was not measured is left out and named. Two thresholds make
three outcomes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evidencerails.measures.aggregate import weighted_mean
from evidencerails.report import Abstention, Report
from evidencerails.settings.mitigation import AbstentionSettings

WEIGHTS = {"groundedness": 0.4, "certainty": 0.2, "self_consistency": 0.2, "retrieval_quality": 0.2}
"""Of the four parts; they are made to sum to 1 over what was measured."""
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
    confidence = weighted_mean(parts, WEIGHTS)
    if confidence is None or measured.keys() == {"retrieval_quality"}:
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
