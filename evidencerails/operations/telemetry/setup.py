"""The SDK for `serve` and `batch`, which have no application around them that would set it up."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from evidencerails.errors import MissingExtraError
from evidencerails.settings.environment import variable

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
"""Variables of the SDK, which reads them and its others itself."""


@contextmanager
def exporting() -> Iterator[None]:
    """Export spans by OTLP over HTTP inside the block, if the environment names an endpoint; flushed at its end."""
    if not any(map(variable, ENDPOINTS)):
        yield
        return
    try:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise MissingExtraError("exporting telemetry", "opentelemetry-exporter-otlp", "telemetry") from None
    name = variable("OTEL_SERVICE_NAME") or "evidencerails"
    tracers = TracerProvider(resource=Resource.create({"service.name": name}))
    tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(tracers)
    try:
        yield
    finally:
        tracers.shutdown()
