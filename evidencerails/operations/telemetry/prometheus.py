"""What `/metrics` of the service gives to Prometheus. Labels come from closed sets, so no caller can add any."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evidencerails.errors import extra_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from evidencerails.report import Report

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
SCORES = tuple(place / 10 for place in range(1, 11))


class ServiceMetrics:
    """The metrics of one service, in a registry of its own."""

    def __init__(self) -> None:
        with extra_for("the service's /metrics"):
            from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector
        made = self.registry = CollectorRegistry()
        ProcessCollector(registry=made)
        self.requests = Counter("evidencerails_requests", "Requests", ["method", "route", "status"], registry=made)
        self.request_s = Histogram(
            "evidencerails_request_seconds", "Duration", ["route"], buckets=SECONDS, registry=made
        )
        self.reports = Counter("evidencerails_reports", "Reports", ["status", "decision"], registry=made)
        self.findings = Counter("evidencerails_findings", "Findings", ["kind", "category"], registry=made)
        self.score = Histogram("evidencerails_hallucination_score", "Scores", buckets=SCORES, registry=made)
        self.check_s = Histogram("evidencerails_check_seconds", "Duration", ["check"], buckets=SECONDS, registry=made)
        self.llm_calls = Counter("evidencerails_llm_calls", "LLM calls", registry=made)
        self.llm_tokens = Counter("evidencerails_llm_tokens", "LLM tokens", ["kind"], registry=made)

    def watch(self, name: str, meaning: str, read: Callable[[], float]) -> None:
        from prometheus_client import Gauge

        Gauge(name, meaning, registry=self.registry).set_function(read)

    def observe_request(self, method: str, route: str, status: int, seconds: float) -> None:
        known = method if method in ("GET", "POST", "HEAD") else "other"
        self.requests.labels(known, route, str(status)).inc()
        self.request_s.labels(route).observe(seconds)

    def record(self, report: Report) -> None:
        self.reports.labels(report.status, report.decision).inc()
        if report.hallucination_score is not None:
            self.score.observe(report.hallucination_score)
        for finding in report.findings:
            self.findings.labels(finding.kind, finding.category).inc()
        for name, check in report.checks.items():
            self.check_s.labels(name).observe(check.duration_ms / 1000)
        self.llm_calls.inc(report.llm.calls)
        self.llm_tokens.labels("prompt").inc(report.llm.prompt_tokens)
        self.llm_tokens.labels("completion").inc(report.llm.completion_tokens)
