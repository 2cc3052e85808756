"""Reports as checks make them, and what makes guards."""

from collections.abc import Callable
from typing import Any

from evidencerails import Claim, Exchange, Finding, Guard, Report, Span
from evidencerails.exchange import Labels
from evidencerails.report import CheckResult, LlmUsage, Quote

Make = Callable[..., Guard]
"""The fixture `guard` of several folders: it makes guards."""
ANSWER = "Rhenium melts at 1200 degrees."
EVIDENCE = "Rhenium melts at 3186 degrees."
SPAN = Span.of(ANSWER, 0, len(ANSWER))
QUOTE = Quote(passage_id="1", span=Span.of(EVIDENCE, 0, len(EVIDENCE)), score=0.9)
CLAIM = Claim(text=ANSWER, span=SPAN, label="contradicted", score=0.9, evidence=(QUOTE,), reason="3186, not 1200")
FINDING = Finding(
    kind="unsupported_claim", category="factual", severity="high", origin="intrinsic", span=SPAN, score=0.9,
    reason="3186, not 1200", evidence=(QUOTE,), check="claims", version="1", label="contradicted",
    error_types=("number",),
)  # fmt: skip


def exchange(answer: str = ANSWER, **labels: str) -> Exchange:
    return Exchange.of(answer, evidence=[EVIDENCE], prompt="Melting point?", labels=Labels(**labels))


def report(score: float = 0.9, **fields: Any) -> Report:
    """A report with a contradicted claim."""
    made = Report(
        status="hallucinated", reason="1 contradicted", decision="block", decided_by="default", risk_level="high",
        hallucination_score=score, claims=(CLAIM,), findings=(FINDING,), version="0.1.0", timings_ms={"total": 12.5},
        checks={"claims": CheckResult(name="claims", status="hallucinated", reason="1 contradicted")},
        metrics={"faithfulness": 0.1, "composite_score": 0.8},
        llm=LlmUsage(calls=2, prompt_tokens=100, completion_tokens=20),
    )  # fmt: skip
    return made.model_copy(update=fields)


def grounded(hallucination_score: float | None = 0.1, **fields: Any) -> Report:
    """A report without findings."""
    clean = {"status": "grounded", "decision": "allow", "claims": (), "findings": (), "risk_level": "low"}
    return report().model_copy(update={**clean, "hallucination_score": hallucination_score, **fields})


def judged(score: float, **fields: Any) -> Report:
    """A report with this score, hallucinated above 0.5."""
    return (report if score > 0.5 else grounded)(score, **fields)
