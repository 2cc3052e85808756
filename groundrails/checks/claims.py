"""Claims: the answer taken apart, each claim in one of five classes, with the kind of error and the words that decide.

The method is HalluMeasure's (EMNLP 2024). Offline, rules extract the claims and NLI with word evidence classifies
them; a model may do either. Where both a sentence and its claims are read, they never disagree in silence: a sentence
that the evidence does not support has at least one claim that it does not support.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from groundrails.checks.base import CheckContext
from groundrails.checks.claim_extraction import Extraction, extract_with_model
from groundrails.checks.claim_llm import JUDGE_SCORES, Judged, claims_a_call, classify_with_model
from groundrails.checks.claim_proof import MAX_COMPARED_CHARACTERS
from groundrails.checks.claim_summary import UNSUPPORTED, claim_metrics, distributions, listed
from groundrails.checks.error_types import error_types
from groundrails.checks.evidence_nli import Reading, Readings, read_claims
from groundrails.checks.grounding import Judged as Verdict
from groundrails.checks.grounding import claim_of as claim_of_reading
from groundrails.checks.grounding import finding_of, readable_evidence
from groundrails.checks.grounding import judged_reading as verdict_on
from groundrails.checks.hypotheses import Hypothesis, hypotheses, lacks_its_question
from groundrails.config import GroundingSettings
from groundrails.exchange import Exchange, Passage
from groundrails.report import CheckResult, CheckStatus, Claim, ErrorType, Finding, Label
from groundrails.scoring.asking import planned_calls
from groundrails.scoring.cascade import is_unsure
from groundrails.scoring.verdict import ClaimVerdict, VerdictModel, sigmoid
from groundrails.text.claims import ExtractedClaim, extract_claims

if TYPE_CHECKING:
    from groundrails.llm.session import LlmSession


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
        plan = await _plan(exchange, context)
        if plan.result is not None:
            details = {"extracted": listed(plan.extracted)} if plan.extracted else {}
            return plan.result.model_copy(update={"version": self.version, "details": details})
        extraction = await _extract(exchange, plan, context)
        if not extraction.claims:
            return CheckResult(name=self.name, status="grounded", reason="no_claims", score=0.0, version=self.version)
        sorted_out = await _classify(extraction.claims, exchange, plan, context)
        return await context.nli.run(self._result, sorted_out, extraction, exchange, plan, context)

    def _result(
        self, sorted_out: _Sorted, extraction: Extraction, exchange: Exchange, plan: _Plan, context: CheckContext
    ) -> CheckResult:
        version = f"{self.version}+{sorted_out.method}"
        claims = tuple(claim.model_copy(update={"version": version}) for claim in sorted_out.claims)
        findings = tuple(_finding(claim, self.name) for claim in claims if claim.label in UNSUPPORTED)
        status, reason = _status(claims, plan)
        return CheckResult(
            name=self.name,
            status=status,
            reason=reason,
            score=None if status == "unverified" else sorted_out.score,
            claims=claims,
            findings=findings,
            metrics=claim_metrics(claims, context),
            details={**_details(claims, extraction, exchange, plan), **sorted_out.details},
            version=version,
        )


class _Plan(NamedTuple):
    """Who does what, over which evidence."""

    extracted: list[ExtractedClaim]
    """What the rules find in the response."""
    passages: tuple[Passage, ...] = ()
    unread: tuple[str, ...] = ()
    extractor: LlmSession | None = None
    """The model that extracts; None for the rules."""
    classifier: LlmSession | None = None
    """The model that classifies every claim; None for NLI."""
    judge: LlmSession | None = None
    """The model that is asked about claims which NLI leaves unsure."""
    result: CheckResult | None = None
    """What to answer at once, because nothing can be checked."""


def _stop(reason: str, extracted: list[ExtractedClaim]) -> _Plan:
    return _Plan(extracted, result=CheckResult(name="claims", status="unverified", reason=reason))


async def _plan(exchange: Exchange, context: CheckContext) -> _Plan:
    settings = context.config.claims
    model = context.judge or context.llm
    named = model if _is_named(context) else None
    extractor = model if settings.extractor == "llm" else None
    classifier = model if settings.classifier == "llm" else None
    if model is None and "llm" in (settings.extractor, settings.classifier):
        return _stop("no_model: claims.extractor or claims.classifier is 'llm', and there is no model", [])
    found = await context.nli.run(extract_claims, exchange.response)
    extracted = await context.nli.run(_that_say_something, found, exchange.user_input)
    if not extracted:
        return _stop("no_question: a bare yes or no says nothing without its question", found) if found else _Plan([])
    if not exchange.evidence:
        return _stop("no_evidence: nothing to check the claims against", extracted)
    spans = list(dict.fromkeys(claim.sentence for claim in extracted))
    readable = await context.nli.run(readable_evidence, exchange, spans, context.nli.languages)
    if readable.reason and classifier is None:  # a language that the NLI model does not know
        if named is None or settings.classifier == "offline":
            return _stop(readable.reason, extracted)
        classifier = named
        extractor = extractor or (named if settings.extractor == "auto" else None)
    if classifier is not None:
        return _Plan(extracted, exchange.evidence, (), extractor, classifier)
    judge = named if settings.classifier == "auto" else None
    return _Plan(extracted, readable.passages, readable.unread, extractor, None, judge)


def _that_say_something(extracted: list[ExtractedClaim], user_input: str) -> list[ExtractedClaim]:
    return [claim for claim in extracted if not lacks_its_question(claim.sentence.text, user_input)]


def _is_named(context: CheckContext) -> bool:
    """True if the settings (or the caller) name a model for judging: the app's own model is not asked unbidden."""
    llm = context.config.llm
    has_own_judge = context.judge is not None and context.judge is not context.llm
    return has_own_judge or bool(llm.model or llm.base_url)


