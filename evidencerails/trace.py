"""What one guarded response cost and when, kept as plain records while it is checked and emitted as spans afterwards.

Nothing here needs OpenTelemetry.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from evidencerails.exchange import Exchange, LlmReply, Message
from evidencerails.report import CheckResult, Report
from evidencerails.settings.operations import TelemetrySettings


@dataclass
class LlmCallRecord:
    """One request to a model; `error` is the type of what went wrong."""

    check: str
    model: str
    messages: Sequence[Message]
    options: Mapping[str, Any]
    start_ns: int
    end_ns: int = 0
    reply: LlmReply | None = None
    error: str | None = None


@dataclass
class CheckRecord:
    """One check and the nanoseconds since 1970 between which it ran."""

    result: CheckResult
    start_ns: int
    end_ns: int


@dataclass
class Trace:
    """The records of one response."""

    settings: TelemetrySettings
    start_ns: int = field(default_factory=time.time_ns)
    end_ns: int = 0
    checks: list[CheckRecord] = field(default_factory=list)
    llm_calls: list[LlmCallRecord] = field(default_factory=list)
    exchange: Exchange | None = None
    report: Report | None = None

    def note_check(self, result: CheckResult) -> None:
        """Keep a check that has ended now."""
        end_ns = time.time_ns()
        self.checks.append(CheckRecord(result, end_ns - int(result.duration_ms * 1e6), end_ns))


NO_PROVIDER = ("ProxyTracerProvider", "NoOpTracerProvider", "DefaultTracerProvider")
_trace: ContextVar[Trace | None] = ContextVar("evidencerails_trace", default=None)
current_check: ContextVar[str] = ContextVar("evidencerails_check", default="")
"""The check that this task belongs to."""


def has_provider() -> bool:
    """True if the process has set up OpenTelemetry; without that nothing of it is imported."""
    api = sys.modules.get("opentelemetry.trace")
    return api is not None and type(api.get_tracer_provider()).__name__ not in NO_PROVIDER


@contextmanager
def tracing(settings: TelemetrySettings, sink: Callable[[Trace], None]) -> Iterator[Trace | None]:
    """A trace that LLM calls inside the block join, None where nobody wants its spans.

    It goes to the sink, which must not raise, if the block ends with a report.
    """
    if settings.spans == "off" or not has_provider():
        yield None
        return
    trace = Trace(settings)
    token = _trace.set(trace)
    try:
        yield trace
    finally:
        _trace.reset(token)
    if trace.report is not None:
        sink(trace)


@contextmanager
def llm_call(model: str, messages: Sequence[Message], options: Mapping[str, Any]) -> Iterator[LlmCallRecord]:
    """Record one request; put the reply into the record."""
    record = LlmCallRecord(current_check.get(), model, messages, options, time.time_ns())
    trace = _trace.get()
    if trace is not None:
        trace.llm_calls.append(record)
    try:
        yield record
    except BaseException as error:  # noted, whatever it is, and raised again
        record.error = type(error).__name__
        raise
    finally:
        record.end_ns = time.time_ns()
