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
from typing import Any, Literal, NamedTuple

from evidencerails.checks.base import CheckContext
from evidencerails.checks.grounding import readable_evidence
from evidencerails.exchange import Exchange, Passage, Span
from evidencerails.report import CheckResult
from evidencerails.settings.citations import EntailmentLevel
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
    """A part of the answer at one level."""

    span: Span
    texts: tuple[str, ...]
    """What the model reads: the whole, or its sentences where that is too long."""


class Scores(NamedTuple):
    """Highest P(entailment) and P(contradiction) of one part, over all premises of its level."""

    entailment: float
    contradiction: float

    @property
    def relation(self) -> Relation:
        """Which of the two wins; neutral below `MIN_PROBABILITY`."""
        if max(self) < MIN_PROBABILITY:
            return "neutral"
        return "entailed" if self.entailment >= self.contradiction else "contradicted"


async def with_levels(results: Sequence[CheckResult], exchange: Exchange, context: CheckContext) -> list[CheckResult]:
    """The results; one that read the evidence carries the levels of the settings, as metrics and details.

    Metrics `entailment_<level>` hold the share of parts that are entailed. Nothing is added without evidence,
    claims, or a language that the model reads; chunks of a stream are left out.
    """
    levels = context.config.granularity.levels
    bearer = next((n for name in READERS for n, result in enumerate(results) if result.name == name), None)
    if not levels or bearer is None or exchange.is_chunk or not exchange.evidence:
        return list(results)
    found = await entailment_levels(exchange, context, levels)
    changed = results[bearer].model_copy(
        update={
            "metrics": {**results[bearer].metrics, **_metrics(found)},
            "details": {**results[bearer].details, "entailment": _details(found)},
        }
    )
    return [changed if n == bearer else result for n, result in enumerate(results)]


async def entailment_levels(
    exchange: Exchange, context: CheckContext, levels: Sequence[EntailmentLevel]
) -> dict[EntailmentLevel, list[tuple[Unit, Scores]]]:
    """The parts of each level with their scores; empty where nothing can be read.

    Raises:
        NliError: the NLI backend failed.
    """
    sentences = await context.nli.run(claim_sentences, exchange.response, context.splitter)
    if not sentences:
        return {}
    readable = await context.nli.run(readable_evidence, exchange, sentences, context.nli.languages)
    if readable.reason or not readable.passages:
        return {}
    limit = int(context.nli.max_tokens * MAX_HYPOTHESIS)

    def fits(text: str) -> bool:
        return len(context.nli.token_offsets(text)) <= limit

    found = {}
    for level in levels:
        units = await context.nli.run(units_of, exchange.response, sentences, level, fits)
        premises = await context.nli.run(_premises, readable.passages, level)
        found[level] = await _read(units, premises, context)
    return found


def units_of(response: str, sentences: Sequence[Span], level: EntailmentLevel, fits: Any) -> list[Unit]:
    """The parts of an answer at a level: its claim sentences one by one, together by paragraph, or all together."""
    if level == "sentence":
        return [Unit(sentence, (clean(sentence.text),)) for sentence in sentences]
    groups: list[list[Span]] = []
    for sentence in sentences:
        is_same = groups and (level == "document" or not _is_apart(response, groups[-1][-1], sentence))
        if is_same:
            groups[-1].append(sentence)
        else:
            groups.append([sentence])
    return [_unit(response, group, fits) for group in groups]


def _is_apart(response: str, first: Span, second: Span) -> bool:
    """True if a blank line lies between two sentences."""
    return re.search(r"\n\s*\n", response[first.end : second.start]) is not None


def _unit(response: str, group: Sequence[Span], fits: Any) -> Unit:
    span = Span.of(response, group[0].start, group[-1].end)
    texts = tuple(clean(sentence.text) for sentence in group)
    whole = " ".join(texts)
    return Unit(span, (whole,) if fits(whole) else texts)


def _premises(passages: Sequence[Passage], level: EntailmentLevel) -> list[list[Passage]]:
    """The evidence of a level, each list read as one premise: the best of its windows counts."""
    if level == "document":
        whole = "\n\n".join(passage.text for passage in passages)
        return [[Passage(id="document", text=whole)]]
    if level == "passage":
        return [list(passages)]
    pieces = (Passage(id=p.id, text=s.text, source=p.source) for p in passages for s in split_sentences(p.text))
    return [[piece for piece, _ in zip(pieces, range(MAX_EVIDENCE_SENTENCES), strict=False)]]


async def _read(
    units: Sequence[Unit], premises: list[list[Passage]], context: CheckContext
) -> list[tuple[Unit, Scores]]:
    texts = [text for unit in units for text in unit.texts]
    readings: list[list[ClaimEvidence]] = []
    for passages in premises:
        readings.append((await read_claims(texts, passages, context.nli)).claims)
    found, at = [], 0
    for unit in units:
        own = [one for claims in readings for one in claims[at : at + len(unit.texts)]]
        at += len(unit.texts)
        found.append((unit, Scores(min(r.entailment for r in own), max(r.contradiction for r in own))))
    return found


def _metrics(found: dict[EntailmentLevel, list[tuple[Unit, Scores]]]) -> dict[str, float]:
    return {
        f"entailment_{level}": sum(scores.relation == "entailed" for _, scores in rows) / len(rows)
        for level, rows in found.items()
        if rows
    }


def _details(found: dict[EntailmentLevel, list[tuple[Unit, Scores]]]) -> dict[str, Any]:
    """Offsets and scores of each level; no words."""
    return {
        level: [
            {
                "span": [unit.span.start, unit.span.end],
                "entailment": round(scores.entailment, 4),
                "contradiction": round(scores.contradiction, 4),
                "relation": scores.relation,
                "read_in_parts": len(unit.texts) > 1,
            }
            for unit, scores in rows[:MAX_LISTED]
        ]
        for level, rows in found.items()
    }
