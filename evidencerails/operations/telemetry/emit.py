"""Finished traces as OpenTelemetry spans and metrics, with the attribute names of the GenAI semantic conventions.

Only the API is used: the application chooses SDK, sampler and exporter. Without a provider nothing is imported or done.
Conventions: https://opentelemetry.io/docs/specs/semconv/gen-ai/ (development status, as NeMo 0.24 uses them).
"""

from __future__ import annotations

import json
import logging
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from evidencerails import __version__
from evidencerails.errors import traceback_summary
from evidencerails.report import Report, reason_code, text_hash
from evidencerails.trace import CheckRecord, LlmCallRecord, Trace

if TYPE_CHECKING:
    from opentelemetry.context import Context

log = logging.getLogger("evidencerails.operations.telemetry")

SCOPE = "evidencerails"
MAX_CLAIM_SPANS = 50
"""Of one check; its span counts those left out."""
CALL = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai"}
NO_PROVIDER = ("ProxyTracerProvider", "NoOpTracerProvider", "DefaultTracerProvider")


def emit(trace: Trace, parent: Context | None = None) -> None:
    """Spans below `parent` (the current span if None) and metrics. Never raises: telemetry fails no answer."""
    if not has_provider():
        return
    try:
        _emit_spans(trace, parent)
        _record_metrics(trace)
    except Exception as error:  # boundary to the SDK and its exporters
        log.warning("evidencerails: telemetry failed: %s", traceback_summary(error))


def has_provider() -> bool:
    """True if the process has set up OpenTelemetry; without that nothing of it is imported."""
    api = sys.modules.get("opentelemetry.trace")
    return api is not None and type(api.get_tracer_provider()).__name__ not in NO_PROVIDER


def _emit_spans(trace: Trace, parent: Context | None) -> None:
    from opentelemetry import trace as api

    assert trace.report is not None
    tracer = api.get_tracer(SCOPE, __version__)
    root = tracer.start_span(
        "evidencerails.guard", context=parent, start_time=trace.start_ns, attributes=report_attributes(trace.report)
    )
    if trace.settings.content and trace.exchange is not None:
        root.set_attribute("evidencerails.response", trace.exchange.response)
    parents = {"": api.set_span_in_context(root, parent)}
    checks = []
    for record in trace.checks:
        span = tracer.start_span(
            f"evidencerails.check {record.result.name}",
            context=parents[""],
            start_time=record.start_ns,
            attributes=_check_attributes(record, trace),
        )
        if record.result.reason.startswith("check_failed"):
            span.set_status(api.StatusCode.ERROR, reason_code(record.result.reason))
        parents[record.result.name] = api.set_span_in_context(span, parent)
        _emit_claims(tracer, record, parents[record.result.name], trace)
        checks.append((span, record.end_ns))
    for call in trace.llm_calls:
        _emit_call(tracer, call, parents.get(call.check, parents[""]), trace)
    for span, end_ns in checks:
        span.end(end_ns)
    root.end(trace.end_ns)


def report_attributes(report: Report) -> dict[str, Any]:
    """Verdict, score, findings and reason of a report; no word of answer or evidence."""
    return _ours(
        {
            "status": report.status,
            "reason": reason_code(report.reason),
            "decision": report.decision,
            "decided_by": report.decided_by,
            "hallucination_score": report.hallucination_score,
            "risk_level": report.risk_level,
            "claims": len(report.claims),
            "findings": len(report.findings),
            "finding_kinds": sorted({finding.kind for finding in report.findings}),
            "categories": sorted({finding.category for finding in report.findings}),
            "evidence_from": report.evidence_from,
            "llm_calls": report.llm.calls,
            "version": report.version,
        }
    )


