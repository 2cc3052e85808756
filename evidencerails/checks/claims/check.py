"""Claims: the answer taken apart, each claim in one of five classes, with the kind of error and the words that decide.

The method is HalluMeasure's (EMNLP 2024). Offline, rules extract the claims and NLI classifies
them; a model may do either. Where both a sentence and its claims are read, they never disagree unnoticed: a sentence
that the evidence does not support has at least one claim that it does not support.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from evidencerails.checks.base import CheckContext
from evidencerails.checks.claims.extraction import Extraction, extract_with_model
from evidencerails.checks.claims.llm import LOCAL_DOUBT, classify_by_model, second_opinion
from evidencerails.checks.claims.plan import LABELS, UNSUPPORTED, ClassifiedClaims, Plan
from evidencerails.checks.claims.proof import MAX_COMPARED_CHARACTERS
from evidencerails.checks.error_types import error_types
from evidencerails.checks.grounding import SEVERITIES, claim_of, finding_of, readable_evidence
from evidencerails.exchange import Exchange
from evidencerails.nli.service import Steps
from evidencerails.report import PASS_EVIDENCE, CheckResult, CheckStatus, Claim, Label
from evidencerails.settings.scoring import SEVERITY_WEIGHTS
from evidencerails.text.claimable import bare_labels, clean
from evidencerails.text.claims import ExtractedClaim, extract_claims
from evidencerails.text.subjective import subject_of
from evidencerails.verdict.model import VerdictModel
from evidencerails.verdict.reading import (
    ClaimEvidence,
    Hypothesis,
    Judged,
    hypotheses,
    judged_reading,
    lacks_its_question,
    question_of,
    reading,
)

MAX_LISTED = 500
"""More extracted claims are not listed one by one in the details."""
MOST_CONTRADICTED = 20
"""Sentences of the evidence that are listed with the claims against them."""
MAX_ANSWER_CHARACTERS = 8_000
"""Of a longer answer only so much is shown to a judge beside its claims."""

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
            classified = await context.nli.follow(_classify_offline(extraction.claims, exchange, plan, context))
        if plan.judge is not None:
            classified = await second_opinion(classified, plan, context, plan.judge)
        return await context.nli.run(self._result, classified, extraction, exchange, plan)

    def _locally(self, exchange: Exchange, context: CheckContext) -> Steps[_Local]:
        """The plan; the result if no model but that of NLI has a part in it, and the classes if one reviews them."""
        plan = _plan(exchange, context)
        if plan.result is not None:
            details = {"extracted": _listed(plan.extracted)} if plan.extracted else {}
            return plan, None, plan.result.model_copy(update={"version": self.version, "details": details})
        if not plan.extracted:
            return plan, None, self._without_claims()
        if plan.extractor is not None or plan.classifier is not None:
            return plan, None, None
        classified = yield from _classify_offline(plan.extracted, exchange, plan, context)
        if plan.judge is not None:
            return plan, classified, None
        return plan, classified, self._result(classified, Extraction(plan.extracted, []), exchange, plan)

    def _without_claims(self) -> CheckResult:
        return CheckResult(name=self.name, status="grounded", reason="no_claims", score=0.0, version=self.version)

    def _result(
        self, classified: ClassifiedClaims, extraction: Extraction, exchange: Exchange, plan: Plan
    ) -> CheckResult:
        version = f"{self.version}+{classified.method}"
        claims = tuple(claim.model_copy(update={"version": version}) for claim in classified.claims)
        flagged = [claim for claim in claims if claim.label in UNSUPPORTED or claim.reason.startswith(LOCAL_DOUBT)]
        findings = tuple(finding_of(claim, self.name) for claim in flagged)
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


# ---- who reads what


def _plan(exchange: Exchange, context: CheckContext) -> Plan:
    """Who reads what, by the settings, the language and the models at hand; or why nobody can."""
    settings = context.config.claims
    model = context.judge or context.llm
    names_one = bool(context.config.llm.model or context.config.llm.base_url)
    has_own_judge = context.judge is not None and context.judge is not context.llm
    named = model if has_own_judge or names_one else None  # an app's own model has an allowance instead
    extractor = model if settings.extractor == "llm" else None
    classifier = model if settings.classifier == "llm" else None
    if model is None and "llm" in (settings.extractor, settings.classifier):
        return _stop("no_model: claims.extractor or claims.classifier is 'llm', and there is no model", [])
    found = extract_claims(exchange.response, context.splitter)
    extracted = [claim for claim in found if not lacks_its_question(claim.sentence.text, exchange.user_input)]
    if not extracted:
        return _stop("no_question: a bare yes or no says nothing without its question", found) if found else Plan([])
    if not exchange.evidence:
        return _stop(f"no_evidence: nothing to check the answer against{PASS_EVIDENCE}", extracted)
    spans = list(dict.fromkeys(claim.sentence for claim in extracted))
    readable = readable_evidence(exchange, spans, context.nli.languages)
    judge = (named or context.own_model) if settings.classifier == "auto" else None
    if readable.reason and classifier is None:  # a language that the NLI model does not know
        if judge is None:
            return _stop(readable.reason, extracted)
        classifier = judge
        extractor = extractor or (named if settings.extractor == "auto" else None)
    question = question_of(exchange.user_input) if exchange.prompt else ""
    answer = f"Answer: {exchange.response.strip()[:MAX_ANSWER_CHARACTERS]}"
    answer = f"Question: {question}\n{answer}" if question else answer
    plan = Plan(extracted, readable.passages, readable.unread, extractor, question=question, answer=answer)
    if classifier is None:
        return plan._replace(judge=judge, is_named=named is not None)
    is_named = classifier is not context.own_model  # a model reads every language
    return plan._replace(
        passages=exchange.evidence, unread=(), classifier=classifier, is_named=is_named, unreadable=readable.reason
    )


def _stop(reason: str, extracted: list[ExtractedClaim]) -> Plan:
    return Plan(extracted, result=CheckResult(name="claims", status="unverified", reason=reason))


# ---- the classes without a model that writes: NLI over each claim and its sentence


class _Read(NamedTuple):
    """One claim with what the evidence says about it."""

    extracted: ExtractedClaim
    reading: ClaimEvidence
    verdict: Judged


def _classify_offline(
    extracted: list[ExtractedClaim], exchange: Exchange, plan: Plan, context: CheckContext
) -> Steps[ClassifiedClaims]:
    """The claims with the labels that NLI gives them."""
    model, settings, passages = VerdictModel.load(), context.config.grounding, plan.passages
    sentences = list(dict.fromkeys(claim.sentence for claim in extracted))
    wordings = hypotheses(sentences, exchange.user_input)
    # Each sentence as if it were one claim, and the labels of the response, which the evidence need not have.
    whole = [ExtractedClaim(w.text, span, span) for w, span in zip(wordings, sentences, strict=True)]
    labels = [ExtractedClaim(clean(span.text), span, span) for span in bare_labels(exchange.response, sentences)]
    every = [*whole, *extracted, *labels]
    texts: list[Hypothesis | str] = [*wordings, *(claim.text for claim in (*extracted, *labels))]
    readings = yield from reading(texts, passages, context.nli)
    read = [
        _Read(claim, one, judged_reading(one, model, settings))
        for claim, one in zip(every, readings.claims, strict=True)
    ]
    of_claims, of_labels = read[len(whole) : len(read) - len(labels)], read[len(read) - len(labels) :]
    settled = _settled(read[: len(whole)], of_claims)
    settled += [one for one in of_labels if one.verdict.label == "contradicted"]
    settled.sort(key=lambda one: one.extracted.span.start)
    everything = "\n\n".join(passage.text for passage in passages)
    version = context.nli.identity
    claims = [_claim(one, everything, version) for one in settled]
    claims = [_if_decidable(one) if one.label in ("absent", "partially_supported") else one for one in claims]
    # That one claim is wrong is at least as likely as that the worst one is; claims nobody can decide do not count.
    wrong = [claim.score or 0.0 for claim in claims if claim.label not in ("supported", "unevaluatable")]
    decided = [one.verdict.verdict.score for one, c in zip(settled, claims, strict=True) if c.label != "unevaluatable"]
    score = max([0.0, *decided, *wrong])
    details = {"coverage": round(readings.coverage.share, 4), "pairs": readings.pairs}
    return ClassifiedClaims(claims, score, f"verdict-{model.version}+{version}", details)


def _settled(whole: Sequence[_Read], parts: Sequence[_Read]) -> list[_Read]:
    """The claims with verdicts that agree with those on their sentences.

    A sentence that is one claim has one verdict. One that was cut and is not supported, though each of its claims is,
    stands for them itself, as supported in part.
    """
    settled: list[_Read] = []
    of_sentence: dict[int, list[_Read]] = {}
    for read in parts:
        of_sentence.setdefault(read.extracted.sentence.start, []).append(read)
    for sentence in whole:
        own = of_sentence[sentence.extracted.span.start]
        if len(own) == 1 and own[0].extracted.span == sentence.extracted.span:
            whole_text = sentence.extracted.text
            is_reworded = own[0].extracted.text not in whole_text
            own[0] = own[0] if is_reworded else sentence._replace(extracted=own[0].extracted._replace(text=whole_text))
            settled += own
        elif sentence.verdict.label != "supported" and all(read.verdict.label == "supported" for read in own):
            label: Label = "contradicted" if sentence.verdict.label == "contradicted" else "partially_supported"
            settled.append(sentence._replace(verdict=Judged(label, sentence.verdict.verdict)))
        else:
            settled += own
    return settled


def _claim(read: _Read, everything: str, version: str) -> Claim:
    if len(everything) > MAX_COMPARED_CHARACTERS:  # the decisive windows say more than its beginning
        windows = {seen.window.text for seen in (read.reading.support, read.reading.against) if seen}
        everything = "\n\n".join(sorted(windows))
    types = error_types(read.extracted.text, everything, read.verdict.label)
    claim = claim_of(read.extracted.span, read.reading, read.verdict, version, types=types)
    return claim.model_copy(update={"text": read.extracted.text, "spans": read.extracted.spans})


def _if_decidable(claim: Claim) -> Claim:
    """The claim; `unevaluatable` if nothing supports it, and nothing could.

    Only where the evidence is silent: a review may well say that a film is boring.
    """
    subject = subject_of(claim.text)
    if subject is None:
        return claim
    reason = f"{subject}: no evidence could prove or refute it, and this evidence does not state it"
    changes = {"label": "unevaluatable", "score": None, "error_types": (), "reason": reason, "evidence": ()}
    return claim.model_copy(update=changes)


# ---- from classes to a result


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
