"""Factual fabrication: papers, ids and other things that a response names must exist.

Not everything is looked up: only what the evidence left open, is severe enough, and is stated as a fact. A miss in a
complete source is a finding; a look-up that fails leaves the response unverified.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from evidencerails.checks.base import CheckContext, concluded
from evidencerails.checks.knowledge.base import Lookup, Verdict, folded, verdicts
from evidencerails.checks.knowledge.entities import MAX_ENTITIES, Entity, Kind
from evidencerails.errors import DID_YOU_MEAN, EvidencerailsError
from evidencerails.exchange import Exchange, Span
from evidencerails.report import SEVERITIES, CheckResult, Finding, Quote
from evidencerails.text.claimable import without_reasoning
from evidencerails.text.sentences import split_sentences

MAX_LISTED = 100
_THING = (
    r"(?:paper|study|article|drug|medication|medicine|act|law|statute|ticker|symbol|company|stock|record|order|account"
    r"|user)"
)
_NOT = r"(?:do|does|did|could|can|was|were|is|are|would|will|has|have)(?:n['’]t|[ ]not)|cannot|unable[ ]to|failed[ ]to"
_NOT_STATED = re.compile(
    rf"""\b(?:
    fictional|fictitious|hypothetical|imaginary|made[- ]up|placeholder|for[ ]example,?[ ]if|suppose|imagine
    |(?:there[ ](?:is|are|was|were)|has|have|found|find|know[ ]of|aware[ ]of)[ ](?:no|not[ ]any|any)[ ]
        (?:\w+[ ]){{0,3}}{_THING}
    |no[ ](?:such[ ]|known[ ]|(?:\w+[ ])?record[ ]of[ ]|trace[ ]of[ ])
    |(?:{_NOT})[ ](?:be[ ]|been[ ])?(?:able[ ]to[ ])?(?:find|found|locate|located|exist|identify|identified|verify
        |verified|confirm|confirmed|aware|recogni[sz]e|know|listed|match|have[ ](?:any[ ])?(?:record|information))
    |no[ ]longer[ ]exists?|never[ ]existed|not[ ](?:a[ ])?real
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
"""Sentences that do not state that what they name exists: fiction, hypotheses, failed searches, denials."""


class Mention(NamedTuple):
    """One entity in the response, in its sentence."""

    kind: Kind
    entity: Entity
    span: Span
    sentence: Span

    @property
    def lookup(self) -> Lookup:
        """What is asked about it."""
        return Lookup.of(self.entity.text, parts=self.entity.parts, is_folded=self.kind.is_folded)


class KnowledgeCheck:
    """Entities that must exist, looked up in the sources the user trusts."""

    name = "knowledge"
    version = "1"

    async def run(self, exchange: Exchange, context: CheckContext) -> CheckResult:
        """Check every entity of the kinds that the settings name.

        Raises:
            KnowledgeError: an extractor of the user's does not come to an end.
        """
        settings, sources = context.config.knowledge, context.sources
        if sources is None or not settings.entities:
            return concluded(self, [], ["no_sources: name sources and entities under 'knowledge' in the settings"], "")
        kinds = sources.kinds
        found = await sources.threads.run(lambda: mentions(exchange.response, kinds), timeout_s=settings.budget_s)
        chosen, left_out = await _chosen(found, exchange, context)
        first: dict[Lookup, Mention] = {}
        for mention in chosen:
            first.setdefault(mention.lookup, mention)
        asked = {lookup: sources.by_entity[mention.kind.name] for lookup, mention in first.items()}
        answered = await verdicts(asked, settings.budget_s)
        refuted = [lookup for lookup, verdict in answered.items() if verdict.outcome == "refuted"]
        outcomes = Counter(verdict.outcome for verdict in answered.values())
        metrics = {f"entities_{name}": float(outcomes[name]) for name in ("verified", "refuted", "unverifiable")}
        if decided := outcomes["verified"] + outcomes["refuted"]:
            metrics["existing_entity_rate"] = outcomes["verified"] / decided
        return concluded(
            self,
            [_finding(first[lookup], answered[lookup], self) for lookup in refuted],
            _gaps(answered, found),
            "all entities found" if answered else "no_entities",
            counts=(f"{first[lookup].kind.name} without a record" for lookup in refuted),
            metrics=metrics,
            details={"entities": _listed(answered, first), "not_looked_up": left_out},
        )


def mentions(response: str, kinds: Sequence[Kind]) -> list[Mention]:
    """The entities of a response without its reasoning traces, each with the sentence it stands in; of a kind at most
    `MAX_ENTITIES`, and one more that shows that there are more."""
    found: list[Mention] = []
    for part in without_reasoning(response):
        sentences = split_sentences(part.text)
        for kind in kinds:
            for entity in islice(kind.extract(part.text), MAX_ENTITIES + 1):
                span = Span.of(response, part.start + entity.start, part.start + entity.end)
                start, end = _around(sentences, entity)
                found.append(Mention(kind, entity, span, Span.of(response, part.start + start, part.start + end)))
    return found


def _around(sentences: Sequence[Span], entity: Entity) -> tuple[int, int]:
    """From the sentence in which it begins to the end of that in which it ends: "et al." may look like an end."""
    touched = [s for s in sentences if s.start < entity.end and entity.start < s.end]
    return (touched[0].start, touched[-1].end) if touched else (entity.start, entity.end)


async def _chosen(
    found: Sequence[Mention], exchange: Exchange, context: CheckContext
) -> tuple[list[Mention], dict[str, int]]:
    """The mentions to look up: severe enough, stated, and left open by the evidence; and how many not, by reason."""
    least = SEVERITIES.index(context.config.knowledge.min_severity)
    left_out: Counter[str] = Counter()
    chosen: list[Mention] = []
    count: Counter[str] = Counter()
    for mention in found:
        count[mention.kind.name] += 1
        if SEVERITIES.index(mention.kind.severity) < least:
            left_out["below_min_severity"] += 1
        elif _NOT_STATED.search(mention.sentence.text) or mention.sentence.text.rstrip().endswith("?"):
            left_out["not_stated_as_a_fact"] += 1
        elif count[mention.kind.name] <= MAX_ENTITIES:
            chosen.append(mention)
    if chosen and exchange.evidence:
        supported = await _settled_by_evidence(chosen, exchange, context)
        left_out["settled_by_evidence"] += len(supported)
        chosen = [m for place, m in enumerate(chosen) if place not in supported]
    return chosen, {reason: count for reason, count in left_out.items() if count}


async def _settled_by_evidence(chosen: Sequence[Mention], exchange: Exchange, context: CheckContext) -> set[int]:
    """Places of the mentions that the evidence names, or whose sentence it entails."""
    texts = [f" {folded(passage.text)} " for passage in exchange.evidence]

    def is_named(entity: Entity) -> bool:
        words = [f" {folded(word)} " for word in entity.parts.values() or [entity.text]]
        return any(all(word in text for word in words) for text in texts)

    named = {place for place, m in enumerate(chosen) if is_named(m.entity)}
    rest = {m.sentence for place, m in enumerate(chosen) if place not in named}
    entailed = await _entailed(rest, exchange, context) if rest else set()
    return named | {place for place, m in enumerate(chosen) if m.sentence in entailed}


async def _entailed(sentences: set[Span], exchange: Exchange, context: CheckContext) -> set[Span]:
    """The sentences that the evidence supports; none if it cannot be read, which leaves all of them open."""
    from evidencerails.checks.grounding import readable_evidence
    from evidencerails.verdict.model import VerdictModel
    from evidencerails.verdict.reading import hypotheses, judged_reading, read_claims

    ordered = sorted(sentences, key=lambda span: span.start)
    settings, model = context.config.grounding, VerdictModel.load()
    try:
        readable = await context.nli.run(readable_evidence, exchange, ordered, context.nli.languages)
        if readable.reason or not readable.passages:
            return set()
        wordings = hypotheses(ordered, exchange.user_input)
        readings = await read_claims(wordings, readable.passages, context.nli)
    except EvidencerailsError:  # evidence that cannot be read settles nothing
        return set()
    judged = [judged_reading(reading, model, settings).label for reading in readings.claims]
    return {sentence for sentence, label in zip(ordered, judged, strict=True) if label == "supported"}


def _finding(mention: Mention, verdict: Verdict, check: KnowledgeCheck) -> Finding:
    hint = f"{DID_YOU_MEAN}{' or '.join(map(repr, verdict.near))}?" if verdict.near else ""
    return Finding(
        kind="factual_fabrication",
        category="factual",
        severity=mention.kind.severity,
        origin="extrinsic",
        span=mention.span,
        reason=f"{mention.kind.name}: {verdict.reason} of {mention.entity.text!r}{hint}",
        evidence=tuple(near_quote(verdict.source, near, mention.entity.text) for near in verdict.near),
        score=1.0,
        check=check.name,
        version=check.version,
    )


def near_quote(source: str, near: str, text: str) -> Quote:
    """What a source has instead, as evidence: reports that leave the app carry it only where they may carry evidence.
    Its score is their similarity."""
    from rapidfuzz import fuzz

    similarity = fuzz.ratio(folded(text), folded(near)) / 100
    return Quote(passage_id=source, source=f"knowledge:{source}", span=Span.of(near, 0, len(near)), score=similarity)


def _gaps(answered: Mapping[Lookup, Verdict], found: Sequence[Mention]) -> list[str]:
    unknown = [verdict for verdict in answered.values() if verdict.outcome == "unverifiable"]
    if unknown:
        return [f"unverifiable_entities: {len(unknown)} of {len(answered)}; the first: {unknown[0].reason}"]
    is_cut = max(Counter(mention.kind.name for mention in found).values(), default=0) > MAX_ENTITIES
    return [f"too_many_entities: only {MAX_ENTITIES} of a kind are looked up"] if is_cut else []


def _listed(verdicts: Mapping[Lookup, Verdict], first: Mapping[Lookup, Mention]) -> list[dict[str, Any]]:
    return [
        {
            "kind": first[lookup].kind.name,
            "text": lookup.text,
            "span": [first[lookup].span.start, first[lookup].span.end],
            "outcome": verdict.outcome,
            "source": verdict.source,
            "reason": verdict.reason,
        }
        for lookup, verdict in list(verdicts.items())[:MAX_LISTED]
    ]
