"""Whether cited passages entail what cites them: the NLI model and the calibrated verdict of `grounding`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from evidencerails.checks.base import CheckContext
from evidencerails.checks.citations.answer import CitedStatement
from evidencerails.checks.citations.sources import Sources
from evidencerails.checks.citations.statements import Statement
from evidencerails.exchange import Span
from evidencerails.nli.base import ENTAILMENT
from evidencerails.verdict.model import VerdictModel
from evidencerails.verdict.reading import ClaimEvidence, Hypothesis, Judged, hypotheses, judged_reading, read_claims

MAX_SINGLES = 20
"""Sources of one statement that are also read one by one, to find those that add nothing; more leave it unverified."""
MIN_RESTATED = 0.5
"""P(entailment) of the source's sentence by the claim from which the claim restates it (strict level)."""


class Question(NamedTuple):
    """A statement and the sources to read for it."""

    cited: CitedStatement
    places: tuple[int, ...]
    """Places of the sources, from 0."""

    @property
    def statement(self) -> Statement:
        """What is read."""
        return self.cited.statement

    @property
    def wants_singles(self) -> bool:
        """True if each of its citations has to be a part of its support."""
        return bool(self.cited.citations) and not self.statement.shares

    @property
    def has_too_many(self) -> bool:
        """True if its sources ought to be read one by one, and are too many for that."""
        return self.wants_singles and len(self.places) > MAX_SINGLES


class Verification(NamedTuple):
    """What the sources say about one statement."""

    judged: Judged
    reading: ClaimEvidence
    idle: tuple[int, ...] = ()
    """Places of cited sources that support nothing of it, though others do."""
    restated: float | None = None
    """P(entailment) of the deciding sentence of the source by the statement; None if it was not asked for."""

    @property
    def is_supported(self) -> bool:
        """True if the cited sources together entail the statement."""
        return self.judged.label == "supported"

    @property
    def is_upheld(self) -> bool:
        """True if its sources support it, and it leaves out or changes nothing where it was asked to restate them."""
        return self.is_supported and (self.restated is None or self.restated >= MIN_RESTATED)


class SourceReader:
    """Reads statements beside the sources that they cite.

    Several sources support a statement together if one entails the whole, or if each of its claims is entailed by
    one of them. A source that neither entails it nor one of its claims adds nothing (Gao et al. 2023, ALCE, precision).
    """

    def __init__(self, sources: Sources, context: CheckContext, user_input: str) -> None:
        self._sources, self._context, self._user_input = sources, context, user_input

    async def verify(self, questions: Sequence[Question], *, is_strict: bool) -> list[Verification]:
        """What the sources say about each statement, in order."""
        groups: dict[tuple[int, ...], list[Question]] = {}
        for question in questions:
            groups.setdefault(question.places, []).append(question)
        read = await asyncio.gather(
            *(self._together([one.statement for one in asked], places) for places, asked in groups.items())
        )
        answers = {places: iter(found) for places, found in zip(groups, read, strict=True)}
        together = [next(answers[question.places]) for question in questions]
        pairs = zip(questions, together, strict=True)
        return list(await asyncio.gather(*(self._closely(*pair, is_strict) for pair in pairs)))

    async def _together(self, statements: Sequence[Statement], places: tuple[int, ...]) -> list[Verification]:
        """Statements that cite the same sources, read in one go; parts of those that have no support as a whole."""
        wordings = hypotheses([Span.of(s.text, 0, len(s.text)) for s in statements], self._user_input)
        whole = await self._judged(wordings, places)
        in_parts = [n for n, s in enumerate(statements) if s.parts and not whole[n].is_supported]
        found = iter(await self._judged([part for n in in_parts for part in statements[n].parts], places))
        for n in in_parts:
            parts = [next(found) for _ in statements[n].parts]
            if all(part.is_supported for part in parts):  # each claim has support, though no passage has the whole
                whole[n] = max(parts, key=lambda part: part.judged.verdict.score)
        return whole

    async def _judged(self, texts: Sequence[Hypothesis | str], places: tuple[int, ...]) -> list[Verification]:
        """The verdict on each text by these sources."""
        if not texts:
            return []
        model, settings = VerdictModel.load(), self._context.config.grounding
        readings = await read_claims(texts, self._sources.passages(places), self._context.nli)
        return [Verification(judged_reading(reading, model, settings), reading) for reading in readings.claims]

    async def _closely(self, question: Question, one: Verification, is_strict: bool) -> Verification:
        """A supported statement read beside each of its sources alone, and (strict) its source's sentence beside it."""
        if not one.is_supported:
            return one
        statement, support = question.statement, one.reading.support
        if question.wants_singles and 1 < len(question.places) <= MAX_SINGLES:
            alone = [statement, *(statement._replace(text=part, parts=()) for part in statement.parts)]
            found = await asyncio.gather(*(self._together(alone, (place,)) for place in question.places))
            adds = [any(v.judged.label in ("supported", "partially_supported") for v in each) for each in found]
            idle = [place for place, has_part in zip(question.places, adds, strict=True) if not has_part]
            one = one._replace(idle=tuple(idle) if any(adds) else ())
        sentence = support.sentence(one.reading.hypothesis) if support and is_strict and statement.restates else None
        if sentence is None:
            return one
        (row,) = await self._context.nli.scores([(statement.text, sentence.text)])
        return one._replace(restated=float(row[ENTAILMENT]))