def _check_attributes(record: CheckRecord, trace: Trace) -> dict[str, Any]:
    result = record.result
    return _ours(
        {
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
    )


def _emit_claims(tracer: Any, record: CheckRecord, parent: Context, trace: Trace) -> None:
    """A span for each claim. It lasts as long as its check: the claims of a check are scored in shared batches."""
    for place, claim in enumerate(record.result.claims[:MAX_CLAIM_SPANS], start=1):
        attributes = {
            "claim": place,
            "claim_hash": text_hash(claim.text),
            "claim_text": claim.text if trace.settings.content else None,
            "span_start": claim.span.start,
            "span_end": claim.span.end,
            "label": claim.label,
            "score": claim.score,
            "error_types": list(claim.error_types),
            "method": claim.method,
            "evidence_ids": [quote.passage_id for quote in claim.evidence],
        }
        span = tracer.start_span(
            "evidencerails.claim", context=parent, start_time=record.start_ns, attributes=_ours(attributes)
        )
        span.end(record.end_ns)


def _emit_call(tracer: Any, call: LlmCallRecord, parent: Context, trace: Trace) -> None:
    from opentelemetry import trace as api

    span = tracer.start_span(
        f"chat {call.model}",
        context=parent,
        kind=api.SpanKind.CLIENT,
        start_time=call.start_ns,
        attributes=_call_attributes(call, trace.settings.content),
    )
    if call.error:
        span.set_status(api.StatusCode.ERROR, call.error)
    span.end(call.end_ns or trace.end_ns)


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
        attributes["gen_ai.input.messages"] = _messages([(m.role, m.content) for m in call.messages])
        attributes["gen_ai.output.messages"] = _messages(
            [("assistant", c.text) for c in (reply.completions if reply else ())]
        )
    return _present(attributes)


def _messages(pairs: list[tuple[str, str]]) -> str:
    """Messages in the JSON form that the conventions prescribe for content attributes."""
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]} for role, text in pairs])


def _present(attributes: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if value is not None and value != []}


def _ours(attributes: dict[str, Any]) -> dict[str, Any]:
    return {f"{SCOPE}.{name}": value for name, value in _present(attributes).items()}


class _Instruments:
    """The metrics, made once a process."""

    def __init__(self) -> None:
        from opentelemetry import metrics

        meter = metrics.get_meter(SCOPE, __version__)
        self.reports = meter.create_counter("evidencerails.reports", "{report}", "Reports by status and decision")
        self.findings = meter.create_counter("evidencerails.findings", "{finding}", "Findings by kind and category")
        self.score = meter.create_histogram("evidencerails.hallucination_score", "1", "Score of each verified report")
        self.check_s = meter.create_histogram("evidencerails.check.duration", "s", "Duration of each check")
        self.guard_s = meter.create_histogram("evidencerails.guard.duration", "s", "Duration of all checks together")
        self.tokens = meter.create_histogram("gen_ai.client.token.usage", "{token}", "Tokens of each LLM call")
        self.call_s = meter.create_histogram("gen_ai.client.operation.duration", "s", "Duration of each LLM call")


@lru_cache(maxsize=1)
def _instruments() -> _Instruments:
    return _Instruments()


def _record_metrics(trace: Trace) -> None:
    report, made = trace.report, _instruments()
    assert report is not None
    made.reports.add(1, {"status": report.status, "decision": report.decision})
    made.guard_s.record((trace.end_ns - trace.start_ns) / 1e9, {"status": report.status})
    if report.hallucination_score is not None:
        made.score.record(report.hallucination_score)
    for finding in report.findings:
        made.findings.add(1, {"kind": finding.kind, "category": finding.category})
    for record in trace.checks:
        labels = {"check": record.result.name, "status": record.result.status}
        made.check_s.record(record.result.duration_ms / 1000, labels)
    for call in trace.llm_calls:
        labels = {**CALL, "gen_ai.request.model": call.model}
        ended = {**labels, "error.type": call.error} if call.error else labels
        made.call_s.record(max(0, call.end_ns - call.start_ns) / 1e9, ended)
        if call.reply is not None:
            made.tokens.record(call.reply.prompt_tokens, {**labels, "gen_ai.token.type": "input"})
            made.tokens.record(call.reply.completion_tokens, {**labels, "gen_ai.token.type": "output"})
