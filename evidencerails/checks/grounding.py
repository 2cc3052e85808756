"""Evidence NLI: is every sentence of the answer supported by the evidence, and does the answer contradict nothing?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from evidencerails.checks.base import CheckContext
from evidencerails.checks.contradictions import Contradiction, contradictions_with_prompt, self_contradictions
from evidencerails.checks.error_types import error_types
from evidencerails.exchange import Exchange, Passage, Span
from evidencerails.nli.service import Steps
from evidencerails.report import (
    PASS_EVIDENCE,
    CheckResult,
    CheckStatus,
    Claim,
    ErrorType,
    Finding,
    Label,
    Quote,
    Severity,
)
from evidencerails.text.claimable import bare_labels, claim_sentences, clean
from evidencerails.text.language import unknown_language
from evidencerails.verdict.model import VerdictModel
from evidencerails.verdict.reading import (
    ClaimEvidence,
    Hypothesis,
    Judged,
    hypotheses,
    judged_reading,
    lacks_its_question,
    reading,
)

SUPPORTED_LABELS = ("supported", "unevaluatable")
SEVERITIES: dict[Label, Severity] = {
    "contradicted": "high",
    "absent": "medium",
    "unevaluatable": "medium",  # as severe as a claim that nothing supports, until a person has decided
    "partially_supported": "low",
}


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
        """Check each sentence of the response that makes a claim."""
        return await context.nli.follow(self._steps(exchange, context))

    def _steps(self, exchange: Exchange, context: CheckContext) -> Steps[CheckResult]:
        found = claim_sentences(exchange.response, context.splitter)
        if not found:
            return CheckResult(name=self.name, status="grounded", reason="no_claims", score=0.0, version=self.version)
        sentences = [sentence for sentence in found if not lacks_its_question(sentence.text, exchange.user_input)]
        if not sentences:
            reason = "no_question: a bare yes or no says nothing without its question"
            return CheckResult(name=self.name, status="unverified", reason=reason, version=self.version)
        readable = readable_evidence(exchange, sentences, context.nli.languages)
        if readable.reason:
            return CheckResult(name=self.name, status="unverified", reason=readable.reason, version=self.version)
        if readable.passages:
            return (yield from self._with_evidence(exchange, sentences, readable, context))
        version = f"{self.version}+verdict-{VerdictModel.load().version}"
        findings = yield from self._contradictions(exchange, sentences, context, frozenset(), version)
        status, reason = _status(findings, readable)
        return CheckResult(
            name=self.name,
            status=status if findings else "unverified",
            reason=reason if findings else f"no_evidence: nothing to check the answer against{PASS_EVIDENCE}",
            score=max((f.score or 0.0 for f in findings), default=None),
            findings=tuple(findings),
            details={"sentences": len(sentences), "evidence_from": exchange.evidence_from},
            version=f"{version}+{context.nli.identity}",
        )

    def _with_evidence(
        self, exchange: Exchange, sentences: list[Span], readable: Readable, context: CheckContext
    ) -> Steps[CheckResult]:
        settings = context.config.grounding
        labels = bare_labels(exchange.response, sentences)
        wordings: list[Hypothesis | str] = [
            *hypotheses(sentences, exchange.user_input),
            *(clean(label.text) for label in labels),
        ]
        read = yield from reading(wordings, readable.passages, context.nli)
        model, base = VerdictModel.load(), f"{self.version}+verdict-{VerdictModel.load().version}"
        version = f"{base}+{context.nli.identity}"
        judged = []
        for span, one in zip([*sentences, *labels], read.claims, strict=True):
            verdict = judged_reading(one, model, settings)
            near = dict.fromkeys(seen.window.text for seen in (one.support, one.against) if seen)
            types = error_types(one.hypothesis, "\n\n".join(near), verdict.label)
            judged.append((claim_of(span, one, verdict, version, types=types), one))
        # The evidence need not have a label, but does not contradict a right one.
        judged = [pair for n, pair in enumerate(judged) if n < len(sentences) or pair[0].label == "contradicted"]
        judged.sort(key=lambda pair: pair[0].span.start)
        claims = [claim for claim, _ in judged]
        supported = frozenset(claim.span for claim in claims if claim.label in SUPPORTED_LABELS)
        contradictions: list[Finding] = []
        if len(sentences) > 1 or exchange.prompt:
            contradictions = yield from self._contradictions(exchange, sentences, context, supported, base)
        wrong = [pair for pair in judged if pair[0].label not in SUPPORTED_LABELS]
        findings = [finding_of(claim, self.name) for claim, _ in wrong]
        findings += contradictions
        status, reason = _status(findings, readable, claims)
        scores = [claim.score or 0.0 for claim in claims] + [finding.score or 0.0 for finding in findings]
        unsupported = len(wrong) / len(claims)
        return CheckResult(
            name=self.name,
            status=status,
            reason=reason,
            score=None if status == "unverified" else max(scores, default=0.0),
            claims=tuple(claims),
            findings=tuple(findings),
            metrics={
                "claims": float(len(claims)),
                "unsupported_claims": float(len(wrong)),
                "unsupported_claim_rate": unsupported,
                "groundedness": 1.0 - unsupported,
                "faithfulness": sum(one.entailment for _, one in judged) / len(judged),
            },
            details={
                "windows": read.coverage.windows,
                "windows_read": read.coverage.read_windows,
                "evidence_characters": sum(len(passage.text) for passage in exchange.evidence),
                "evidence_characters_read": read.coverage.read_characters,
                "coverage": round(read.coverage.share, 4),
                "pairs": read.pairs,
                "passages_unread": list(readable.unread),
                "verdict_version": model.version,
                "evidence_from": exchange.evidence_from,
            },
            version=version,
        )

    def _contradictions(
        self, exchange: Exchange, sentences: list[Span], context: CheckContext, supported: frozenset[Span], version: str
    ) -> Steps[list[Finding]]:
        """What contradicts what, of the sentences that the evidence does not support."""
        settings = context.config.grounding
        found: list[tuple[Contradiction, str]] = []
        if settings.self_contradiction and len(sentences) > 1:
            inside = yield from self_contradictions(sentences, supported)
            found += [(one, "response") for one in inside]
        if settings.prompt_divergence and exchange.user_input.strip():
            other = yield from contradictions_with_prompt(sentences, exchange.user_input, supported)
            found += [(one, "prompt") for one in other]
        version = f"{version}+{context.nli.identity}"
        return [_contradiction_finding(one, self.name, version, source) for one, source in found]


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


def claim_of(
    sentence: Span, reading: ClaimEvidence, judged: Judged, version: str, *, types: tuple[ErrorType, ...] = ()
) -> Claim:
    """The claim of one sentence with its verdict, the words that decided, and its reason; an absent claim has the
    nearest words, if they are about the same thing at all."""
    label = judged.label
    if label == "unevaluatable":
        reason = f"{reading.unread}: the model cannot read it"
        return Claim(text=reading.hypothesis, span=sentence, label=label, reason=reason, method="nli", version=version)
    seen = reading.against if label == "contradicted" else reading.support
    quote = None
    if seen is not None and not (label == "absent" and seen.lexical_overlap == 0.0):
        scores = {"contradicted": seen.nli.contradiction, "absent": seen.nli.neutral}
        quote = seen.quote(reading.hypothesis, scores.get(label, seen.nli.entailment))
    return Claim(
        text=reading.hypothesis,
        span=sentence,
        label=label,
        score=judged.verdict.score,
        error_types=types,
        evidence=(quote,) if quote else (),
        reason=_reason(label, quote.passage_id if quote else "", types),
        method="nli",
        version=version,
        nli=seen.nli if seen else None,
        parts=judged.verdict.parts,
    )


def _reason(label: Label, passage: str, types: Sequence[ErrorType]) -> str:
    by_passage = {
        "contradicted": f"passage {passage} says otherwise",
        "supported": f"supported by passage {passage}",
        "partially_supported": f"passage {passage} supports it only in part",
    }
    alone = {"contradicted": "the evidence says otherwise", "supported": "supported by the evidence"}
    reason = (by_passage if passage else alone).get(label, "nothing in the evidence supports it")
    shown = ", ".join(name for name in types if name != "other")
    return f"{reason}; error: {shown}" if shown and label != "supported" else reason


def finding_of(claim: Claim, check: str) -> Finding:
    """The finding on a claim that is not supported; confabulatory if it has a value or name that the evidence lacks."""
    is_settled = claim.label in ("contradicted", "unevaluatable")
    is_made_up = not is_settled and bool({"number", "entity", "temporal"} & {*claim.error_types})
    return Finding(
        kind="unsupported_claim",
        category="confabulatory" if is_made_up else "contextual",
        severity=SEVERITIES[claim.label],
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


def _contradiction_finding(contradiction: Contradiction, check: str, version: str, source: str) -> Finding:
    first = contradiction.first
    inside = f"contradicts another sentence of the answer, at {first.start}:{first.end}"
    return Finding(
        kind="prompt_output_divergence" if source == "prompt" else "intrinsic_contradiction",
        category="contextual" if source == "prompt" else "logical",
        severity="medium",
        origin="intrinsic",
        span=contradiction.second,
        reason="contradicts what the user said" if source == "prompt" else inside,
        evidence=(Quote(passage_id=source, source=source, span=first, score=contradiction.score),),
        score=contradiction.score,
        check=check,
        version=version,
    )


def _status(findings: Sequence[Finding], readable: Readable, claims: Sequence[Claim] = ()) -> tuple[CheckStatus, str]:
    """Status and reason. What unread passages might support is not counted against the answer."""
    if not findings:
        unread = next((claim.reason for claim in claims if claim.label == "unevaluatable"), "")
        return ("unverified", f"{unread} (part of the answer)") if unread else ("grounded", "all claims supported")
    if readable.unread and all(f.label in ("absent", "partially_supported") for f in findings):
        return "unverified", f"{readable.unread[0]} (part of the evidence): it may hold what the rest lacks"
    counts = Counter(finding.label or finding.kind for finding in findings)
    return "hallucinated", ", ".join(f"{count} {name}" for name, count in counts.items())
