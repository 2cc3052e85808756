"""What a report says of each violation, and the shares of claims that cite well.

Reasons name sources by what the answer calls them, and quote no evidence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from evidencerails.checks.citations.answer import Citation, CitedAnswer, CitedStatement
from evidencerails.checks.citations.sources import Sources
from evidencerails.checks.citations.verification import Verification
from evidencerails.checks.grounding import claim_of
from evidencerails.exchange import Span
from evidencerails.report import Category, Finding, Origin, Severity
from evidencerails.settings.violations import VIOLATIONS

CHECK = "citations"
MISSING_CITATION, UNCITED_CLAIM, NONEXISTENT_SOURCE, MISQUOTED, NON_ENTAILING = VIOLATIONS["citations"]


class Violation(NamedTuple):
    """How findings of one violation are classed."""

    category: Category
    severity: Severity
    origin: Origin


CLASSES: dict[str, Violation] = {
    MISSING_CITATION: Violation("structural", "medium", "extrinsic"),  # claims in an answer that cites nothing at all
    UNCITED_CLAIM: Violation("structural", "low", "extrinsic"),  # a claim without a citation where others have one
    NONEXISTENT_SOURCE: Violation("confabulatory", "high", "extrinsic"),  # no evidence answers to the cited name
    MISQUOTED: Violation("contextual", "high", "intrinsic"),  # words in quotation marks that the source does not have
    NON_ENTAILING: Violation("contextual", "medium", "extrinsic"),  # the cited passages do not support the claim
}


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
    claim, label = claim_of(span, one.reading, one.judged, ""), one.judged.label
    named = f"cited passage {ids[0]}" if len(ids) == 1 else f"cited passages {', '.join(ids[:5])}"
    is_opposed = label == "contradicted"
    return _finding(
        NON_ENTAILING,
        span,
        f"{named}: {_NOT_ENTAILED.get(label, 'does not say so')}",
        score=1.0 - (one.restated or 0.0) if label == "supported" else claim.score,
        evidence=tuple(sources.in_exchange(quote) for quote in claim.evidence),
        severity="high" if is_opposed else "medium",
        origin="intrinsic" if is_opposed else "extrinsic",
    )


_NOT_ENTAILED = {
    "supported": "the claim restates it, and leaves out or changes a part of it",
    "contradicted": "says otherwise",
    "partially_supported": "supports it only in part",
}


def idle_finding(citation: Citation) -> Finding:
    """A citation beside others that adds nothing: the claim stands without it, and it supports no part of it."""
    reason = "the claim stands by its other sources; one that is named here supports no part of it"
    return _finding(NON_ENTAILING, citation.span, reason, score=None, severity="low")


def _finding(violation: str, span: Span, reason: str, *, score: float | None, **changed: Any) -> Finding:
    fields = {**CLASSES[violation]._asdict(), **changed}
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
    accurate = [one for one in existing if not _spans(one) & wrong]
    valid = [one for one in accurate if supported[one.statement.span]]
    metrics["attribution_precision"] = len(valid) / len(cited)
    if existing:
        metrics["attribution_accuracy"] = len(accurate) / len(existing)
    if accurate:
        metrics["attribution_entailment"] = len(valid) / len(accurate)
    return metrics


def _spans(one: CitedStatement) -> set[Span]:
    """Where a quotation of a claim may have been found wrong."""
    return {quotation.span for quotation in one.quotations} | {c.span for c in one.citations if c.quote}
