"""Spans, seen by the real SDK: in this process, and at an OTLP collector."""

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("opentelemetry.sdk")

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from stub import Stub, serving

from evidencerails import Guard
from evidencerails.testing import ReplayServer

FACT = "Rhenium melts at 3186 degrees Celsius. It was discovered in 1925."
BAD = "Rhenium melts at 1200 degrees Celsius. It was discovered in 1925."
_exporter = InMemorySpanExporter()


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    """What was exported during the test. A process has one provider, so all tests share it."""
    if not isinstance(trace.get_tracer_provider(), TracerProvider):
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(_exporter))
        trace.set_tracer_provider(provider)
    _exporter.clear()
    yield _exporter


def named(spans: InMemorySpanExporter, name: str) -> list[ReadableSpan]:
    return [span for span in spans.get_finished_spans() if span.name == name]


def is_child(child: ReadableSpan, parent: ReadableSpan) -> bool:
    return child.parent is not None and child.parent.span_id == parent.context.span_id  # type: ignore[union-attr]


def ours(span: ReadableSpan) -> dict[str, Any]:
    """The attributes of a span, ours without our prefix."""
    return {name.removeprefix("evidencerails."): value for name, value in (span.attributes or {}).items()}


def test_a_span_for_the_guard_each_check_and_each_claim(spans: InMemorySpanExporter) -> None:
    with trace.get_tracer("app").start_as_current_span("app.turn"):
        report = Guard({"checks": ["grounding", "claims"]}).check_sync(BAD, evidence=FACT)
    (turn,), (guard,) = named(spans, "app.turn"), named(spans, "evidencerails.guard")
    (check,) = named(spans, "evidencerails.check claims")
    claims = named(spans, "evidencerails.claim")
    assert is_child(guard, turn) and is_child(check, guard) and [span for span in claims if is_child(span, check)]
    expected = {"status": "hallucinated", "finding_kinds": ("unsupported_claim",)}
    seen = ours(guard)
    assert {name: seen[name] for name in expected} == expected
    assert (seen["status"], seen["hallucination_score"]) == (report.status, report.hallucination_score)
    assert {ours(span)["label"] for span in claims} == {claim.label for claim in report.claims}
    assert guard.start_time <= check.start_time < check.end_time <= guard.end_time  # type: ignore[operator]


def all_text(spans: InMemorySpanExporter) -> str:
    return " ".join(span.to_json() for span in spans.get_finished_spans())


def test_no_word_of_answer_or_evidence_unless_asked_for(spans: InMemorySpanExporter) -> None:
    Guard().check_sync(BAD, evidence=FACT)
    assert "Rhenium" not in all_text(spans) and "3186" not in all_text(spans)
    spans.clear()
    Guard({"telemetry": {"content": True}}).check_sync(BAD, evidence=FACT)
    assert "Rhenium" in all_text(spans)


def test_spans_can_be_turned_off_and_bounded(spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch) -> None:
    Guard({"telemetry": {"spans": "off"}}).check_sync(BAD, evidence=FACT)
    assert spans.get_finished_spans() == ()
    monkeypatch.setattr("evidencerails.operations.telemetry.emit.MAX_CLAIM_SPANS", 1)
    Guard({"checks": ["claims"]}).check_sync(BAD, evidence=FACT)
    assert len(named(spans, "evidencerails.claim")) == 1
    (check,) = named(spans, "evidencerails.check claims")
    assert ours(check)["claims_without_span"] == 1


def test_llm_calls_are_client_spans_below_their_check(server: ReplayServer, spans: InMemorySpanExporter) -> None:
    server.default("Rhenium melts at 1200 degrees Celsius.")
    settings = {
        "checks": ["consistency"],
        "llm": {"base_url": server.base_url, "model": "gpt-4o-mini", "api_key": "none"},
        "consistency": {"samples": 2, "sampling": "parallel"},
    }
    Guard(settings).check_sync(BAD, prompt="Where does rhenium melt?")
    calls = named(spans, "chat gpt-4o-mini")
    (check,) = named(spans, "evidencerails.check consistency")
    assert len(calls) == 2 and all(is_child(call, check) for call in calls)
    seen = ours(calls[0])
    assert calls[0].kind is trace.SpanKind.CLIENT
    assert (seen["gen_ai.operation.name"], seen["gen_ai.request.model"]) == ("chat", "gpt-4o-mini")
    assert seen["gen_ai.usage.input_tokens"] > 0 and seen["gen_ai.usage.output_tokens"] > 0
    assert "gen_ai.input.messages" not in seen


