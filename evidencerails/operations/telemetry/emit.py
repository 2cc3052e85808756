"""Finished traces as OpenTelemetry spans, with the attribute names of the GenAI semantic conventions.

Only the API is used: the application chooses SDK, sampler and exporter, and `exporting` does where there is none
(`serve`, `batch`). Without a provider there is no trace to emit.
Conventions: https://opentelemetry.io/docs/specs/semconv/gen-ai/ (development status, as NeMo 0.24 uses them).
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from evidencerails.errors import extra_for, traceback_summary
from evidencerails.report import CheckResult, Claim, Report, reason_code, text_hash
from evidencerails.settings.environment import variable
from evidencerails.trace import LlmCallRecord, Trace
from evidencerails.version import __version__

if TYPE_CHECKING:
    from opentelemetry.context import Context

log = logging.getLogger("evidencerails.operations.telemetry")

SCOPE = "evidencerails"
MAX_CLAIM_SPANS = 50
"""Of one check; its span counts those left out."""
CALL = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai"}


def emit(trace: Trace) -> None:
    """Spans below the current span. Never raises: telemetry fails no answer."""
    try:
        _emit_spans(trace)
    except Exception as error:  # boundary to the SDK and its exporters
        log.warning("evidencerails: telemetry failed: %s", traceback_summary(error))


def _emit_spans(trace: Trace) -> None:
    from opentelemetry import trace as api

    assert trace.report is not None
    tracer = api.get_tracer(SCOPE, __version__)

    def start(name: str, context: Context | None, start_ns: int, attributes: dict[str, Any]) -> api.Span:
        named = {f"{SCOPE}.{name}": value for name, value in _present(attributes).items()}
        return tracer.start_span(name, context=context, start_time=start_ns, attributes=named)

    root = start("evidencerails.guard", None, trace.start_ns, report_attributes(trace.report))
    if trace.settings.content and trace.exchange is not None:
        root.set_attribute("evidencerails.response", trace.exchange.response)
    contexts = {"": api.set_span_in_context(root)}
    checks = []
    for record in trace.checks:
        result = record.result
        span = start(f"evidencerails.check {result.name}", contexts[""], record.start_ns, _check_attributes(result))
        if result.reason.startswith("check_failed"):
            span.set_status(api.StatusCode.ERROR, reason_code(result.reason))
        context = contexts[result.name] = api.set_span_in_context(span)
        # The span of a claim lasts as long as its check: the claims of a check are scored in shared batches.
        for place, claim in enumerate(result.claims[:MAX_CLAIM_SPANS], start=1):
            attributes = _claim_attributes(place, claim, trace.settings.content)
            start("evidencerails.claim", context, record.start_ns, attributes).end(record.end_ns)
        checks.append((span, record.end_ns))
    for call in trace.llm_calls:
        kind, attributes = api.SpanKind.CLIENT, _call_attributes(call, trace.settings.content)
        span = tracer.start_span(
            f"chat {call.model}", contexts.get(call.check, contexts[""]), kind, attributes, start_time=call.start_ns
        )
        if call.error:
            span.set_status(api.StatusCode.ERROR, call.error)
        span.end(call.end_ns or trace.end_ns)
    for span, end_ns in checks:
        span.end(end_ns)
    root.end(trace.end_ns)


def report_attributes(report: Report) -> dict[str, Any]:
    """Verdict, score, findings and reason of a report; no word of answer or evidence."""
    names = ("status", "decision", "decided_by", "hallucination_score", "risk_level", "evidence_from", "version")
    return {
        **{name: getattr(report, name) for name in names},
        "reason": reason_code(report.reason),
        "claims": len(report.claims),
        "findings": len(report.findings),
        "finding_kinds": sorted({finding.kind for finding in report.findings}),
        "categories": sorted({finding.category for finding in report.findings}),
        "llm_calls": report.llm.calls,
    }


def _check_attributes(result: CheckResult) -> dict[str, Any]:
    return {
        "check": result.name,
        "status": result.status,
        "reason": reason_code(result.reason),
        "score": result.score,
        "claims": len(result.claims),
        "claims_without_span": max(0, len(result.claims) - MAX_CLAIM_SPANS),
        "findings": len(result.findings),
        "finding_kinds": sorted({finding.kind for finding in result.findings}),
        "check_version": result.version,
    }


def _claim_attributes(place: int, claim: Claim, with_content: bool) -> dict[str, Any]:
    return {
        "claim": place,
        "claim_hash": text_hash(claim.text),
        "claim_text": claim.text if with_content else None,
        "span_start": claim.span.start,
        "span_end": claim.span.end,
        "label": claim.label,
        "score": claim.score,
        "error_types": list(claim.error_types),
        "method": claim.method,
        "evidence_ids": [quote.passage_id for quote in claim.evidence],
    }


def _call_attributes(call: LlmCallRecord, with_content: bool) -> dict[str, Any]:
    reply = call.reply
    reasons = [c.finish_reason for c in reply.completions if c.finish_reason] if reply else []
    attributes = {
        **CALL,
        "gen_ai.request.model": call.model,
        "gen_ai.request.choice.count": call.options.get("n"),
        "gen_ai.request.temperature": call.options.get("temperature"),
        "gen_ai.request.max_tokens": call.options.get("max_tokens"),
        "gen_ai.output.type": "json" if call.options.get("json_schema") else "text",
        "gen_ai.response.model": reply.model if reply else None,
        "gen_ai.response.finish_reasons": reasons,
        "gen_ai.usage.input_tokens": reply.prompt_tokens if reply else None,
        "gen_ai.usage.output_tokens": reply.completion_tokens if reply else None,
        "error.type": call.error,
        "evidencerails.check": call.check or None,
    }
    if with_content:
        replies = [("assistant", c.text) for c in (reply.completions if reply else ())]
        attributes["gen_ai.input.messages"] = _messages([(m.role, m.content) for m in call.messages])
        attributes["gen_ai.output.messages"] = _messages(replies)
    return _present(attributes)


def _messages(pairs: list[tuple[str, str]]) -> str:
    """Messages in the JSON form that the conventions prescribe for content attributes."""
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]} for role, text in pairs])


def _present(attributes: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if value is not None and value != []}


ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
"""Variables of the SDK, which reads them and its others itself."""


@contextmanager
def exporting() -> Iterator[None]:
    """Export spans by OTLP over HTTP inside the block, if the environment names an endpoint; flushed at its end."""
    if not any(map(variable, ENDPOINTS)):
        yield
        return
    with extra_for("exporting telemetry"):
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    name = variable("OTEL_SERVICE_NAME") or "evidencerails"
    tracers = TracerProvider(resource=Resource.create({"service.name": name}))
    tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(tracers)
    try:
        yield
    finally:
        tracers.shutdown()