async def _extract(exchange: Exchange, plan: _Plan, context: CheckContext) -> Extraction:
    if plan.extractor is not None and plan.extracted:
        return await extract_with_model(exchange.response, context, plan.extractor)
    return Extraction(plan.extracted, [])


class _Sorted(NamedTuple):
    claims: list[Claim]
    score: float | None
    method: str
    details: dict[str, Any]


async def _classify(extracted: list[ExtractedClaim], exchange: Exchange, plan: _Plan, context: CheckContext) -> _Sorted:
    if plan.classifier is not None:
        return await _classify_by_model(extracted, plan.passages, context, plan.classifier)
    return await _classify_offline(extracted, exchange, plan, context)


# ---- by a model


async def _classify_by_model(
    extracted: list[ExtractedClaim], passages: tuple[Passage, ...], context: CheckContext, session: LlmSession
) -> _Sorted:
    judged = await classify_with_model(extracted, passages, context, session)
    compared = "\n\n".join(passage.text for passage in passages)[:MAX_COMPARED_CHARACTERS]
    claims = await context.nli.run(_claims_by_model, extracted, judged, compared, session.client.model)
    scores = [claim.score for claim in claims if claim.score is not None]
    task = "classify_claims_batch" if context.config.claims.calls == "batch" else "classify_claim"
    method = f"{session.client.model}+{context.prompts.version(task)}"
    return _Sorted(claims, max(scores, default=None), method, {"untrusted": _untrusted(judged)})


def _claims_by_model(
    extracted: Sequence[ExtractedClaim], judged: Sequence[Judged], evidence: str, model: str
) -> list[Claim]:
    return [_claim_by_model(e, j, evidence, model) for e, j in zip(extracted, judged, strict=True)]


def _claim_by_model(extracted: ExtractedClaim, judged: Judged, evidence: str, model: str) -> Claim:
    types = judged.error_types or error_types(extracted.text, evidence, judged.label)
    return Claim(
        text=extracted.text,
        span=extracted.span,
        label=judged.label,
        score=JUDGE_SCORES.get(judged.label),
        error_types=types,
        evidence=(judged.quote,) if judged.quote else (),
        reason=judged.reason,
        method=f"llm:{model}",
    )


def _untrusted(judged: Sequence[Judged]) -> dict[str, int]:
    """How many verdicts were not believed, by the reason's code."""
    return dict(Counter(one.reason.split(":")[0] for one in judged if not one.is_trusted))


# ---- offline


class _Read(NamedTuple):
    """One claim with what the evidence says about it."""

    extracted: ExtractedClaim
    reading: Reading
    verdict: Verdict


