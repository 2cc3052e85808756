"""What is kept while one answer is checked: several rails, and all chunks of a stream, work on the same turn."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

from cachetools import LRUCache

from evidencerails.adapters.nemo_calls import AnswerCall
from evidencerails.adapters.nemo_outcome import SKIPPED, plain_report
from evidencerails.adapters.nemo_rails import ACTIONS
from evidencerails.adapters.nemo_stream import StreamedAnswer
from evidencerails.adapters.wording import Additions, additions_of, base_text, written_into
from evidencerails.config import GuardConfig
from evidencerails.exchange import Span
from evidencerails.pipeline import merged
from evidencerails.report import Finding, Report
from evidencerails.settings.mitigation import AnnotationFormat

REPORT_VARIABLE = "hallucination_report"
MAX_TURNS = 256
"""Turns an app keeps in mind; far more than can be under way at once."""


@dataclass
class Turn:
    key: str
    plain: dict[str, Any] = field(default_factory=lambda: dict(SKIPPED))
    """The value of `$hallucination_report`: one object that every rail of the turn fills. Parallel rails each see their
    own copy of the history, and the last context update wins, so a shared object is what keeps all their results."""
    streams: dict[str, StreamedAnswer] = field(default_factory=dict)
    reports: dict[tuple[str, ...], Report] = field(default_factory=dict)
    additions: Additions = field(default_factory=Additions)
    """What the rails have written into the answer so far."""
    text: str = ""
    """The answer without that."""
    shown: str = ""
    """The answer with it; empty while there is nothing."""
    original: str | None = None
    """The answer before a rail repaired it; None if none has."""

    def as_written(self, answer: str) -> str:
        """The answer without the marks and warnings of our rails: none of them checks what another has added."""
        return answer.replace(self.shown, self.text) if self.shown else answer

    def with_additions(
        self, answer: str, report: Report, messages: Mapping[str, Sequence[str]], format: AnnotationFormat = "plain"
    ) -> str | None:
        """The answer with what this report and the ones before it write into it; None if this one writes nothing."""
        new = additions_of(report, messages)
        seen = self.as_written(answer)
        text = base_text(seen, report)
        if not new.marks and not new.notes and text == seen:
            return None
        if text != seen:
            self.original = seen
        elif self.original == seen:  # a parallel rail that looked at the answer before another repaired it
            text = self.text
        marks = tuple(mark for mark in map(partial(_moved, text), (*self.additions.marks, *new.marks)) if mark)
        notes = dict.fromkeys((*self.additions.notes, *new.notes))
        self.additions = Additions(marks, tuple(notes))
        self.text, self.shown = text, written_into(text, self.additions, format)
        return self.shown

    def is_repaired_from(self, answer: str) -> bool:
        """True if another rail has repaired this very text: two repairs that know nothing of each other do not fit."""
        return self.original is not None and self.original == self.as_written(answer)

    def record(self, report: Report, config: GuardConfig) -> None:
        """Take a rail's report into the turn's."""
        self.reports[tuple(report.checks)] = report
        self.plain.clear()
        self.plain.update(plain_report(merged(list(self.reports.values()), config), config))


def _moved(text: str, finding: Finding) -> Finding | None:
    """The finding where its words stand in a text that may have changed around them; None if they are gone."""
    if finding.span is None:
        return None
    span = finding.span
    if text[span.start : span.end] == span.text:
        return finding
    if text.count(span.text) != 1:
        return None
    start = text.index(span.text)
    return finding.model_copy(update={"span": Span.of(text, start, start + len(span.text))})


Kept = TypeVar("Kept")


class Recent(Generic[Kept]):
    """The values of the latest turns by key, the oldest forgotten first. Safe to use from several threads."""

    def __init__(self) -> None:
        self._values: LRUCache[str, Kept] = LRUCache(MAX_TURNS)
        self._lock = threading.Lock()

    def get(self, key: str, make: Callable[[], Kept]) -> Kept:
        """The value of that key, made the first time."""
        with self._lock:
            if key not in self._values:
                self._values[key] = make()
            return self._values[key]


_CALLS_EVENT = "BotToolCalls"
_BEFORE_RAILS = ("StartCheckFlowDefinedAction", "StartUtteranceBotAction", "UtteranceUserActionFinished")
"""Colang 2.x: `bot say` asks whether there are output rails, before it the last answer was said or the user spoke."""


def turn_key(call: AnswerCall | None, events: Sequence[Mapping[str, Any]] | None, fallback: Sequence[Any]) -> str:
    """What identifies this answer: the event that carries it, else the LLM call that wrote it.

    The event comes first, since one LLM call's text may be checked in several turns. In Colang 2.x no event carries the
    text: there it is what came last before the rails, and all rails of the answer see the same one, also after one of
    them has added a warning to it. In a stream there are no events.
    """
    for types in (("BotMessage",), _BEFORE_RAILS):
        event = next((e for e in reversed(events or ()) if e.get("type") in types and e.get("uid")), None)
        if event is not None:
            return str(event["uid"])
    if call is not None and call.id:
        return call.id
    return hashlib.sha256(repr(fallback).encode("utf-8", "surrogatepass")).hexdigest()


def _without_earlier_calls(events: Sequence[Any]) -> list[Any]:
    """The events of a turn without the calls of earlier turns, on which NeMo would run the tool rails.

    NeMo turns the assistant messages with `tool_calls` of a request into events that its flow of tool calls then takes
    for new ones: the rails run on nothing, and the turn ends with an empty answer and without a call of the model, as
    soon as a tool has answered. The calls of this turn are the last event, or have an id of their own.
    """
    last = len(events) - 1
    return [e for n, e in enumerate(events) if n == last or e.get("type") != _CALLS_EVENT or "uid" in e]


def begin_turns_afresh(app: Any) -> None:
    """Let nothing of an earlier turn reach the next one: no report, no flag whose rail did not run, no tool call of a
    message before (Colang 1.0).

    NeMo starts a turn from the events that it kept of the turns before, which end with `Listen`; what the caller sends
    for this turn comes behind them, and so still counts.
    """
    events_of = getattr(app, "_get_events_for_messages", None)
    if events_of is None or app.config.colang_version != "1.0":
        return

    def without_leftovers(messages: Any, state: Any) -> list[Any]:
        events: list[Any] = events_of(messages, state)
        if app.config.rails.tool_output.flows:
            events = _without_earlier_calls(events)
        if not messages or messages[-1].get("role") != "user":  # the result of a tool goes on with the turn
            return events
        start = next((n for n in range(len(events), 0, -1) if events[n - 1].get("type") == "Listen"), 0)
        data = {**dict.fromkeys(rail.flag for rail in ACTIONS.values()), REPORT_VARIABLE: dict(SKIPPED)}
        return [*events[:start], {"type": "ContextUpdate", "data": data}, *events[start:]]

    app._get_events_for_messages = without_leftovers
