"""Claims: the answer taken apart, each claim in one of five classes, with the kind of error and the words that decide.

The method is HalluMeasure's (EMNLP 2024). Offline, rules extract the claims and NLI with word evidence classifies
them; a model may do either. Where both a sentence and its claims are read, they never disagree unnoticed: a sentence
that the evidence does not support has at least one claim that it does not support.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from evidencerails.checks.base import CheckContext
from evidencerails.checks.claims.extraction import Extraction, extract_with_model
from evidencerails.checks.claims.llm import LOCAL_DOUBT, classify_by_model
from evidencerails.checks.claims.offline import classify_offline
from evidencerails.checks.claims.plan import ClassifiedClaims, Plan, make_plan
from evidencerails.checks.claims.summary import UNSUPPORTED, claim_metrics, distributions, listed
from evidencerails.checks.grounding import finding_of
from evidencerails.exchange import Exchange
from evidencerails.report import CheckResult, CheckStatus, Claim, Finding
from evidencerails.text.claims import ExtractedClaim


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
        plan = await make_plan(exchange, context)
        if plan.result is not None:
            details = {"extracted": listed(plan.extracted)} if plan.extracted else {}
            return plan.result.model_copy(update={"version": self.version, "details": details})
        extraction = await _extract(exchange, plan, context)
        if not extraction.claims:
            return CheckResult(name=self.name, status="grounded", reason="no_claims", score=0.0, version=self.version)
        classified = await _classify(extraction.claims, exchange, plan, context)
        return await context.nli.run(self._result, classified, extraction, exchange, plan, context)

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
        return CheckResult(
            name=self.name,
            status=status,
            reason=reason,
            score=None if status == "unverified" else classified.score,
            claims=claims,
            findings=findings,
            metrics=claim_metrics(claims),
            details={**_details(claims, extraction, exchange, plan), **classified.details},
            version=version,
        )


async def _extract(exchange: Exchange, plan: Plan, context: CheckContext) -> Extraction:
    if plan.extractor is not None and plan.extracted:
        return await extract_with_model(exchange.response, context, plan.extractor)
    return Extraction(plan.extracted, [])


async def _classify(
    extracted: list[ExtractedClaim], exchange: Exchange, plan: Plan, context: CheckContext
) -> ClassifiedClaims:
    if plan.classifier is not None:
        return await classify_by_model(extracted, plan, context, plan.classifier)
    return await classify_offline(extracted, exchange, plan, context)


def _finding(claim: Claim, check: str) -> Finding:
    if claim.label == "unevaluatable":  # as severe as a claim that nothing supports, until a person has decided
        found = finding_of(claim.model_copy(update={"label": "absent"}), check, is_made_up=False)
        return found.model_copy(update={"label": claim.label})
    return finding_of(claim, check, is_made_up=bool({"number", "entity", "temporal"} & {*claim.error_types}))


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
        return "unverified", f"unevaluatable_claims: {unknown} of {len(claims)}; the first: {first}"
    return "grounded", "all claims supported"


def _details(claims: Sequence[Claim], extraction: Extraction, exchange: Exchange, plan: Plan) -> dict[str, Any]:
    """Distributions over labels, error types and contradicted evidence, and what the extraction left out."""
    return {
        "extractor": "llm" if plan.extractor else "offline",
        "classifier": "llm" if plan.classifier else "cascade" if plan.judge else "offline",
        **distributions(claims, exchange),
        "extracted": listed(extraction.claims),
        "dropped_claims": extraction.dropped[:50],
        "uncovered_sentences": extraction.uncovered,
        "extraction_failures": list(extraction.failures),
        "evidence_from": exchange.evidence_from,
        "passages_unread": list(plan.unread),
    }