async def _classify_offline(
    extracted: list[ExtractedClaim], exchange: Exchange, plan: _Plan, context: CheckContext
) -> _Sorted:
    model, settings = VerdictModel.load(), context.config.grounding
    whole, wordings = await context.nli.run(_whole_sentences, extracted, exchange.user_input)
    texts: list[Hypothesis | str] = [*wordings, *(claim.text for claim in extracted)]
    readings = await read_claims(texts, plan.passages, context.nli, settings, model.thresholds)
    settled = await context.nli.run(_judged_together, whole, extracted, readings.claims, model, settings)
    settled = await _with_parts(settled, plan, context, model)
    claims = await context.nli.run(_claims_offline, settled, plan.passages, f"{context.nli.name}@{context.nli.version}")
    score: float | None = await context.nli.run(_response_score, settled, claims, model)
    details = {"coverage": round(readings.coverage.share, 4), "pairs": readings.pairs}
    if plan.judge is not None:
        claims, asked = await _second_opinion(claims, plan, context, plan.judge)
        known = [claim.score for claim in claims if claim.score is not None]
        score = max(known, default=0.0) if asked else score
        details["judged"] = asked
    return _Sorted(claims, score, f"verdict-{model.version}+{context.nli.name}@{context.nli.version}", details)


def _whole_sentences(extracted: list[ExtractedClaim], user_input: str) -> tuple[list[ExtractedClaim], list[Hypothesis]]:
    """The sentences of the claims, each as if it were one, and what the model reads for them."""
    sentences = list(dict.fromkeys(claim.sentence for claim in extracted))
    wordings = hypotheses(sentences, user_input)
    return [ExtractedClaim(w.text, span, span) for w, span in zip(wordings, sentences, strict=True)], wordings


def _response_score(settled: Sequence[_Read], claims: Sequence[Claim], model: VerdictModel) -> float:
    """That one claim is wrong is at least as likely as that the worst one is."""
    wrong = [claim.score or 0.0 for claim in claims if claim.label not in ("supported", "unevaluatable")]
    return max([model.response([read.verdict.verdict for read in settled]), *wrong])


def _judged_together(
    whole: list[ExtractedClaim],
    extracted: list[ExtractedClaim],
    readings: list[Reading],
    model: VerdictModel,
    settings: GroundingSettings,
) -> list[_Read]:
    both = zip([*whole, *extracted], readings, strict=True)
    found = [_Read(claim, one, verdict_on(one, model, settings, claim.sentence.text)) for claim, one in both]
    return _settled(found[: len(whole)], found[len(whole) :], model)


def _settled(whole: Sequence[_Read], parts: Sequence[_Read], model: VerdictModel) -> list[_Read]:
    """The claims with verdicts that agree with those on their sentences.

    A sentence that is one claim has one verdict. One that was cut: a claim that is merely absent, in a sentence that is
    supported as a whole, gets the mean of both log-odds; a sentence that is not supported though each of its claims
    is stands for them itself, as supported in part.
    """
    settled: list[_Read] = []
    of_sentence: dict[int, list[_Read]] = {}
    for read in parts:
        of_sentence.setdefault(read.extracted.sentence.start, []).append(read)
    for sentence in whole:
        own = of_sentence[sentence.extracted.span.start]
        if len(own) == 1 and own[0].extracted.span == sentence.extracted.span:
            text = own[0].extracted.text
            is_reworded = text not in sentence.extracted.text
            settled.append(own[0] if is_reworded else sentence._replace(extracted=_reread(sentence, own[0])))
        elif sentence.verdict.label == "supported":
            settled += [_tempered(read, sentence, model) for read in own]
        elif all(read.verdict.label == "supported" for read in own):
            label: Label = "contradicted" if sentence.verdict.label == "contradicted" else "partially_supported"
            settled.append(sentence._replace(verdict=Verdict(label, sentence.verdict.verdict)))
        else:
            settled += own
    return settled


def _reread(sentence: _Read, own: _Read) -> ExtractedClaim:
    return own.extracted._replace(text=sentence.extracted.text)


