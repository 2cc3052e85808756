"""Settings of traces, metrics and logs."""

from __future__ import annotations

from typing import Literal

from evidencerails.settings.base import Section


class TelemetrySettings(Section):
    """What is exported to OpenTelemetry, and how `serve` logs."""

    spans: Literal["auto", "off"] = "auto"
    """Spans for each check, claim and LLM call, as soon as the process has an OpenTelemetry tracer provider."""
    content: bool = False
    """Put the words of claims, prompts and replies into spans."""
    otlp_endpoint: str | None = None
    """Base URL of an OTLP/HTTP collector for `serve` and `batch`; unset: `OTEL_EXPORTER_OTLP_ENDPOINT`, else none."""
    service_name: str = "evidencerails"
    """`service.name` of what they export."""
    log_format: Literal["text", "json"] = "text"
    """Lines for people or one JSON object a line, each with request and trace id."""
