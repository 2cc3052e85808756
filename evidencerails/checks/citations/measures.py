"""Attribution precision and its parts, and how much of an answer cites at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evidencerails.checks.citations.answer import CitedAnswer, CitedStatement
from evidencerails.checks.citations.violations import MISQUOTED
from evidencerails.exchange import Span
from evidencerails.report import Finding


def citation_metrics(
    answer: CitedAnswer, findings: Sequence[Finding], supported: Mapping[Span, bool], *, is_read: bool
) -> dict[str, float]:
    """Counts and shares; a share of nothing is left out, never counted as 1.

    `attribution_precision` = valid claims by cited claims, the product of `attribution_existence` (all that a claim
    cites exists), `attribution_accuracy` (of those: its quotations are verbatim) and `attribution_entailment` (of
    those: the sources entail it). Left out from the level `required` down, and where a cited claim could not be read.

    Args:
        supported: cited claim that was read -> whether its sources support it.
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
