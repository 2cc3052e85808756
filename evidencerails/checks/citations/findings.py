"""What a report says of each violation, and the shares of claims that cite well.

Reasons name sources by what the answer calls them, and quote no evidence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evidencerails.checks.citations.answer import CitedAnswer
from evidencerails.checks.citations.sources import Sources
from evidencerails.checks.citations.verification import Verification
from evidencerails.checks.grounding import claim_of
from evidencerails.exchange import Span
from evidencerails.report import Category, Finding, Origin, Severity
from evidencerails.settings.policies import VIOLATIONS

CHECK = "citations"
MISSING_CITATION, UNCITED_CLAIM, NONEXISTENT_SOURCE, MISQUOTED, NON_ENTAILING = VIOLATIONS["citations"]


_CLASSES: dict[str, tuple[Category, Severity, Origin]] = {
    MISSING_CITATION: ("structural", "medium", "extrinsic"),  # claims in an answer that cites nothing at all
    UNCITED_CLAIM: ("structural", "low", "extrinsic"),  # a claim without a citation where others have one
    NONEXISTENT_SOURCE: ("confabulatory", "high", "extrinsic"),  # no evidence answers to the cited name
    MISQUOTED: ("contextual", "high", "intrinsic"),  # words in quotation marks that the source does not have
    NON_ENTAILING: ("contextual", "medium", "extrinsic"),  # the cited passages do not support the claim
}
_NOT_ENTAILED = {
    "supported": "the claim restates it, and leaves out or changes a part of it",
    "contradicted": "says otherwise",
    "partially_supported": "supports it only in part",
}
IDLE = "the claim stands by its other sources; one that is named here supports no part of it"


def violation_finding(violation: str, span: Span, reason: str, *, score: float | None = 1.0, **changed: Any) -> Finding:
    """A finding of one violation; certain unless it has another score. Its version is added in the end."""
    category, severity, origin = _CLASSES[violation]
    fields = {"category": category, "severity": severity, "origin": origin, "score": score, "reason": reason, **changed}
    return Finding(kind="citation_violation", violation=violation, span=span, check=CHECK, version="", **fields)


def not_entailed_finding(span: Span, one: Verification, ids: Sequence[str], sources: Sources) -> Finding:
    """A claim that its cited passages do not entail, or (strict) that restates only a part of them."""
    claim, label = claim_of(span, one.reading, one.judged, ""), one.judged.label
    named = f"cited passage {ids[0]}" if len(ids) == 1 else f"cited passages {', '.join(ids[:5])}"
    opposed = {"severity": "high", "origin": "intrinsic"} if label == "contradicted" else {}
    return violation_finding(
        NON_ENTAILING,
        span,
        f"{named}: {_NOT_ENTAILED.get(label, 'does not say so')}",
        score=1.0 - (one.restated or 0.0) if label == "supported" else claim.score,
        evidence=tuple(sources.in_exchange(quote) for quote in claim.evidence),
        **opposed,
    )


# ---- metrics


def citation_metrics(
    answer: CitedAnswer, findings: Sequence[Finding], supported: Mapping[Span, bool], *, is_read: bool
) -> dict[str, float]:
    """Counts and shares; a share of nothing is left out, never counted as 1.

    `attribution_precision` = valid claims by cited claims, the product of `attribution_existence` (all that a claim
    cites exists), `attribution_accuracy` (of those: its quotations are verbatim) and `attribution_entailment` (of
    those: the sources entail it, each citation a part of it). Left out from the level `required` down, and where a
    cited claim could not be read.

    Args:
        supported: cited claim that was read -> whether its sources support it, each of its citations a part.
        is_read: False at levels that read no passage.
    """
    cited = [one for one in answer.statements if one.citations]
    metrics = {
        "citations": float(len(answer.citations)),
        "cited_claims": float(len(cited)),
        "uncited_claims": float(len(answer.statements) - len(cited)),
    }
    if answer.statements:
        metrics["citation_coverage"] = len(cited) / len(answer.statements)
    if not cited:
        return metrics
    existing = [one for one in cited if all(citation.exists for citation in one.citations)]
    metrics["attribution_existence"] = len(existing) / len(cited)
    if not is_read or not all(one.statement.span in supported for one in existing):
        return metrics
    wrong = {finding.span for finding in findings if finding.violation == MISQUOTED}
    spans = [{q.span for q in one.quotations} | {c.span for c in one.citations} for one in existing]
    accurate = [one for one, own in zip(existing, spans, strict=True) if not own & wrong]
    valid = [one for one in accurate if supported[one.statement.span]]
    metrics["attribution_precision"] = len(valid) / len(cited)
    if existing:
        metrics["attribution_accuracy"] = len(accurate) / len(existing)
    if accurate:
        metrics["attribution_entailment"] = len(valid) / len(accurate)
    return metrics
