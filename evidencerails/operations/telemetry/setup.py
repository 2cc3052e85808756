"""The SDK for `serve` and `batch`, which have no application around them that would set it up."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from evidencerails.errors import MissingExtraError
from evidencerails.settings.environment import variable
from evidencerails.settings.operations import TelemetrySettings

ENDPOINT_VARIABLE = "OTEL_EXPORTER_OTLP_ENDPOINT"


@contextmanager
def exporting(settings: TelemetrySettings) -> Iterator[None]:
    """Export spans by OTLP over HTTP inside the block, if an endpoint is set; flushed at its end."""
    endpoint = settings.otlp_endpoint or variable(ENDPOINT_VARIABLE)
    if not endpoint:
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
    base, resource = endpoint.rstrip("/"), Resource.create({"service.name": settings.service_name})
    tracers = TracerProvider(resource=resource)
    tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{base}/v1/traces")))
    trace.set_tracer_provider(tracers)
    try:
        yield
    finally:
        tracers.shutdown()
