"""Reports as checks make them."""

from __future__ import annotations

from typing import Any

from evidencerails import Claim, Exchange, Finding, Report, Span
from evidencerails.exchange import Labels
from evidencerails.operations.store.records import Entry
from evidencerails.report import CheckResult, LlmUsage, Quote

ANSWER = "Rhenium melts at 1200 degrees."
EVIDENCE = "Rhenium melts at 3186 degrees."


def exchange(answer: str = ANSWER, **labels: str) -> Exchange:
    return Exchange.of(answer, evidence=[EVIDENCE], prompt="Melting point?", labels=Labels(**labels))


def report(score: float = 0.9, **fields: Any) -> Report:
    """A report with a contradicted claim."""
    span = Span.of(ANSWER, 0, len(ANSWER))
    quote = Quote(passage_id="1", span=Span.of(EVIDENCE, 0, len(EVIDENCE)), score=0.9)
    claim = Claim(text=ANSWER, span=span, label="contradicted", score=score, evidence=(quote,), reason="3186, not 1200")
    finding = Finding(
        kind="unsupported_claim",
        category="factual",
        severity="high",
        origin="intrinsic",
        span=span,
        reason="3186, not 1200",
        evidence=(quote,),
        score=score,
        check="claims",
        version="1",
        label="contradicted",
        error_types=("number",),
    )
    values: dict[str, Any] = {
        "status": "hallucinated",
        "reason": "1 contradicted",
        "decision": "block",
        "decided_by": "default",
        "hallucination_score": score,
        "risk_level": "high",
        "claims": (claim,),
        "findings": (finding,),
        "checks": {"claims": CheckResult(name="claims", status="hallucinated", reason="1 contradicted")},
        "metrics": {"faithfulness": 0.1, "composite_score": 0.8},
        "timings_ms": {"total": 12.5},
        "llm": LlmUsage(calls=2, prompt_tokens=100, completion_tokens=20),
        "version": "0.1.0",
        **fields,
    }
    return Report(**values)


def grounded(**fields: Any) -> Report:
    """A report without findings."""
    return report(
        score=0.1,
        **{"status": "grounded", "decision": "allow", "claims": (), "findings": (), "risk_level": "low", **fields},
    )


def entry(name: str) -> Entry:
    """A report with this id on its way to the store."""
    return Entry(report=report(id=name), exchange=exchange(), created_at=1.0, sample_rate=1, redaction="off")
