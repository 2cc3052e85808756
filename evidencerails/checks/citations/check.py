"""Citations: does each claim name a source, does it exist, contain the quoted words and entail the claim?

In: an answer with citation marks, and the evidence. Out: a finding for each claim without a citation, or whose source
does not exist or does not entail it. Several citations of one claim support it together. A claim without a citation is
read against all the evidence, so that the report can name the passage it should have cited.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from evidencerails.checks.base import CheckContext, concluded
from evidencerails.checks.citations.answer import Citation, CitedAnswer, read_answer
from evidencerails.checks.citations.quotations import is_verbatim, likeness
from evidencerails.checks.citations.sources import Sources
from evidencerails.checks.citations.verification import MAX_SINGLES, Question, SourceReader, Verification
from evidencerails.checks.grounding import Readable, claim_of, readable_evidence
from evidencerails.exchange import Exchange, Span
from evidencerails.report import PASS_EVIDENCE, Category, CheckResult, Claim, Finding, Origin, Severity
from evidencerails.settings.claims import CitationLevel
from evidencerails.settings.policies import VIOLATIONS
from evidencerails.verdict.model import VerdictModel

VERIFYING = ("verified", "strict")
"""Levels at which the cited passages are read."""
MAX_LISTED = 200
"""More citations are not listed one by one in the details."""


class CitationsCheck:
    """Citations of an answer, looked up in the evidence and, from level `verified` on, read.

    Each violation is a finding of kind `citation_violation`; `violation` names it. What cannot be looked up (no
    evidence) or read (another language) is unverified, never clean.
    """

    name = "citations"
    version = "1"

    async def run(self, exchange: Exchange, context: CheckContext) -> CheckResult:
        """Check the citations of the response."""
        settings = context.config.citations
        sources = Sources(exchange.evidence)
        answer = await context.nli.run(read_answer, exchange.response, sources, settings, context.splitter)
        if early := self._early(answer, exchange, settings.level):
            return early
        is_read = settings.level in VERIFYING
        version = f"{self.version}+{settings.level}"
        if is_read:
            version += f"+verdict-{VerdictModel.load().version}+{context.nli.identity}"
        findings, read = _unresolved(answer, sources, exchange, settings.level), _Read([])
        if is_read:
            misquoted = _misquoted(answer, sources, exchange)
            read = await _verify(answer, sources, exchange, context)
            wrong = {finding.span for finding in misquoted if finding.span}
            findings += [*misquoted, *_not_entailed(read, sources, wrong)]
        findings.sort(key=lambda finding: (finding.span.start if finding.span else 0, finding.violation or ""))
        findings = [finding.model_copy(update={"version": version}) for finding in findings]
        result = concluded(
            self,
            findings,
            [read.unread] if read.unread else [],
            HELD[settings.level] if answer.citations else "no_claims",
            claims=_claims(read, sources, version),
            metrics=citation_metrics(answer, findings, read.supported, is_read=is_read),
            details=_details(answer, sources, read, settings.level),
            version=version,
        )
        return result if result.status == "unverified" else result.model_copy(update={"score": _score(findings, read)})

    def _early(self, answer: CitedAnswer, exchange: Exchange, level: str) -> CheckResult | None:
        """The result where there is nothing to look up, or nothing to look it up in."""
        if not answer.statements and not answer.citations:
            return CheckResult(name=self.name, status="grounded", reason="no_claims", score=0.0, version=self.version)
        if level == "soft" and not answer.citations:
            return CheckResult(name=self.name, status="grounded", reason="no_citations", version=self.version)
        if not exchange.evidence and (answer.citations or level in VERIFYING):
            return concluded(self, [], [f"no_evidence: nothing to look the citations up in{PASS_EVIDENCE}"], "")
        return None


# ---- what needs no model


def _unresolved(answer: CitedAnswer, sources: Sources, exchange: Exchange, level: str) -> list[Finding]:
    """Sources that do not exist, and claims that cite nothing."""
    findings = []
    for one in answer.citations:
        if not one.exists:
            names = ", ".join(repr(name[:80]) for name in one.missing)
            reason = f"{names} {'is' if len(one.missing) == 1 else 'are'} none of the {len(sources)} sources"
            findings.append(violation_finding(NONEXISTENT_SOURCE, one.span, reason))
    if level == "soft":
        return findings
    uncited = [one for one in answer.statements if not one.citations]
    if exchange.is_chunk and uncited and uncited[-1] is answer.statements[-1]:
        uncited.pop()  # its citation may stand at the head of the next chunk
    violation, reason = MISSING_CITATION, "the answer makes claims and cites no source"
    if answer.citations or exchange.is_chunk:
        violation, reason = UNCITED_CLAIM, "the claim cites no source"
    return findings + [violation_finding(violation, one.statement.span, reason) for one in uncited]


def _misquoted(answer: CitedAnswer, sources: Sources, exchange: Exchange) -> list[Finding]:
    """Quotations that the cited sources do not have; without a citation, that no source and no user has."""
    said = [message.content for message in exchange.prompt]
    asked: list[tuple[Span, str, list[str]]] = []
    for one in answer.statements:
        if one.places or not one.citations:  # else its source does not exist: that is said already
            places = one.places or range(len(sources))
            texts = [p.text for p in sources.passages(places)] + ([] if one.citations else said)
            asked += [(quotation.span, quotation.words, texts) for quotation in one.quotations]
    for citation in answer.citations:
        if citation.quote and citation.places:
            asked.append((citation.span, citation.quote, [p.text for p in sources.passages(citation.places)]))
    reason = "the words are not in the source; the nearest there are {:.0%} alike"
    return [
        violation_finding(MISQUOTED, span, reason.format(likeness(words, texts)))
        for span, words, texts in asked
        if not is_verbatim(words, texts)
    ]


# ---- what the cited passages say


class _Read(NamedTuple):
    statements: list[tuple[Question, Verification]]
    unread: str = ""
    """Why some statements could not be read; empty if all could."""

    @property
    def supported(self) -> dict[Span, bool]:
        """Cited statement whose sources could be read -> whether they uphold it, each of its citations a part."""
        return {
            question.statement.span: one.is_upheld and not _idle_citations(question, one)
            for question, one in self.statements
            if question.cited.citations and not question.has_too_many
        }


def _idle_citations(question: Question, one: Verification) -> list[Citation]:
    """Citations that name, alone or among others (`[1, 2]`, `[1-3]`), a source that supports nothing. One that names
    what does not exist has its finding already."""
    idle = {*one.idle}
    return [
        citation
        for citation in question.cited.citations
        if citation.exists
        and any(places and {*places} <= idle for places in citation.places_by_number or (citation.places,))
    ]


async def _verify(answer: CitedAnswer, sources: Sources, exchange: Exchange, context: CheckContext) -> _Read:
    """Read every statement: a cited one against what it cites, another against all the evidence."""
    if not answer.statements:
        return _Read([])
    all_sources = exchange.model_copy(update={"evidence": tuple(source.passage for source in sources.items)})
    statements = [Span.of(one.statement.text, 0, len(one.statement.text)) for one in answer.statements]
    readable: Readable = await context.nli.run(readable_evidence, all_sources, statements, context.nli.languages)
    known = {id(passage) for passage in readable.passages}  # several may have one id: parts of one document
    known_places = tuple(place for place, source in enumerate(sources.items) if id(source.passage) in known)
    asked: list[Question] = []
    unread = readable.reason
    for one in answer.statements:
        places = tuple(place for place in one.places if place in known_places) if one.citations else known_places
        if len(places) < len(one.places):
            unread = unread or (readable.unread[0] if readable.unread else "") + " (cited evidence)"
        elif places:
            asked.append(question := Question(one, places))
            if question.has_too_many:
                unread = unread or f"too_many_sources: a claim cites {len(places)}, {MAX_SINGLES} are read one by one"
    reader = SourceReader(sources, context, exchange.user_input)
    verified = await reader.verify(asked, is_strict=context.config.citations.level == "strict")
    read = list(zip(asked, verified, strict=True))
    foreign = next((one.reading.unread for _, one in read if one.reading.unread), "")
    return _Read(
        [pair for pair in read if not pair[1].reading.unread],
        unread or (f"{foreign} (part of the answer)" if foreign else ""),
    )


def _not_entailed(read: _Read, sources: Sources, misquoted: set[Span]) -> list[Finding]:
    """Claims that their sources do not entail. One that misquotes is not read on: its words are another's."""
    findings = []
    for question, one in read.statements:
        own, citations = question.statement.span, question.cited.citations
        quotes_wrongly = any(own.start <= span.start < own.end for span in misquoted)
        if not citations or quotes_wrongly or misquoted & {citation.span for citation in citations}:
            continue
        if not one.is_upheld:
            ids = [sources.items[place].passage.id for place in question.places]
            findings.append(not_entailed_finding(own, one, ids, sources))
        for citation in _idle_citations(question, one):
            findings.append(violation_finding(NON_ENTAILING, citation.span, IDLE, score=None, severity="low"))
    return findings


