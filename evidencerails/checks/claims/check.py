"""Claims: the answer taken apart, each claim in one of five classes, with the kind of error and the words that decide.

The method is HalluMeasure's (EMNLP 2024). Offline, rules extract the claims and NLI with word evidence classifies
them; a model may do either. Where both a sentence and its claims are read, they never disagree unnoticed: a sentence
that the evidence does not support has at least one claim that it does not support.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeAlias

from evidencerails.checks.base import CheckContext
from evidencerails.checks.claims.extraction import Extraction, extract_with_model
from evidencerails.checks.claims.llm import LOCAL_DOUBT, classify_by_model, second_opinion
from evidencerails.checks.claims.offline import classify_offline
from evidencerails.checks.claims.plan import LABELS, UNSUPPORTED, ClassifiedClaims, Plan, make_plan
from evidencerails.checks.grounding import finding_of
from evidencerails.config import SEVERITY_WEIGHTS
from evidencerails.exchange import Exchange
from evidencerails.nli.service import Steps
from evidencerails.report import CheckResult, CheckStatus, Claim, Finding, Label, Severity
from evidencerails.text.claims import ExtractedClaim

SEVERITIES: dict[Label, Severity] = {"contradicted": "high", "absent": "medium", "partially_supported": "low"}
MAX_LISTED = 500
"""More extracted claims are not listed one by one in the details."""
MOST_CONTRADICTED = 20
"""Sentences of the evidence that are listed with the claims against them."""

_Local: TypeAlias = "tuple[Plan, ClassifiedClaims | None, CheckResult | None]"


class ClaimsCheck:
    """Claim extraction, classification into five labels, and error types.

    `partially_supported` counts as not supported: a part of the claim is. A claim that could not be evaluated makes the
    status unverified, unless another one is bad.
    """

    name = "claims"
    version = "1"

    async def run(self, exchange: Exchange, context: CheckContext) -> CheckResult:
        """Check each claim of the response.

        Raises:
            NliError: the NLI backend failed.
            SettingsError: the file of `claims.examples` cannot be used.
        """
        plan, classified, result = await context.nli.follow(self._locally(exchange, context))
        if result is not None:
            return result
        extraction = Extraction(plan.extracted, [])
        if plan.extractor is not None:
            extraction = await extract_with_model(exchange.response, context, plan.extractor)
            if not extraction.claims:
                return self._without_claims()
        if plan.classifier is not None:
            classified = await classify_by_model(extraction.claims, plan, context, plan.classifier)
        elif classified is None:
            classified = await context.nli.follow(classify_offline(extraction.claims, exchange, plan, context))
        if plan.judge is not None:
            classified = await second_opinion(classified, plan, context, plan.judge)
        return await context.nli.run(self._result, classified, extraction, exchange, plan, context)

    def _locally(self, exchange: Exchange, context: CheckContext) -> Steps[_Local]:
        """The plan; the result if no model but that of NLI has a part in it, and the classes if one reviews them."""
        plan = make_plan(exchange, context)
        if plan.result is not None:
            details = {"extracted": _listed(plan.extracted)} if plan.extracted else {}
            return plan, None, plan.result.model_copy(update={"version": self.version, "details": details})
        if not plan.extracted:
            return plan, None, self._without_claims()
        if plan.extractor is not None or plan.classifier is not None:
            return plan, None, None
        classified = yield from classify_offline(plan.extracted, exchange, plan, context)
        if plan.judge is not None:
            return plan, classified, None
        return plan, classified, self._result(classified, Extraction(plan.extracted, []), exchange, plan, context)

    def _without_claims(self) -> CheckResult:
        return CheckResult(name=self.name, status="grounded", reason="no_claims", score=0.0, version=self.version)

    def _result(
        self,
        classified: ClassifiedClaims,
        extraction: Extraction,
        exchange: Exchange,
        plan: Plan,
        context: CheckContext,
    ) -> CheckResult:
        version = f"{self.version}+{classified.method}"
        claims = tuple(claim.model_copy(update={"version": version}) for claim in classified.claims)
        flagged = [claim for claim in claims if claim.label in UNSUPPORTED or _is_doubted(claim)]
        findings = tuple(_finding(claim, self.name) for claim in flagged)
        status, reason = _status(claims, plan)
        left = classified.details.get("not_judged")
        if left:
            reason = f"{reason}; {len(left)} by the local reading alone, the app's model gave no verdict: {left[0]}"
        return CheckResult(
            name=self.name,
            status=status,
            reason=reason,
            score=None if status == "unverified" else classified.score,
            claims=claims,
            findings=findings,
            metrics=_metrics(claims),
            details={**_details(claims, extraction, exchange, plan), **classified.details},
            version=version,
        )


def _finding(claim: Claim, check: str) -> Finding:
    if claim.label == "unevaluatable":  # as severe as a claim that nothing supports, until a person has decided
        found = finding_of(claim.model_copy(update={"label": "absent"}), check)
        return found.model_copy(update={"label": claim.label, "category": "contextual"})
    return finding_of(claim, check)


def _is_doubted(claim: Claim) -> bool:
    """True if a person has to decide between a model and the local reading."""
    return claim.label == "unevaluatable" and claim.reason.startswith(LOCAL_DOUBT)


def _status(claims: Sequence[Claim], plan: Plan) -> tuple[CheckStatus, str]:
    counts = Counter(claim.label for claim in claims)
    bad = [f"{counts[label]} {label}" for label in UNSUPPORTED if counts[label]]
    unknown = counts["unevaluatable"]
    if plan.unread and bad and not counts["contradicted"]:
        return "unverified", f"{plan.unread[0]} (part of the evidence): it may hold what the rest lacks"
    if bad:
        return "hallucinated", ", ".join([*bad, f"{unknown} unevaluatable"] if unknown else bad)
    if unknown:
        first = next(claim.reason for claim in claims if claim.label == "unevaluatable")
        reason = f"unevaluatable_claims: {unknown} of {len(claims)}; the first: {first}"
        return "unverified", f"{plan.unreadable}; {reason}" if plan.unreadable else reason
    return "grounded", "all claims supported"


def _details(claims: Sequence[Claim], extraction: Extraction, exchange: Exchange, plan: Plan) -> dict[str, Any]:
    """Distributions over labels, error types and contradicted evidence, and what the extraction left out.

    HalluMeasure looks for common causes in these: one sentence that many claims contradict, a dialogue of many turns.
    """
    contradicted = Counter(
        (quote.passage_id, quote.span.text) for c in claims if c.label == "contradicted" for quote in c.evidence
    )
    return {
        "extractor": "llm" if plan.extractor else "offline",
        "classifier": "llm" if plan.classifier else "cascade" if plan.judge else "offline",
        "labels": dict(Counter(claim.label for claim in claims)),
        "error_types": dict(Counter(name for claim in claims for name in claim.error_types)),
        "contradicted_evidence": [
            {"passage_id": passage, "sentence": text, "claims": count}
            for (passage, text), count in contradicted.most_common(MOST_CONTRADICTED)
        ],
        "turns": sum(message.role == "user" for message in exchange.prompt),
        "extracted": _listed(extraction.claims),
        "dropped_claims": extraction.dropped[:50],
        "uncovered_sentences": extraction.uncovered,
        "extraction_failures": list(extraction.failures),
        "evidence_from": exchange.evidence_from,
        "passages_unread": list(plan.unread),
    }


def _metrics(claims: Sequence[Claim]) -> dict[str, float]:
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


def _listed(claims: Sequence[ExtractedClaim]) -> list[dict[str, Any]]:
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
