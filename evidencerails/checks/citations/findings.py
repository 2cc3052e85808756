"""What a report says of each violation. Reasons name sources by what the answer calls them, and quote no evidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evidencerails.checks.citations.answer import Citation
from evidencerails.checks.citations.sources import Sources
from evidencerails.checks.citations.verification import Verification
from evidencerails.checks.citations.violations import (
    CLASSES,
    MISQUOTED,
    MISSING_CITATION,
    NON_ENTAILING,
    NONEXISTENT_SOURCE,
    UNCITED_CLAIM,
)
from evidencerails.checks.grounding import claim_of
from evidencerails.exchange import Span
from evidencerails.report import Finding

CHECK = "citations"


def nonexistent_finding(citation: Citation, sources: int) -> Finding:
    """A citation that names something which is none of the sources; a certain finding."""
    names = ", ".join(repr(name[:80]) for name in citation.names)
    return _finding(NONEXISTENT_SOURCE, citation.span, f"{names} is none of the {sources} sources", score=1.0)


def uncited_finding(span: Span, *, cites: bool) -> Finding:
    """A claim without a citation, in an answer that cites elsewhere or not at all; a certain finding."""
    if cites:
        return _finding(UNCITED_CLAIM, span, "the claim cites no source", score=1.0)
    return _finding(MISSING_CITATION, span, "the answer makes claims and cites no source", score=1.0)


def misquoted_finding(span: Span, likeness: float) -> Finding:
    """A quotation that the source does not have; a certain finding, however near the words come."""
    reason = f"the words are not in the source; the nearest there are {likeness:.0%} alike"
    return _finding(MISQUOTED, span, reason, score=1.0)


def not_entailed_finding(span: Span, one: Verification, ids: Sequence[str], sources: Sources) -> Finding:
    """A claim that its cited passages do not entail, or (strict) that restates only a part of them."""
    claim = claim_of(span, one.reading, one.judged, "")
    label = one.judged.label
    named = f"cited passage {ids[0]}" if len(ids) == 1 else f"cited passages {', '.join(ids[:5])}"
    score: float | None = claim.score
    if label == "supported":
        reason, score = (
            f"{named}: the claim restates it, and leaves out or changes a part of it",
            1.0 - (one.restated or 0.0),
        )
    elif label == "contradicted":
        reason = f"{named}: says otherwise"
    elif label == "partially_supported":
        reason = f"{named}: supports it only in part"
    else:
        reason = f"{named}: does not say so"
    return _finding(
        NON_ENTAILING,
        span,
        reason,
        score=score,
        evidence=tuple(sources.in_exchange(quote) for quote in claim.evidence),
        severity="high" if label == "contradicted" else "medium",
        origin="intrinsic" if label == "contradicted" else "extrinsic",
    )


def idle_finding(citation: Citation, one: Verification) -> Finding:
    """A citation beside others that adds nothing: the claim stands without it, and it supports no part of it."""
    reason = "the claim stands by its other sources; one that is named here supports no part of it"
    return _finding(NON_ENTAILING, citation.span, reason, score=None, severity="low")


def _finding(violation: str, span: Span, reason: str, *, score: float | None, **changed: Any) -> Finding:
    classed = CLASSES[violation]
    fields = {"category": classed.category, "severity": classed.severity, "origin": classed.origin, **changed}
    return Finding(
        kind="citation_violation",
        violation=violation,
        span=span,
        reason=reason,
        score=score,
        check=CHECK,
        version="",
        **fields,
    )
