"""What the claims of a response come to: scores for people, and distributions for those who look for root causes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, get_args

from evidencerails.config import SEVERITY_WEIGHTS
from evidencerails.exchange import Exchange
from evidencerails.report import Claim, Label, Severity
from evidencerails.text.claims import ExtractedClaim

if TYPE_CHECKING:
    pass

LABELS: tuple[Label, ...] = get_args(Label)
UNSUPPORTED: tuple[Label, ...] = ("partially_supported", "contradicted", "absent")
SEVERITIES: dict[Label, Severity] = {"contradicted": "high", "absent": "medium", "partially_supported": "low"}
MAX_LISTED = 500
"""More extracted claims are not listed one by one in the details."""
MOST_CONTRADICTED = 20
"""Sentences of the evidence that are listed with the claims against them."""


def claim_metrics(claims: Sequence[Claim]) -> dict[str, float]:
    """Scores over all claims of a response. People read them; the decision looks at the claims themselves.

    `unsupported_claim_rate` is HalluMeasure's: the share of claims with another label than `supported`, those that
    could not be evaluated included. `groundedness` is the share of supported ones among those that could be.
    `severity_weighted_faithfulness` is 1 minus the mean severity weight of those (0 for supported), `faithfulness` the
    mean probability that a claim is supported.
    """
    counts = Counter(claim.label for claim in claims)
    total, known = len(claims), len(claims) - counts["unevaluatable"]
    lost = sum(SEVERITY_WEIGHTS[SEVERITIES[label]] * counts[label] for label in UNSUPPORTED)
    metrics = {
        "claims": float(total),
        "unsupported_claims": float(total - counts["supported"]),
        "unverified_claims": float(counts["unevaluatable"]),
        "unsupported_claim_rate": (total - counts["supported"]) / total,
        **{f"claims_{label}": float(counts[label]) for label in LABELS},
    }
    if known:
        metrics["groundedness"] = counts["supported"] / known
        metrics["severity_weighted_faithfulness"] = 1.0 - lost / known
        metrics["faithfulness"] = sum(1.0 - claim.score for claim in claims if claim.score is not None) / known
    return metrics


def distributions(claims: Sequence[Claim], exchange: Exchange) -> dict[str, Any]:
    """How the claims spread over labels, error types and contradicted sentences of the evidence, and the turns so far.

    HalluMeasure looks for common causes in these: one sentence that many claims contradict, a dialogue of many turns.
    """
    contradicted = Counter(
        (quote.passage_id, quote.span.text) for c in claims if c.label == "contradicted" for quote in c.evidence
    )
    return {
        "labels": dict(Counter(claim.label for claim in claims)),
        "error_types": dict(Counter(name for claim in claims for name in claim.error_types)),
        "contradicted_evidence": [
            {"passage_id": passage, "sentence": text, "claims": count}
            for (passage, text), count in contradicted.most_common(MOST_CONTRADICTED)
        ],
        "turns": sum(message.role == "user" for message in exchange.prompt),
    }


def listed(claims: Sequence[ExtractedClaim]) -> list[dict[str, Any]]:
    """The claims as they were before any verdict; offsets count in the response."""
    return [
        {
            "text": claim.text,
            "span": [claim.span.start, claim.span.end],
            "sentence": [claim.sentence.start, claim.sentence.end],
            "extractor": claim.extractor,
        }
        for claim in claims[:MAX_LISTED]
    ]