def _claims(read: _Read, sources: Sources, version: str) -> tuple[Claim, ...]:
    """The read statements as claims, quotes placed in the evidence as it was given."""
    claims = (claim_of(asked.statement.span, one.reading, one.judged, version) for asked, one in read.statements)
    return tuple(c.model_copy(update={"evidence": tuple(map(sources.in_exchange, c.evidence))}) for c in claims)


def _suggested(read: _Read) -> list[dict[str, Any]]:
    """Uncited statements, each with the passage that supports it and should have been cited."""
    suggested = []
    for question, one in read.statements:
        if not question.cited.citations and one.is_supported:
            quote = one.reading.support.quote(one.reading.hypothesis, 1.0) if one.reading.support else None
            span = question.statement.span
            suggested.append({"span": [span.start, span.end], "passage": quote.passage_id if quote else ""})
    return suggested


# ---- the result

HELD: dict[CitationLevel, str] = {
    "soft": "all cited sources exist; level 'soft' does not read them",
    "required": "every claim cites a source that exists; level 'required' does not read them",
    "verified": "all citations hold",
    "strict": "all citations hold",
}
"""What an answer without a violation is said to have shown, by level."""


def _score(findings: Sequence[Finding], read: _Read) -> float | None:
    """Probability that a claim is not supported: that of the worst claim read, or of a source that cannot support it.

    A claim that merely cites nothing counts by what the evidence says of it; None where nothing was read.
    """
    scores = [finding.score for finding in findings if finding.score is not None and finding.category != "structural"]
    if read.statements:
        scores.append(VerdictModel.load().response([one.judged.verdict for _, one in read.statements]))
    return max(scores, default=None)


