"""The request a log line belongs to: its id, and the trace it is part of."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

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


@contextmanager
def _request_span(identity: str, parent: str) -> Iterator[None]:
    from evidencerails.operations.telemetry.emit import SCOPE, has_provider

    if not has_provider():
        yield
        return
    from opentelemetry import trace
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    context = TraceContextTextMapPropagator().extract({"traceparent": parent})
    with trace.get_tracer(SCOPE).start_as_current_span(
        "evidencerails.request", context, trace.SpanKind.SERVER, {"evidencerails.request_id": identity}
    ):
        yield