def test_a_failed_call_and_its_check_are_errors(spans: InMemorySpanExporter) -> None:
    settings = {
        "checks": ["consistency"],
        "llm": {"base_url": "http://127.0.0.1:9/v1", "model": "gone", "api_key": "none", "max_retries": 0},
    }
    assert Guard(settings).check_sync(BAD, prompt="?").status == "unverified"
    call = named(spans, "chat gone")[0]
    assert call.status.status_code is trace.StatusCode.ERROR
    assert ours(call)["error.type"] == "LlmError"


@pytest.fixture
def collector() -> Iterator[Stub]:
    with serving(lambda _: (200, "")) as running:
        yield running


def posted(collector: Stub, path: str) -> list[bytes]:
    """The bodies that OTLP exporters have posted."""
    found = [request for request in collector.requests if request.path == path]
    return [gzip.decompress(r.body) if r.headers.get("Content-Encoding") == "gzip" else r.body for r in found]


@pytest.mark.slow
def test_the_service_exports_spans_and_logs_the_trace(collector: Stub, tmp_path: Path) -> None:
    Path("s.yml").write_text("telemetry: {log_format: json}", encoding="utf-8")
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "evidencerails", "serve", "--config", "s.yml", "--port", "0"],
            stdout=subprocess.PIPE, stderr=log, text=True,
            env={**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_SERVICE_NAME": "rails-1"},
        )  # fmt: skip
        url = process.stdout.readline().split()[-1]
        trace_id = "4bf92f3577b34da6a3ce929d0e0e4736"
        headers = {"traceparent": f"00-{trace_id}-00f067aa0ba902b7-01", "x-request-id": "turn-1"}
        with httpx.Client(trust_env=False, timeout=60) as client:
            client.post(f"{url}/v1/check", json={"response": BAD, "evidence": FACT}, headers=headers)
        process.terminate()
        assert process.wait(30) == 0
        process.stdout.close()
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    requests = [ExportTraceServiceRequest.FromString(body) for body in posted(collector, "/v1/traces")]
    exported = [s for r in requests for rs in r.resource_spans for ss in rs.scope_spans for s in ss.spans]
    assert {a.value.string_value for r in requests for rs in r.resource_spans for a in rs.resource.attributes
            if a.key == "service.name"} == {"rails-1"}  # fmt: skip
    names = {span.name for span in exported if span.trace_id.hex() == trace_id}
    assert {f"evidencerails.{name}" for name in ("request", "guard", "check claims", "claim")} <= names
    lines = [json.loads(line) for line in (tmp_path / "log").read_text(encoding="utf-8").splitlines() if line[0] == "{"]
    mine = [line for line in lines if line.get("request_id") == "turn-1"]
    assert mine and {line["trace_id"] for line in mine} == {trace_id}
    assert not any("Rhenium" in json.dumps(line) for line in lines)


@pytest.mark.slow
def test_a_collector_that_is_away_costs_no_answer() -> None:
    code = (
        "from evidencerails import Guard\n"
        "from evidencerails.operations.telemetry.emit import exporting\n"
        "with exporting():\n"
        "    print(Guard().check_sync('Rhenium melts.', evidence='Rhenium melts.').status)\n"
    )
    away = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_EXPORTER_OTLP_TIMEOUT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env={**os.environ, **away}
    )
    assert done.stdout.strip() == "grounded", done.stderr


@pytest.mark.slow
def test_a_check_imports_nothing_of_what_it_does_not_use() -> None:
    code = (
        "import sys\nfrom evidencerails import Guard\n"
        "Guard().check_sync('Rhenium melts at 3186 degrees.', evidence='Rhenium melts at 3186 degrees.')\n"
        "print([name for name in sys.modules if name.startswith(('opentelemetry', 'prometheus', 'sqlalchemy'))])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "[]", done.stderr
