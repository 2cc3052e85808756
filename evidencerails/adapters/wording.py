"""What a decision writes into an answer: marks, notes below it, or another text in its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from evidencerails.mitigation.abstain import ABSTAIN_LEAD, PARTIAL_NOTE
from evidencerails.mitigation.annotate import annotated, paragraphs
from evidencerails.report import Finding, Report
from evidencerails.settings.mitigation import AnnotationFormat

PRONE_MESSAGE = "inform answer prone to hallucination"
UNKNOWN_MESSAGE = "inform answer unknown"
UNVERIFIED_MESSAGE = "inform answer unverified"
ABSTAIN_MESSAGE = "inform answer abstained"
PARTIAL_MESSAGE = "inform answer partial"
TOOL_CALL_MESSAGE = "inform tool call refused"
DEFAULT_MESSAGES = {
    PRONE_MESSAGE: "The previous answer is prone to hallucination and may not be accurate. "
    "Please double check the answer using additional sources.",
    UNKNOWN_MESSAGE: "I don't know the answer to that.",
    UNVERIFIED_MESSAGE: "This answer could not be verified. Please check it against a source you trust.",
    ABSTAIN_MESSAGE: ABSTAIN_LEAD,
    PARTIAL_MESSAGE: PARTIAL_NOTE,
    TOOL_CALL_MESSAGE: "I have not done that: the call I was about to make did not pass its checks.",
}
"""The first two are NeMo's own; each can be overridden by a `define bot ...` of the app (Colang 1.0)."""


class Additions(NamedTuple):
    """What a decision writes into an answer."""

    marks: tuple[Finding, ...] = ()
    """Findings whose span is marked (`annotate`)."""
    notes: tuple[str, ...] = ()
    """Paragraphs below the answer (`warn`)."""


def base_text(answer: str, report: Report) -> str:
    """The text that the report's decision lets out: the response, or what took its place."""
    return answer if report.answer is None or report.is_blocked else report.answer


def withheld_text(report: Report, messages: Mapping[str, Sequence[str]]) -> str | None:
    """What the user sees in place of a withheld answer; None if the report has no words of its own for it."""
    if not report.is_blocked or report.answer is None:
        return None
    return report.answer.replace(ABSTAIN_LEAD, bot_message(ABSTAIN_MESSAGE, messages))


def additions_of(report: Report, messages: Mapping[str, Sequence[str]]) -> Additions:
    """What the report's decision writes into the text that leaves; nothing for the decisions that leave it alone.

    Into a repaired text goes what the checks still say about that: marks and notes of the response would not fit it.
    """
    decision, findings = report.decision, report.findings
    if decision == "regenerate" and report.repair is not None:
        decision, findings = report.repair.decision, report.repair.findings
    if decision == "annotate":
        is_partial = report.abstention is not None and report.abstention.action == "partial"
        notes = (bot_message(PARTIAL_MESSAGE, messages),) if is_partial else ()
        return Additions(marks=tuple(f for f in findings if f.span is not None), notes=notes)
    if decision != "warn":
        return Additions()
    name = PRONE_MESSAGE if findings else UNVERIFIED_MESSAGE
    return Additions(notes=(bot_message(name, messages),))


def written_into(answer: str, additions: Additions, format: AnnotationFormat = "plain") -> str:
    """The answer with the marks inside and the notes below; a note that it holds already is left out."""
    text = annotated(answer, additions.marks, format)
    return paragraphs(text, [note for note in additions.notes if note not in answer], format)


def bot_message(name: str, messages: Mapping[str, Sequence[str]]) -> str:
    """The app's text for a bot message, or the default."""
    return (messages.get(name) or [DEFAULT_MESSAGES[name]])[0]