def _tempered(read: _Read, sentence: _Read, model: VerdictModel) -> _Read:
    if read.verdict.label in ("supported", "contradicted"):
        return read
    mean = (read.verdict.verdict.logit + sentence.verdict.verdict.logit) / 2
    lift = mean - read.verdict.verdict.logit
    verdict = ClaimVerdict(sigmoid(mean), {**read.verdict.verdict.parts, "whole_sentence": lift})
    label: Label = "supported" if verdict.score < model.thresholds.unsupported else read.verdict.label
    return read._replace(verdict=Verdict(label, verdict))


async def _with_parts(settled: list[_Read], plan: _Plan, context: CheckContext, model: VerdictModel) -> list[_Read]:
    """Absent claims of which the evidence supports a part, as `partially_supported`."""
    places = [n for n, read in enumerate(settled) if read.verdict.label == "absent" and read.extracted.parts]
    if not places:
        return settled
    texts = [part for place in places for part in settled[place].extracted.parts]
    settings = context.config.grounding
    readings: Readings = await read_claims(texts, plan.passages, context.nli, settings, model.thresholds)
    found = iter(readings.claims)
    changed = list(settled)
    for place in places:
        read = settled[place]
        labels = [verdict_on(next(found), model, settings).label for _ in read.extracted.parts]
        if "supported" in labels:
            changed[place] = read._replace(verdict=Verdict("partially_supported", read.verdict.verdict))
    return changed


def _claims_offline(settled: Sequence[_Read], passages: Sequence[Passage], version: str) -> list[Claim]:
    everything = "\n\n".join(passage.text for passage in passages)
    return [_claim_offline(read, everything, version) for read in settled]


def _claim_offline(read: _Read, everything: str, version: str) -> Claim:
    types = _types(read, everything)
    claim = claim_of_reading(read.extracted.span, read.reading, read.verdict, version, types=types)
    reason = claim.reason if read.verdict.label == "supported" else _reason(claim.reason, types)
    return claim.model_copy(update={"text": read.extracted.text, "reason": reason})


def _types(read: _Read, everything: str) -> tuple[ErrorType, ...]:
    if len(everything) > MAX_COMPARED_CHARACTERS:  # the windows that decided tell more than its beginning
        windows = {seen.window.text for seen in (read.reading.support, read.reading.against) if seen}
        everything = "\n\n".join(sorted(windows))
    return error_types(read.extracted.text, everything, read.verdict.label)


def _reason(reason: str, types: tuple[ErrorType, ...]) -> str:
    shown = ", ".join(name for name in types if name != "other")
    return f"{reason.split(';')[0]}; error: {shown}" if shown else reason.split(";")[0]


async def _second_opinion(
    claims: list[Claim], plan: _Plan, context: CheckContext, judge: LlmSession
) -> tuple[list[Claim], int]:
    """The claims, those that NLI leaves unsure as the model sees them; and how many were asked about.

    A verdict that cannot be trusted changes nothing about a claim that is bad already, and takes away the rest's.
    """
    settings = context.config.scoring.cascade
    places = [n for n, claim in enumerate(claims) if is_unsure(claim.score, claim.label, settings)]
    size = claims_a_call(context.config.claims)
    judge.note_saved(planned_calls(len(claims), size) - planned_calls(len(places), size))
    if not places:
        return claims, 0
    asked = [claims[place] for place in places]
    judged = await classify_with_model(asked, plan.passages, context, judge)
    changed = list(claims)
    compared = "\n\n".join(passage.text for passage in plan.passages)[:MAX_COMPARED_CHARACTERS]
    for place, one in zip(places, judged, strict=True):
        if not one.is_trusted and claims[place].label in UNSUPPORTED:
            continue
        extracted = ExtractedClaim(claims[place].text, claims[place].span, claims[place].span)
        changed[place] = await context.nli.run(_claim_by_model, extracted, one, compared, judge.client.model)
    return changed, len(places)


# ---- the result


def _finding(claim: Claim, check: str) -> Finding:
    return finding_of(claim, check, is_made_up=bool({"number", "entity", "temporal"} & {*claim.error_types}))


def _status(claims: Sequence[Claim], plan: _Plan) -> tuple[CheckStatus, str]:
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


def _details(claims: Sequence[Claim], extraction: Extraction, exchange: Exchange, plan: _Plan) -> dict[str, Any]:
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
