"""What is kept while one answer is checked: several rails, and all chunks of a stream, work on the same turn."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from groundrails.adapters.nemo_calls import AnswerCall
from groundrails.adapters.nemo_outcome import merged, plain_report
from groundrails.adapters.nemo_stream import StreamedAnswer
from groundrails.adapters.wording import Additions, additions_of, written_into
from groundrails.config import GuardConfig
from groundrails.report import Report

MAX_TURNS = 256
"""Turns an app keeps in mind; far more than can be under way at once."""


@dataclass
class Turn:
    """One answer under check."""

    key: str
    plain: dict[str, Any] = field(default_factory=dict)
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

    def as_written(self, answer: str) -> str:
        """The answer without the marks and warnings of our rails: none of them checks what another has added."""
        return answer.replace(self.shown, self.text) if self.shown else answer

    def with_additions(self, answer: str, report: Report, messages: Mapping[str, Sequence[str]]) -> str | None:
        """The answer with what this report and the ones before it write into it; None if this one writes nothing."""
        new = additions_of(report, messages)
        if not new.marks and not new.notes:
            return None
        text = self.as_written(answer)
        marks = (*self.additions.marks, *new.marks)
        notes = dict.fromkeys((*self.additions.notes, *new.notes))
        fitting = tuple(f for f in marks if f.span and text[f.span.start : f.span.end] == f.span.text)
        self.additions = Additions(fitting, tuple(notes))
        self.text, self.shown = text, written_into(text, self.additions)
        return self.shown

    def record(self, report: Report, config: GuardConfig) -> None:
        """Take a rail's report into the turn's."""
        self.reports[tuple(report.checks)] = report
        self.plain.clear()
        self.plain.update(plain_report(merged(list(self.reports.values()), config), config))


Kept = TypeVar("Kept")


class Recent(Generic[Kept]):
    """The values of the latest turns by key, the oldest forgotten first. Safe to use from several threads."""

    def __init__(self, limit: int = MAX_TURNS) -> None:
        self._values: OrderedDict[str, Kept] = OrderedDict()
        self._limit = limit
        self._lock = threading.Lock()

    def get(self, key: str, make: Callable[[], Kept]) -> Kept:
        """The value of that key, made the first time."""
        with self._lock:
            if key not in self._values:
                self._values[key] = make()
            self._values.move_to_end(key)
            while len(self._values) > self._limit:
                self._values.popitem(last=False)
            return self._values[key]


def turn_key(call: AnswerCall | None, events: Sequence[Mapping[str, Any]] | None, fallback: Sequence[Any]) -> str:
    """What tells this answer from others: the event that carries it, else the LLM call that wrote it.

    The event comes first, since one LLM call's text may be checked in several turns. In a stream there are no events,
    and none with a text in Colang 2.x.
    """
    event = next((e for e in reversed(events or ()) if e.get("type") == "BotMessage" and e.get("uid")), None)
    if event is not None:
        return str(event["uid"])
    if call is not None and call.id:
        return call.id
    return hashlib.sha256(repr(fallback).encode("utf-8", "surrogatepass")).hexdigest()
