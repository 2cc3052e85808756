"""Evidence NLI: is every sentence of the answer supported by the evidence, and does the answer contradict nothing?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from evidencerails.checks.base import CheckContext
from evidencerails.checks.contradictions import Clash, clashes_with_prompt, self_contradictions
from evidencerails.checks.error_types import error_types
from evidencerails.checks.evidence_nli import Reading, Readings, Seen, read_claims
from evidencerails.checks.hypotheses import hypotheses, lacks_its_question
from evidencerails.checks.other_values import EXACT_KINDS, other_values
from evidencerails.config import GroundingSettings
from evidencerails.exchange import Exchange, Passage, Span
from evidencerails.report import CheckResult, CheckStatus, Claim, ErrorType, Finding, Label, Quote, Severity
from evidencerails.scoring.languages import unknown_language
from evidencerails.scoring.verdict import ClaimVerdict, VerdictModel, logit
from evidencerails.text.claimable import claim_sentences, clean, is_bare_reply

COPY_SCORE = 0.02
"""Highest score of a sentence that stands word by word in the evidence, unless another passage contradicts it."""
ENTAILED = 0.5
"""P(entailment) from which a bare yes or no is supported: then it is likelier than both others together."""
SUPPORTED_LABELS = ("supported", "unevaluatable")
_SEVERITY: dict[str, Severity] = {"contradicted": "high", "absent": "medium", "partially_supported": "low"}


class GroundingCheck:
    """Sentence-level NLI against the evidence, with word evidence, in one calibrated verdict a sentence.

    The best supporting window counts. A passage about the same thing that contradicts a sentence wins over another
    that supports it: sources that disagree are no grounds for a claim. A sentence that nothing entails is `absent`,
    never clean.

    Contradictions inside the answer and with the user's own words are findings too. They need no evidence, so they
    are looked for without any, and one of them makes the status hallucinated, because one of two contradicting
    statements is wrong whatever the evidence says; sentences that the evidence supports are left out of it.
    """

    name = "grounding"
    version = "1"

    async def run(self, exchange: Exchange, context: CheckContext) -> CheckResult:
        """Check each sentence of the response that makes a claim.

        Raises:
            NliError: the NLI backend failed.
        """
        found = await context.nli.run(claim_sentences, exchange.response)
        if not found:
            return CheckResult(name=self.name, status="grounded", reason="no_claims", score=0.0, version=self.version)
        sentences = await context.nli.run(_that_say_something, found, exchange.user_input)
        if not sentences:
            reason = "no_question: a bare yes or no says nothing without its question"
            return CheckResult(name=self.name, status="unverified", reason=reason, version=self.version)
        readable = await context.nli.run(readable_evidence, exchange, sentences, context.nli.languages)
        if readable.reason:
            return CheckResult(name=self.name, status="unverified", reason=readable.reason, version=self.version)
        if not readable.passages:
            result = await self._without_evidence(exchange, sentences, context)
        else:
            result = await self._with_evidence(exchange, sentences, readable, context)
        return result.model_copy(update={"details": {**result.details, "evidence_from": exchange.evidence_from}})

    async def _without_evidence(self, exchange: Exchange, sentences: list[Span], context: CheckContext) -> CheckResult:
        clashes = await _clashes(exchange, sentences, context, supported=frozenset())
        findings = self._clash_findings(clashes, _method_version(self, context))
        return CheckResult(
            name=self.name,
            status="hallucinated" if findings else "unverified",
            reason=_shown_reason(findings) if findings else "no_evidence: nothing to check the answer against",
            score=max((f.score or 0.0 for f in findings), default=None),
            findings=tuple(findings),
            details={"sentences": len(sentences)},
            version=_method_version(self, context),
        )

    async def _with_evidence(
        self, exchange: Exchange, sentences: list[Span], readable: Readable, context: CheckContext
    ) -> CheckResult:
        model, settings = VerdictModel.load(), context.config.grounding
        texts = await context.nli.run(hypotheses, sentences, exchange.user_input)
        readings = await read_claims(texts, readable.passages, context.nli, settings, model.thresholds)
        judged = await context.nli.run(_judged, readings.claims, sentences, model, settings)
        version = _method_version(self, context)
        claims = await context.nli.run(_claims_of, sentences, readings.claims, judged, version)
        supported = frozenset(claim.span for claim in claims if claim.label in SUPPORTED_LABELS)
        clashes = await _clashes(exchange, sentences, context, supported=supported)
        return await context.nli.run(self._result, claims, readings, judged, clashes, exchange, readable, version)

    def _result(
        self,
        claims: list[Claim],
        readings: Readings,
        judged: list[Judged],
        clashes: _Clashes,
        exchange: Exchange,
        readable: Readable,
        version: str,
    ) -> CheckResult:
        model = VerdictModel.load()
        findings = [_finding(c, r, self.name) for c, r in zip(claims, readings.claims, strict=True)]
        found = [f for f in findings if f is not None] + self._clash_findings(clashes, version)
        status, reason = _status(found, readable)
        verdicts = [j.verdict for j in judged]
        # That one claim is wrong is at least as likely as that this one is.
        worst = max((f.score or 0.0 for f in found), default=0.0)
        return CheckResult(
            name=self.name,
            status=status,
            reason=reason,
            score=None if status == "unverified" else max(model.response(verdicts), worst),
            claims=tuple(claims),
            findings=tuple(found),
            metrics=_metrics(claims, readings.claims),
            details=_details(exchange, readings, readable, model),
            version=version,
        )

    def _clash_findings(self, clashes: _Clashes, version: str) -> list[Finding]:
        return [_inside_finding(c, self.name, version) for c in clashes.inside] + [
            _prompt_finding(c, self.name, version) for c in clashes.with_prompt
        ]


def _that_say_something(sentences: list[Span], user_input: str) -> list[Span]:
    return [sentence for sentence in sentences if not lacks_its_question(sentence.text, user_input)]


class Readable(NamedTuple):
    """The evidence that the model can read."""

    passages: tuple[Passage, ...]
    unread: tuple[str, ...]
    """Reasons why passages were left out, `language: xx`."""
    reason: str
    """Why nothing can be checked at all; empty if something can."""


def readable_evidence(exchange: Exchange, sentences: Sequence[Span], languages: Sequence[str]) -> Readable:
    """What of the evidence a model of these languages can read, for an answer that it can read."""
    told = " ".join(clean(s.text) for s in sentences[:50])[:5_000]
    if reason := unknown_language(told, languages):
        return Readable((), (), reason)
    problems = [unknown_language(clean(p.text[:5_000]), languages) for p in exchange.evidence]
    kept = tuple(p for p, problem in zip(exchange.evidence, problems, strict=True) if not problem)
    unread = tuple(dict.fromkeys(problem for problem in problems if problem))
    return Readable(kept, unread, f"{unread[0]} (evidence)" if unread and not kept else "")


class _Clashes(NamedTuple):
    inside: list[Clash]
    with_prompt: list[Clash]


async def _clashes(
    exchange: Exchange, sentences: list[Span], context: CheckContext, *, supported: frozenset[Span]
) -> _Clashes:
    """What contradicts what, of the sentences that the evidence does not support."""
    settings = context.config.grounding
    inside: list[Clash] = []
    with_prompt: list[Clash] = []
    if settings.self_contradiction and len(sentences) > 1:
        inside = await self_contradictions(sentences, context.nli, supported=supported)
    if settings.prompt_divergence and exchange.user_input.strip():
        with_prompt = await clashes_with_prompt(sentences, exchange.user_input, context.nli, supported=supported)
    return _Clashes(inside, with_prompt)


class Judged(NamedTuple):
    """A label and the calibrated verdict behind it."""

    label: Label
    verdict: ClaimVerdict
    other_value: Seen | None = None
    """The window that gives another value, where that made the claim contradicted."""


def _judged(
    readings: Sequence[Reading], sentences: Sequence[Span], model: VerdictModel, settings: GroundingSettings
) -> list[Judged]:
    both = zip(readings, sentences, strict=True)
    return [judged_reading(reading, model, settings, sentence.text) for reading, sentence in both]


def judged_reading(reading: Reading, model: VerdictModel, settings: GroundingSettings, sentence: str = "") -> Judged:
    """The label of one claim and its calibrated verdict.

    Args:
        sentence: the sentence of the answer that makes the claim; a bare yes or no has no words to look for, so that
            entailment alone supports it.
    """
    judged = _by_words_and_nli(reading, model, settings)
    if judged.label != "supported" or reading.entailment >= ENTAILED or not is_bare_reply(sentence):
        return judged
    label: Label = "contradicted" if reading.contradiction > reading.entailment else "absent"
    return Judged(label, _lifted(judged.verdict, 1.0 - reading.entailment, "not_entailed"))


def _by_words_and_nli(reading: Reading, model: VerdictModel, settings: GroundingSettings) -> Judged:
    verdict = model.claim(reading.features)
    bar = _given(settings.max_unsupported_score, model.thresholds.unsupported)
    if reading.is_copy:
        verdict = _lowered(verdict, COPY_SCORE)
    is_sure = verdict.score >= bar and not reading.is_copy
    needed = _given(settings.contradiction_threshold, model.thresholds.contradiction)
    if reading.contradiction >= (needed if is_sure else max(needed, model.thresholds.conflict)):
        return Judged("contradicted", _lifted(verdict, max(reading.contradiction, bar)))
    near = reading.nearest or reading.support
    others = other_values(reading, near) if near and not reading.is_copy else frozenset()
    if others & EXACT_KINDS or (others and verdict.score >= bar):
        return Judged("contradicted", _lifted(verdict, bar, "other_value"), near)
    if verdict.score < bar:
        return Judged("supported", verdict)
    is_partial = reading.entailment >= model.thresholds.partial
    return Judged("partially_supported" if is_partial else "absent", verdict)


def _given(value: float | None, default: float) -> float:
    return default if value is None else value


def _lowered(verdict: ClaimVerdict, most: float) -> ClaimVerdict:
    if verdict.score <= most:
        return verdict
    return ClaimVerdict(most, {**verdict.parts, "same_sentence": logit(most) - verdict.logit})


def _lifted(verdict: ClaimVerdict, least: float, part: str = "contradicting_passage") -> ClaimVerdict:
    """The verdict, at least as certain as what decided it."""
    if verdict.score >= least:
        return verdict
    lift = logit(least) - verdict.logit
    return ClaimVerdict(least, {**verdict.parts, part: lift})


def _claims_of(sentences: list[Span], readings: list[Reading], judged: list[Judged], version: str) -> list[Claim]:
    return [
        claim_of(sentence, reading, one, version, types=_error_types(reading, one.label))
        for sentence, reading, one in zip(sentences, readings, judged, strict=True)
    ]


def claim_of(
    sentence: Span, reading: Reading, judged: Judged, version: str, *, types: tuple[ErrorType, ...] = ()
) -> Claim:
    """The claim of one sentence with its verdict, evidence and reason."""
    against = judged.other_value or reading.against
    seen = against if judged.label == "contradicted" else reading.support
    return Claim(
        text=reading.hypothesis,
        span=sentence,
        label=judged.label,
        score=judged.verdict.score,
        error_types=types,
        evidence=_quotes(reading, judged.label, against),
        reason=_reason(reading, judged.label, against),
        method="nli+words",
        version=version,
        nli=seen.nli if seen else None,
        parts=judged.verdict.parts,
    )


def _quotes(reading: Reading, label: Label, against: Seen | None) -> tuple[Quote, ...]:
    """The words that decided; for an absent claim the nearest ones, if they are about the same thing at all."""
    if label == "contradicted" and against:
        return (against.quote(reading.words, against.nli.contradiction),)
    seen = reading.nearest if label == "absent" else reading.support
    if seen is None or (label == "absent" and seen.aboutness == 0.0):
        return ()
    return (seen.quote(reading.words, seen.nli.neutral if label == "absent" else seen.nli.entailment),)


def _error_types(reading: Reading, label: Label) -> tuple[ErrorType, ...]:
    """What a comparison with the deciding windows shows. Blocks."""
    near = dict.fromkeys(seen.window.text for seen in (reading.support, reading.against) if seen)
    return error_types(reading.hypothesis, "\n\n".join(near), label)


def _reason(reading: Reading, label: Label, against: Seen | None) -> str:
    lacks = f"; the evidence lacks its {', '.join(reading.missing)}" if reading.missing else ""
    if label == "contradicted" and against:
        return f"passage {against.window.passage.id} says otherwise{lacks}"
    if label == "supported" and reading.support:
        return f"supported by passage {reading.support.window.passage.id}"
    if label == "partially_supported" and reading.support:
        return f"passage {reading.support.window.passage.id} supports it only in part{lacks}"
    return f"nothing in the evidence supports it{lacks}"


def _finding(claim: Claim, reading: Reading, check: str) -> Finding | None:
    if claim.label in SUPPORTED_LABELS:
        return None
    return finding_of(claim, check, is_made_up=bool(reading.missing))


def finding_of(claim: Claim, check: str, *, is_made_up: bool) -> Finding:
    """The finding on a claim that is not supported; `is_made_up` if it has specific words that the evidence lacks."""
    is_made_up = is_made_up and claim.label != "contradicted"
    return Finding(
        kind="unsupported_claim",
        category="confabulatory" if is_made_up else "contextual",
        severity=_SEVERITY[claim.label],
        origin="intrinsic" if claim.label == "contradicted" else "extrinsic",
        span=claim.span,
        reason=claim.reason,
        evidence=claim.evidence,
        score=claim.score,
        check=check,
        version=claim.version,
        label=claim.label,
        error_types=claim.error_types,
    )


def _inside_finding(clash: Clash, check: str, version: str) -> Finding:
    quote = Quote(passage_id="response", source="response", span=clash.first, score=clash.score)
    return Finding(
        kind="intrinsic_contradiction",
        category="logical",
        severity="medium",
        origin="intrinsic",
        span=clash.second,
        reason=f"contradicts another sentence of the answer, at {clash.first.start}:{clash.first.end}",
        evidence=(quote,),
        score=clash.score,
        check=check,
        version=version,
    )


def _prompt_finding(clash: Clash, check: str, version: str) -> Finding:
    quote = Quote(passage_id="prompt", source="prompt", span=clash.first, score=clash.score)
    return Finding(
        kind="prompt_output_divergence",
        category="contextual",
        severity="medium",
        origin="intrinsic",
        span=clash.second,
        reason="contradicts what the user said",
        evidence=(quote,),
        score=clash.score,
        check=check,
        version=version,
    )


def _status(findings: Sequence[Finding], readable: Readable) -> tuple[CheckStatus, str]:
    """Status and reason. What unread passages might support is not counted against the answer."""
    if not findings:
        return "grounded", "all claims supported"
    if readable.unread and all(f.label in ("absent", "partially_supported") for f in findings):
        return "unverified", f"{readable.unread[0]} (part of the evidence): it may hold what the rest lacks"
    return "hallucinated", _shown_reason(findings)


def _shown_reason(findings: Sequence[Finding]) -> str:
    counts: dict[str, int] = {}
    for finding in findings:
        name = finding.label or finding.kind
        counts[name] = counts.get(name, 0) + 1
    return ", ".join(f"{count} {name}" for name, count in counts.items())


def _metrics(claims: Sequence[Claim], readings: Sequence[Reading]) -> dict[str, float]:
    """`groundedness`: share of supported claims; `faithfulness`: mean support probability (control stack, 20.4.3)."""
    unsupported = sum(claim.label not in SUPPORTED_LABELS for claim in claims)
    return {
        "claims": float(len(claims)),
        "unsupported_claims": float(unsupported),
        "unsupported_claim_rate": unsupported / len(claims),
        "groundedness": 1.0 - unsupported / len(claims),
        "faithfulness": sum(reading.entailment for reading in readings) / len(readings),
    }


def _details(exchange: Exchange, readings: Readings, readable: Readable, model: VerdictModel) -> dict[str, Any]:
    seen = readings.coverage
    return {
        "windows": seen.windows,
        "windows_read": seen.read_windows,
        "evidence_characters": sum(len(passage.text) for passage in exchange.evidence),
        "evidence_characters_read": seen.read_characters,
        "coverage": round(seen.share, 4),
        "pairs": readings.pairs,
        "passages_unread": list(readable.unread),
        "verdict_version": model.version,
        "verdict_provisional": model.provisional,
    }


def _method_version(check: GroundingCheck, context: CheckContext) -> str:
    return f"{check.version}+verdict-{VerdictModel.load().version}+{context.nli.name}@{context.nli.version}"
