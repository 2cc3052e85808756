"""Entailment at three sizes in one report: sentence, passage and document.

    sentence    each claim sentence of the answer against single sentences of the evidence: fine-grained fact checking
    passage     each paragraph of the answer against single passages: does it mix what no one passage says together?
    document    the whole answer against all the evidence: overall faithfulness

A part of the answer that the NLI model cannot read in one go is read sentence by sentence: it is entailed as far as
its least entailed sentence, and contradicted as far as its most contradicted one. The numbers are for people; no
decision rests on them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import Any, Literal, NamedTuple

from evidencerails.checks.base import CheckContext
from evidencerails.checks.grounding import readable_evidence
from evidencerails.exchange import Exchange, Passage, Span
from evidencerails.nli.service import ExchangeNli
from evidencerails.report import CheckResult
from evidencerails.settings.claims import EntailmentLevel
from evidencerails.text.claimable import claim_sentences, clean
from evidencerails.text.sentences import split_sentences
from evidencerails.verdict.reading import ClaimEvidence, read_claims

MIN_PROBABILITY = 0.5
"""Probability from which a relation is the verdict."""
MAX_HYPOTHESIS = 0.5
"""Share of the model's tokens that a part of the answer may take; the rest is for the evidence."""
MAX_EVIDENCE_SENTENCES = 2_000
"""Sentences of the evidence that the sentence level reads; of longer evidence the first ones."""
MAX_LISTED = 100
READERS = ("grounding", "claims", "citations")
"""Checks whose result may carry the levels, the first that ran."""

Relation = Literal["entailed", "contradicted", "neutral"]


class Unit(NamedTuple):
    """A part of the answer at one level, with its highest P(entailment) and P(contradiction)."""

    span: Span
    texts: tuple[str, ...]
    """What the model reads: the whole, or its sentences where that is too long."""
    entailment: float = 0.0
    contradiction: float = 0.0

    @property
    def relation(self) -> Relation:
        """Which of the two wins; neutral below `MIN_PROBABILITY`."""
        if max(self.entailment, self.contradiction) < MIN_PROBABILITY:
            return "neutral"
        return "entailed" if self.entailment >= self.contradiction else "contradicted"


async def with_levels(results: Sequence[CheckResult], exchange: Exchange, context: CheckContext) -> list[CheckResult]:
    """The results; one that read the evidence carries the levels of the settings, as metrics and details.

    Metrics `entailment_<level>` hold the share of parts that are entailed. Nothing is added without evidence,
    claims, or a language that the model reads; chunks of a stream are left out."""
    levels = context.config.granularity.levels
    bearer = next((n for name in READERS for n, result in enumerate(results) if result.name == name), None)
    if not levels or bearer is None or exchange.is_chunk or not exchange.evidence:
        return list(results)
    found = await _levels(exchange, context, levels)
    changed = results[bearer]
    shares = {
        f"entailment_{level}": sum(unit.relation == "entailed" for unit in units) / len(units)
        for level, units in found.items()
        if units
    }
    details = {**changed.details, "entailment": {level: _details(units) for level, units in found.items()}}
    changed = changed.model_copy(update={"metrics": {**changed.metrics, **shares}, "details": details})
    return [changed if n == bearer else result for n, result in enumerate(results)]


def _details(units: Sequence[Unit]) -> list[dict[str, Any]]:
    """Offsets and scores; no words."""
    return [
        {
            "span": [unit.span.start, unit.span.end],
            "entailment": round(unit.entailment, 4),
            "contradiction": round(unit.contradiction, 4),
            "relation": unit.relation,
            "read_in_parts": len(unit.texts) > 1,
        }
        for unit in units[:MAX_LISTED]
    ]


async def _levels(
    exchange: Exchange, context: CheckContext, levels: Sequence[EntailmentLevel]
) -> dict[EntailmentLevel, list[Unit]]:
    """The parts of each level with their scores; empty where nothing can be read."""
    sentences = await context.nli.run(claim_sentences, exchange.response, context.splitter)
    if not sentences:
        return {}
    readable = await context.nli.run(readable_evidence, exchange, sentences, context.nli.languages)
    if readable.reason or not readable.passages:
        return {}
    found = {}
    for level in levels:
        units = await context.nli.run(_units, exchange.response, sentences, level, context.nli)
        premises = await context.nli.run(_premises, readable.passages, level)
        texts = [text for unit in units for text in unit.texts]
        claims = iter((await read_claims(texts, premises, context.nli)).claims)
        found[level] = [_scored(unit, [next(claims) for _ in unit.texts]) for unit in units]
    return found


def _scored(unit: Unit, own: Sequence[ClaimEvidence]) -> Unit:
    return unit._replace(
        entailment=min(one.entailment for one in own), contradiction=max(one.contradiction for one in own)
    )


def _units(response: str, sentences: Sequence[Span], level: EntailmentLevel, nli: ExchangeNli) -> list[Unit]:
    """The parts of an answer at a level: its claim sentences one by one, together by paragraph, or all together."""
    model, groups = nli.model, list[list[Span]]()
    for sentence in sentences:
        gap = response[groups[-1][-1].end : sentence.start] if groups else "\n\n"
        is_apart = level == "sentence" or (level == "passage" and re.search(r"\n\s*\n", gap) is not None)
        if is_apart or not groups:
            groups.append([])
        groups[-1].append(sentence)
    units = []
    for group in groups:
        texts = tuple(clean(sentence.text) for sentence in group)
        fits = len(model.token_offsets(" ".join(texts))) <= int(model.max_tokens * MAX_HYPOTHESIS)
        span = Span.of(response, group[0].start, group[-1].end)
        units.append(Unit(span, (" ".join(texts),) if fits else texts))
    return units


def _premises(passages: Sequence[Passage], level: EntailmentLevel) -> list[Passage]:
    """The evidence of a level; the best of its windows counts."""
    if level == "document":
        return [Passage(id="document", text="\n\n".join(passage.text for passage in passages))]
    if level == "passage":
        return list(passages)
    pieces = (Passage(id=p.id, text=s.text, source=p.source) for p in passages for s in split_sentences(p.text))
    return list(islice(pieces, MAX_EVIDENCE_SENTENCES))
