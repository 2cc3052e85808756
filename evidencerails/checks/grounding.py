"""Evidence NLI: is every sentence of the answer supported by the evidence, and does the answer contradict nothing?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from evidencerails.checks.base import CheckContext
from evidencerails.checks.contradictions import Contradiction, contradictions_with_prompt, self_contradictions
from evidencerails.checks.error_types import error_types
from evidencerails.config import GroundingSettings
from evidencerails.exchange import Exchange, Passage, Span
from evidencerails.measures.languages import unknown_language
from evidencerails.report import CheckResult, CheckStatus, Claim, ErrorType, Finding, Label, Quote, Severity
from evidencerails.text.claimable import bare_labels, claim_sentences, clean
from evidencerails.verdict.hypotheses import Hypothesis, hypotheses, lacks_its_question
from evidencerails.verdict.model import VerdictModel
from evidencerails.verdict.reading import ClaimEvidence, Judged, Readings, judged_reading, read_claims

SUPPORTED_LABELS = ("supported", "unevaluatable")
_SEVERITY: dict[str, Severity] = {"contradicted": "high", "absent": "medium", "partially_supported": "low"}


class GroundingCheck:
    """Sentence-level NLI against the evidence, one calibrated verdict a sentence.

    The best supporting window counts, and outranks a contradiction by a passage about another subject. A sentence that
    nothing entails is `absent`, never clean.

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
        found = await context.nli.run(claim_sentences, exchange.response, context.splitter)
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
        contradictions = await _contradictions_of(exchange, sentences, context, supported=frozenset())
        findings = self._contradiction_findings(contradictions, _method_version(self, context))
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
        settings = context.config.grounding
        texts = await context.nli.run(hypotheses, sentences, exchange.user_input)
        labels = await context.nli.run(bare_labels, exchange.response, sentences)
        wordings: list[Hypothesis | str] = [*texts, *(clean(label.text) for label in labels)]
        readings = await read_claims(wordings, readable.passages, context.nli, settings)
        version = _method_version(self, context)
        claims = await context.nli.run(_claims_of, [*sentences, *labels], readings.claims, settings, version)
        kept = [n for n, claim in enumerate(claims) if n < len(sentences) or claim.label == "contradicted"]
        kept.sort(key=lambda n: claims[n].span.start)
        claims, readings = [claims[n] for n in kept], readings._replace(claims=[readings.claims[n] for n in kept])
        supported = frozenset(claim.span for claim in claims if claim.label in SUPPORTED_LABELS)
        contradictions = await _contradictions_of(exchange, sentences, context, supported=supported)
        return await context.nli.run(self._result, claims, readings, contradictions, exchange, readable, version)

    def _result(
        self,
        claims: list[Claim],
        readings: Readings,
        contradictions: _Contradictions,
        exchange: Exchange,
        readable: Readable,
        version: str,
    ) -> CheckResult:
        findings = [_finding(c, r, self.name) for c, r in zip(claims, readings.claims, strict=True)]
        found = [f for f in findings if f is not None] + self._contradiction_findings(contradictions, version)
        status, reason = _status(found, readable)
        scores = [claim.score or 0.0 for claim in claims] + [finding.score or 0.0 for finding in found]
        return CheckResult(
            name=self.name,
            status=status,
            reason=reason,
            score=None if status == "unverified" else max(scores, default=0.0),
            claims=tuple(claims),
            findings=tuple(found),
            metrics=_metrics(claims, readings.claims),
            details=_details(exchange, readings, readable),
            version=version,
        )

    def _contradiction_findings(self, contradictions: _Contradictions, version: str) -> list[Finding]:
        return [
            _contradiction_finding(one, self.name, version, with_prompt=with_prompt)
            for with_prompt, found in ((False, contradictions.inside), (True, contradictions.with_prompt))
            for one in found
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
    text = " ".join(clean(s.text) for s in sentences[:50])[:5_000]
    if reason := unknown_language(text, languages):
        return Readable((), (), reason)
    problems = [unknown_language(clean(p.text[:5_000]), languages) for p in exchange.evidence]
    kept = tuple(p for p, problem in zip(exchange.evidence, problems, strict=True) if not problem)
    unread = tuple(dict.fromkeys(problem for problem in problems if problem))
    return Readable(kept, unread, f"{unread[0]} (evidence)" if unread and not kept else "")


class _Contradictions(NamedTuple):
    inside: list[Contradiction]
    with_prompt: list[Contradiction]


async def _contradictions_of(
    exchange: Exchange, sentences: list[Span], context: CheckContext, *, supported: frozenset[Span]
) -> _Contradictions:
    """What contradicts what, of the sentences that the evidence does not support."""
    settings = context.config.grounding
    inside: list[Contradiction] = []
    with_prompt: list[Contradiction] = []
    if settings.self_contradiction and len(sentences) > 1:
        inside = await self_contradictions(sentences, context.nli, supported=supported)
    if settings.prompt_divergence and exchange.user_input.strip():
        with_prompt = await contradictions_with_prompt(sentences, exchange.user_input, context.nli, supported=supported)
    return _Contradictions(inside, with_prompt)


def _claims_of(
    sentences: list[Span], readings: list[ClaimEvidence], settings: GroundingSettings, version: str
) -> list[Claim]:
    model = VerdictModel.load()
    judged = [judged_reading(reading, model, settings) for reading in readings]
    return [
        claim_of(sentence, reading, one, version, types=_error_types(reading, one.label))
        for sentence, reading, one in zip(sentences, readings, judged, strict=True)
    ]


def claim_of(
    sentence: Span, reading: ClaimEvidence, judged: Judged, version: str, *, types: tuple[ErrorType, ...] = ()
) -> Claim:
    """The claim of one sentence with its verdict, evidence and reason."""
    seen = reading.against if judged.label == "contradicted" else reading.support
    quotes = _quotes(reading, judged.label)
    return Claim(
        text=reading.hypothesis,
        span=sentence,
        label=judged.label,
        score=judged.verdict.score,
        error_types=types,
        evidence=quotes,
        reason=_reason(reading, judged.label, quotes),
        method="nli",
        version=version,
        nli=seen.nli if seen else None,
        parts=judged.verdict.parts,
    )


def _quotes(reading: ClaimEvidence, label: Label) -> tuple[Quote, ...]:
    """The words that decided; for an absent claim the nearest ones, if they are about the same thing at all."""
    seen = reading.against if label == "contradicted" else reading.support
    if seen is None or (label == "absent" and seen.lexical_overlap == 0.0):
        return ()
    scores = {"contradicted": seen.nli.contradiction, "absent": seen.nli.neutral}
    quote = seen.quote(reading.hypothesis, scores.get(label, seen.nli.entailment))
    return (quote,) if quote else ()


def _error_types(reading: ClaimEvidence, label: Label) -> tuple[ErrorType, ...]:
    """What a comparison with the deciding windows shows. Blocks."""
    near = dict.fromkeys(seen.window.text for seen in (reading.support, reading.against) if seen)
    return error_types(reading.hypothesis, "\n\n".join(near), label)


def _reason(reading: ClaimEvidence, label: Label, quotes: Sequence[Quote]) -> str:
    lacks = f"; the evidence lacks its {', '.join(reading.missing)}" if reading.missing else ""
    passage = quotes[0].passage_id if quotes else ""
    if label == "contradicted":
        return f"passage {passage} says otherwise{lacks}" if passage else f"the evidence says otherwise{lacks}"
    if label == "supported":
        return f"supported by passage {passage}" if passage else "supported by the evidence"
    if label == "partially_supported" and passage:
        return f"passage {passage} supports it only in part{lacks}"
    return f"nothing in the evidence supports it{lacks}"


def _finding(claim: Claim, reading: ClaimEvidence, check: str) -> Finding | None:
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


def _contradiction_finding(contradiction: Contradiction, check: str, version: str, *, with_prompt: bool) -> Finding:
    first = contradiction.first
    source = "prompt" if with_prompt else "response"
    inside = f"contradicts another sentence of the answer, at {first.start}:{first.end}"
    return Finding(
        kind="prompt_output_divergence" if with_prompt else "intrinsic_contradiction",
        category="contextual" if with_prompt else "logical",
        severity="medium",
        origin="intrinsic",
        span=contradiction.second,
        reason="contradicts what the user said" if with_prompt else inside,
        evidence=(Quote(passage_id=source, source=source, span=first, score=contradiction.score),),
        score=contradiction.score,
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


def _metrics(claims: Sequence[Claim], readings: Sequence[ClaimEvidence]) -> dict[str, float]:
    """`groundedness`: share of supported claims; `faithfulness`: mean support probability."""
    unsupported = sum(claim.label not in SUPPORTED_LABELS for claim in claims)
    return {
        "claims": float(len(claims)),
        "unsupported_claims": float(unsupported),
        "unsupported_claim_rate": unsupported / len(claims),
        "groundedness": 1.0 - unsupported / len(claims),
        "faithfulness": sum(reading.entailment for reading in readings) / len(readings),
    }


def _details(exchange: Exchange, readings: Readings, readable: Readable) -> dict[str, Any]:
    seen = readings.coverage
    return {
        "windows": seen.windows,
        "windows_read": seen.read_windows,
        "evidence_characters": sum(len(passage.text) for passage in exchange.evidence),
        "evidence_characters_read": seen.read_characters,
        "coverage": round(seen.share, 4),
        "pairs": readings.pairs,
        "passages_unread": list(readable.unread),
        "verdict_version": VerdictModel.load().version,
    }


def _method_version(check: GroundingCheck, context: CheckContext) -> str:
    return f"{check.version}+verdict-{VerdictModel.load().version}+{context.nli.name}@{context.nli.version}"
