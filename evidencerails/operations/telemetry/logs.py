"""The request under way, with its id and trace, and log lines that carry both: text for people, or JSON."""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any, Literal

from evidencerails.operations.times import iso
from evidencerails.text.visible import visible

TRACEPARENT = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}")
"""W3C Trace Context, level 1."""

_request_id: ContextVar[str] = ContextVar("evidencerails_request_id", default="")
_trace_id: ContextVar[str] = ContextVar("evidencerails_trace_id", default="")


def request_id() -> str:
    """Id of the request under way; empty outside one."""
    return _request_id.get()


def trace_id() -> str:
    """Id of the trace under way, as 32 hexadecimal digits: that of the current span, else the caller's; or empty."""
    api = sys.modules.get("opentelemetry.trace")
    if api is not None:
        context = api.get_current_span().get_span_context()
        if context.is_valid:
            return f"{context.trace_id:032x}"
    return _trace_id.get()


@contextmanager
def request_context(identity: str, headers: Iterable[tuple[bytes, bytes]]) -> Iterator[None]:
    """Inside, log lines carry this request's id and trace, and spans go below a span for the request."""
    parent = dict(headers).get(b"traceparent", b"").decode("latin-1")
    match = TRACEPARENT.fullmatch(parent)
    tokens = _request_id.set(identity), _trace_id.set(match[1] if match else "")
    try:
        with _request_span(identity, parent):
            yield
    finally:
        _request_id.reset(tokens[0])
        _trace_id.reset(tokens[1])


def _request_span(identity: str, parent: str) -> AbstractContextManager[Any]:
    from evidencerails.operations.telemetry.emit import SCOPE
    from evidencerails.trace import has_provider

    if not has_provider():
        return nullcontext()
    from opentelemetry import trace
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    context = TraceContextTextMapPropagator().extract({"traceparent": parent})
    attributes = {"evidencerails.request_id": identity}
    tracer, kind = trace.get_tracer(SCOPE), trace.SpanKind.SERVER
    return tracer.start_as_current_span("evidencerails.request", context, kind, attributes)


class JsonLines(logging.Formatter):
    """One JSON object a line; the message is data in it, so no text can break or forge a line."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": iso(record.created),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "request_id": request_id() or None,
            "trace_id": trace_id() or None,
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps({name: value for name, value in line.items() if value is not None})


class TextLines(logging.Formatter):
    """Time, level, message and ids, on one line."""

    def format(self, record: logging.LogRecord) -> str:
        moment = self.formatTime(record, "%H:%M:%S")
        ids = [f"{name}={value}" for name, value in (("request", request_id()), ("trace", trace_id())) if value]
        line = " ".join([moment, record.levelname, visible(record.getMessage(), one_line=True), *ids])
        return line + ("\n" + self.formatException(record.exc_info) if record.exc_info else "")


def log_to_stderr(form: Literal["text", "json"]) -> None:
    """Send our logs to standard error, and warnings of others; NeMo's own stays off (it logs prompts)."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    logging.getLogger().addHandler(handler)
    logging.getLogger().setLevel(logging.WARNING)
    logging.getLogger("evidencerails").setLevel(logging.INFO)
    logging.getLogger("nemoguardrails").setLevel(logging.ERROR)