def _details(answer: CitedAnswer, sources: Sources, read: _Read, level: str) -> dict[str, Any]:
    """What was cited and looked up: offsets and ids, no words of the evidence."""
    return {
        "level": level,
        "sources": len(sources),
        "citations": [
            {
                "span": [citation.span.start, citation.span.end],
                "names": list(citation.names),
                "passages": [sources.items[place].passage.id for place in citation.places[:50]],
                "exists": citation.exists,
            }
            for citation in answer.citations[:MAX_LISTED]
        ],
        "suggested": _suggested(read)[:MAX_LISTED],
        "unread": read.unread,
    }


# ---- violations and metrics


CHECK = "citations"
MISSING_CITATION, UNCITED_CLAIM, NONEXISTENT_SOURCE, MISQUOTED, NON_ENTAILING = VIOLATIONS["citations"]


_CLASSES: dict[str, tuple[Category, Severity, Origin]] = {
    MISSING_CITATION: ("structural", "medium", "extrinsic"),  # claims in an answer that cites nothing at all
    UNCITED_CLAIM: ("structural", "low", "extrinsic"),  # a claim without a citation where others have one
    NONEXISTENT_SOURCE: ("confabulatory", "high", "extrinsic"),  # no evidence answers to the cited name
    MISQUOTED: ("contextual", "high", "intrinsic"),  # words in quotation marks that the source does not have
    NON_ENTAILING: ("contextual", "medium", "extrinsic"),  # the cited passages do not support the claim
}
_NOT_ENTAILED = {
    "supported": "the claim restates it, and leaves out or changes a part of it",
    "contradicted": "says otherwise",
    "partially_supported": "supports it only in part",
}
IDLE = "the claim stands by its other sources; one that is named here supports no part of it"


def violation_finding(violation: str, span: Span, reason: str, *, score: float | None = 1.0, **changed: Any) -> Finding:
    """A finding of one violation; certain unless it has another score. Its version is added in the end."""
    category, severity, origin = _CLASSES[violation]
    fields = {"category": category, "severity": severity, "origin": origin, "score": score, "reason": reason, **changed}
    return Finding(kind="citation_violation", violation=violation, span=span, check=CHECK, version="", **fields)


def not_entailed_finding(span: Span, one: Verification, ids: Sequence[str], sources: Sources) -> Finding:
    """A claim that its cited passages do not entail, or (strict) that restates only a part of them."""
    claim, label = claim_of(span, one.reading, one.judged, ""), one.judged.label
    named = f"cited passage {ids[0]}" if len(ids) == 1 else f"cited passages {', '.join(ids[:5])}"
    opposed = {"severity": "high", "origin": "intrinsic"} if label == "contradicted" else {}
    return violation_finding(
        NON_ENTAILING,
        span,
        f"{named}: {_NOT_ENTAILED.get(label, 'does not say so')}",
        score=1.0 - (one.restated or 0.0) if label == "supported" else claim.score,
        evidence=tuple(sources.in_exchange(quote) for quote in claim.evidence),
        **opposed,
    )


# ---- metrics


def citation_metrics(
    answer: CitedAnswer, findings: Sequence[Finding], supported: Mapping[Span, bool], *, is_read: bool
) -> dict[str, float]:
    """Counts and shares; a share of nothing is left out, never counted as 1.

    `attribution_precision` = valid claims by cited claims, the product of `attribution_existence` (all that a claim
    cites exists), `attribution_accuracy` (of those: its quotations are verbatim) and `attribution_entailment` (of
    those: the sources entail it, each citation a part of it). Left out from the level `required` down, and where a
    cited claim could not be read.

    Args:
        supported: cited claim that was read -> whether its sources support it, each of its citations a part.
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
    spans = [{q.span for q in one.quotations} | {c.span for c in one.citations} for one in existing]
    accurate = [one for one, own in zip(existing, spans, strict=True) if not own & wrong]
    valid = [one for one in accurate if supported[one.statement.span]]
    metrics["attribution_precision"] = len(valid) / len(cited)
    if existing:
        metrics["attribution_accuracy"] = len(accurate) / len(existing)
    if accurate:
        metrics["attribution_entailment"] = len(valid) / len(accurate)
    return metrics
