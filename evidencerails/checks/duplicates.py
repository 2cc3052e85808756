"""Two checks that speak about the same claims: the finer one speaks for both."""

from __future__ import annotations

from collections.abc import Sequence

from evidencerails.measures.calibrated import OWN_SCORE
from evidencerails.report import CheckResult

FINER = "claims"
"""Compares each claim with the evidence."""
COARSER = "grounding"
"""Compares each sentence with the evidence, and looks for contradictions inside the answer and with the prompt."""
CITING = "citations"
"""Compares each claim with the passages that it cites."""
LOCAL = "nli"
"""Method of a claim that no model had to judge: where it is `unevaluatable`, nothing failed."""
SHARED_KIND = "unsupported_claim"
LEFT_TO_FINER = "claims against evidence: see the check 'claims'"


def deduplicate(results: Sequence[CheckResult]) -> list[CheckResult]:
    """The results, with what `grounding` says about claims left to `claims`, if `claims` ran to its end.

    A wrong claim then stands in a report once, with one finding; the status of both checks and the score rest on one
    verdict on it. Findings of other kinds stay with `grounding`. If `claims` could not verify everything, both speak,
    unless all that it left open is what no evidence decides: a matter of taste is no invention for `grounding` either.
    """
    if any(result.claims for result in results if result.name in (FINER, COARSER)):
        # A claim read against what it cites and against all the evidence would stand there twice; its findings stay.
        results = [r.model_copy(update={"claims": ()}) if r.name == CITING and r.claims else r for r in results]
    finer = next((result for result in results if result.name == FINER), None)
    if finer is None or not (finer.status in ("grounded", "hallucinated") or _left_only_taste(finer)):
        return list(results)
    return [_without_claims(result, finer) if result.name == COARSER else result for result in results]


def _left_only_taste(finer: CheckResult) -> bool:
    open_claims = [claim for claim in finer.claims if claim.label == "unevaluatable"]
    return bool(open_claims) and all(claim.method == LOCAL for claim in open_claims)


def _without_claims(result: CheckResult, finer: CheckResult) -> CheckResult:
    if result.status not in ("grounded", "hallucinated"):
        return result.model_copy(update={"claims": ()})
    is_settled = finer.status in ("grounded", "hallucinated")  # else it left open what no evidence decides
    status, reason = (finer.status, finer.reason) if is_settled else ("grounded", LEFT_TO_FINER)
    own_score = {OWN_SCORE: result.details.get("raw_score", result.score)}
    others = tuple(finding for finding in result.findings if finding.kind != SHARED_KIND)
    return result.model_copy(
        update={
            "claims": (),
            "findings": others,
            "status": "hallucinated" if others else status,
            "reason": ", ".join(f.kind for f in others) if others else reason,
            "score": max((finding.score or 0.0 for finding in others), default=None),
            "metrics": {},
            "details": {**own_score, **result.details},
        }
    )
