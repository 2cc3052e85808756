"""What a reviewer is given (answer, findings, evidence), and what the review queue hands out."""

from __future__ import annotations

import hashlib
from typing import Any, Literal, NamedTuple

from pydantic import Field

from evidencerails.exchange import Exchange, Passage, Value
from evidencerails.mitigation.escalate import confidence_of
from evidencerails.operations.times import iso
from evidencerails.report import Claim, Finding, Report, ReviewState, ReviewTier

Verdict = Literal["approved", "rejected", "edited"]
VERDICTS: tuple[Verdict, ...] = ("approved", "rejected", "edited")
RELEASABLE: tuple[str, ...] = ("approved", "edited")
MAX_EVIDENCE_CHARACTERS = 200_000
"""Of all passages together; whole passages are left out beyond it, and counted."""


class Suggestion(Value):
    """The best known replacement of flagged words; empty: delete them."""

    span_start: int
    span_end: int
    text: str
    source: str
    """`repair` of a model, or `evidence` that says otherwise."""


class Package(Value):
    """One answer as a reviewer gets it."""

    output: str
    flagged_claims: tuple[Claim, ...] = ()
    findings: tuple[Finding, ...] = ()
    evidence: tuple[Passage, ...] = ()
    evidence_left_out: int = 0
    """Passages that did not fit."""
    confidence: float | None = Field(default=None, ge=0.0, le=1.0)
    """None if it could not be measured; the risk is the stakes alone then."""
    confidence_parts: dict[str, float] = Field(default_factory=dict)
    scores: dict[str, float] = Field(default_factory=dict)
    suggestions: tuple[Suggestion, ...] = ()
    status: str
    reason: str
    context: dict[str, Any] = Field(default_factory=dict)
    """Why the answer was written: question, flow, agent, model, session, checks run."""


def package_of(report: Report, exchange: Exchange) -> Package:
    """The package of an answer; its output is what would leave without a review."""
    stays = report.answer is None or (report.is_blocked and report.decision != "escalate")
    evidence, characters = [], 0
    for passage in exchange.evidence:
        if characters + len(passage.text) <= MAX_EVIDENCE_CHARACTERS:
            evidence.append(passage)
            characters += len(passage.text)
    scores = {name: check.score for name, check in report.checks.items()}
    scores |= {name: report.metrics.get(name) for name in ("composite_score", "faithfulness", "groundedness")}
    scores["hallucination_score"] = report.hallucination_score
    return Package(
        output=exchange.response if stays else str(report.answer),
        flagged_claims=tuple(claim for claim in report.claims if claim.label != "supported"),
        findings=report.findings,
        evidence=tuple(evidence),
        evidence_left_out=len(exchange.evidence) - len(evidence),
        confidence=confidence_of(report),
        confidence_parts=dict(report.abstention.parts) if report.abstention is not None else {},
        scores={name: score for name, score in scores.items() if score is not None},
        suggestions=_suggestions(report),
        status=report.status,
        reason=report.reason,
        context={
            "question": exchange.user_input,
            "response": exchange.response,
            **{name: getattr(exchange.labels, name) for name in ("flow", "agent", "model", "session")},
            "checks": {name: check.status for name, check in report.checks.items()},
            "decided_by": report.decided_by,
        },
    )


def _suggestions(report: Report) -> tuple[Suggestion, ...]:
    """The repairs of a model; where there is none, the evidence that contradicts a claim."""
    found = {
        (claim.span.start, claim.span.end): (claim.evidence[0].span.text, "evidence")
        for claim in report.claims
        if claim.label == "contradicted" and claim.evidence
    }
    changes = report.repair.changes if report.repair is not None else ()
    found |= {(change.before.start, change.before.end): (change.after, "repair") for change in changes}
    return tuple(
        Suggestion(span_start=start, span_end=end, text=text, source=source)
        for (start, end), (text, source) in found.items()
    )


class Item(NamedTuple):
    """One review without its package. Times are seconds since 1970."""

    id: str
    version: int
    """Of the item; a decision names the version that the reviewer has seen."""
    state: ReviewState
    tier: ReviewTier
    risk: float
    stakes: str
    report_id: str | None
    created_at: float
    deadline_at: float
    reviewer: str | None
    decided_at: float | None
    released_at: float | None

    def is_overdue(self, now: float) -> bool:
        return self.state == "pending" and now > self.deadline_at


class Event(NamedTuple):
    at: float
    event: str
    actor: str | None
    version: int


class OpenItem(NamedTuple):
    """One review with all that was handed to the reviewer, and what became of it."""

    item: Item
    package: Package | None
    """None once its texts were deleted."""
    note: str | None
    edited: str | None
    events: tuple[Event, ...]


class Released(NamedTuple):
    review_id: str
    text: str
    verdict: Verdict
    reviewer: str | None
    is_first: bool
    """False if it was released before: after a crash it is fetched again."""


def content_hash(text: str) -> str:
    """SHA-256 of a text, as hexadecimal digits; lone surrogates are allowed in it."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def plain_item(item: Item) -> dict[str, Any]:
    """An item as JSON-ready data, with times for people."""
    data = item._asdict()
    return {name: iso(value) if name.endswith("_at") and value is not None else value for name, value in data.items()}
