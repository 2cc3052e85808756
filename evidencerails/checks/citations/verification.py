"""Whether cited passages entail what cites them: the NLI model and the calibrated verdict of `grounding`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from evidencerails.checks.base import CheckContext
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
    def is_restated_whole(self) -> bool:
        """False if the statement was asked to restate its source, and leaves out or changes a part of it."""
        return self.restated is None or self.restated >= MIN_RESTATED


class Question(NamedTuple):
    """A statement and the sources to read for it."""

    statement: Statement
    places: tuple[int, ...]
    """Places of the sources, from 0."""
    wants_singles: bool = True

    @property
    def has_too_many(self) -> bool:
        """True if its sources ought to be read one by one, and are too many for that."""
        return self.wants_singles and len(self.places) > MAX_SINGLES


async def verify(
    questions: Sequence[Question],
    sources: Sources,
    context: CheckContext,
    *,
    user_input: str = "",
    is_strict: bool = False,
) -> list[Verification]:
    """What the sources say about each statement, in order.

    Several sources support a statement together if one entails the whole, or if each of its claims is entailed by
    one of them. A source that neither entails it nor one of its claims adds nothing (Gao et al. 2023, ALCE, precision).

    Raises:
        NliError: the NLI backend failed.
    """
    groups: dict[tuple[int, ...], list[int]] = {}
    for number, question in enumerate(questions):
        groups.setdefault(question.places, []).append(number)
    found: list[Verification | None] = [None] * len(questions)

    async def read(places: tuple[int, ...], numbers: list[int]) -> None:
        asked = [questions[number].statement for number in numbers]
        for number, one in zip(numbers, await _together(asked, places, sources, context, user_input), strict=True):
            found[number] = one

    await asyncio.gather(*(read(places, numbers) for places, numbers in groups.items()))
    verified = [one for one in found if one is not None]
    singles = [_with_singles(q, v, sources, context, user_input) for q, v in zip(questions, verified, strict=True)]
    verified = list(await asyncio.gather(*singles))
    return await _with_restated(questions, verified, context) if is_strict else verified


async def _together(
    statements: Sequence[Statement], places: tuple[int, ...], sources: Sources, context: CheckContext, user_input: str
) -> list[Verification]:
    """Statements that cite the same sources, read in one go; parts of those only that have no support as a whole."""
    wordings = hypotheses([Span.of(s.text, 0, len(s.text)) for s in statements], user_input)
    whole = await _judged(wordings, places, sources, context)
    in_parts = [n for n, s in enumerate(statements) if s.parts and not whole[n].is_supported]
    if not in_parts:
        return whole
    texts = [part for n in in_parts for part in statements[n].parts]
    found = iter(await _judged(texts, places, sources, context))
    for n in in_parts:
        parts = [next(found) for _ in statements[n].parts]
        if all(part.is_supported for part in parts):  # each claim has support, though no passage has the whole
            whole[n] = max(parts, key=lambda part: part.judged.verdict.score)
    return whole


async def _judged(
    texts: Sequence[Hypothesis | str], places: tuple[int, ...], sources: Sources, context: CheckContext
) -> list[Verification]:
    """The verdict on each text by these sources."""
    model, settings = VerdictModel.load(), context.config.grounding
    readings = await read_claims(texts, sources.passages(places), context.nli)
    return [Verification(judged_reading(reading, model, settings), reading) for reading in readings.claims]


async def _with_singles(
    question: Question, together: Verification, sources: Sources, context: CheckContext, user_input: str
) -> Verification:
    if not question.wants_singles or question.has_too_many or not together.is_supported or len(question.places) < 2:
        return together
    whole = question.statement
    alone = [whole, *(whole._replace(text=part, parts=()) for part in whole.parts)]
    answers = await asyncio.gather(
        *(_together(alone, (place,), sources, context, user_input) for place in question.places)
    )
    idle = [
        place
        for place, found in zip(question.places, answers, strict=True)
        if not any(one.is_supported or one.judged.label == "partially_supported" for one in found)
    ]
    return together._replace(idle=tuple(idle) if len(idle) < len(question.places) else ())


async def _with_restated(
    questions: Sequence[Question], verified: Sequence[Verification], context: CheckContext
) -> list[Verification]:
    """For statements that restate a source: does the statement entail the source's sentence too?"""
    places = [
        number
        for number, (question, one) in enumerate(zip(questions, verified, strict=True))
        if question.statement.restates and one.is_supported and one.reading.support
    ]
    if not places:
        return list(verified)
    pairs = []
    for number in places:
        support = verified[number].reading.support
        assert support is not None
        sentence = support.sentence(verified[number].reading.hypothesis)
        if sentence is None:
            continue
        pairs.append((questions[number].statement.text, sentence.text))
    scores = await context.nli.scores(pairs)
    changed = list(verified)
    for number, row in zip(places, scores, strict=True):
        changed[number] = changed[number]._replace(restated=float(row[ENTAILMENT]))
    return changed
