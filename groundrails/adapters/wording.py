"""What a decision writes into an answer: marks, notes below it, or another text in its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from groundrails.report import Finding, Report

PRONE_MESSAGE = "inform answer prone to hallucination"
UNKNOWN_MESSAGE = "inform answer unknown"
UNVERIFIED_MESSAGE = "inform answer unverified"
DEFAULT_MESSAGES = {
    PRONE_MESSAGE: "The previous answer is prone to hallucination and may not be accurate. "
    "Please double check the answer using additional sources.",
    UNKNOWN_MESSAGE: "I don't know the answer to that.",
    UNVERIFIED_MESSAGE: "This answer could not be verified. Please check it against a source you trust.",
}
"""The first two are NeMo's own; each can be overridden by a `define bot ...` of the app (Colang 1.0)."""


class Additions(NamedTuple):
    """What a decision writes into an answer."""

    marks: tuple[Finding, ...] = ()
    """Findings whose span is marked (`annotate`)."""
    notes: tuple[str, ...] = ()
    """Paragraphs below the answer (`warn`)."""


def additions_of(report: Report, messages: Mapping[str, Sequence[str]]) -> Additions:
    """What the report's decision writes into the answer; nothing for the decisions that leave it alone."""
    if report.decision == "annotate":
        return Additions(marks=tuple(f for f in report.findings if f.span is not None))
    if report.decision != "warn":
        return Additions()
    name = PRONE_MESSAGE if report.findings else UNVERIFIED_MESSAGE
    return Additions(notes=(bot_message(name, messages),))


def written_into(answer: str, additions: Additions) -> str:
    """The answer with the marks inside and the notes below; a note that it holds already is left out."""
    text = annotated(answer, additions.marks)
    return "\n\n".join([text, *(note for note in additions.notes if note not in answer)])


def bot_message(name: str, messages: Mapping[str, Sequence[str]]) -> str:
    """The app's text for a bot message, or the default."""
    return (messages.get(name) or [DEFAULT_MESSAGES[name]])[0]


def annotated(answer: str, findings: Sequence[Finding]) -> str:
    """The answer with a numbered mark after each span that was found, and a note for each below."""
    places = {(f.span.end, f.kind): None for f in findings if f.span is not None}
    numbered = list(enumerate(sorted(places, key=lambda place: place[0]), start=1))
    text = answer
    for number, (end, _kind) in reversed(numbered):
        text = f"{text[:end]} [?{number}]{text[end:]}"
    notes = [f"[?{number}] {kind.replace('_', ' ')}" for number, (_end, kind) in numbered]
    return "\n\n".join([text, "\n".join(notes)]) if notes else text
