"""Whether cited passages entail what cites them: the NLI model and the calibrated verdict of `grounding`."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import NamedTuple

from evidencerails.checks.base import CheckContext
from evidencerails.checks.citation.doubts import minded_for_wording
from evidencerails.checks.citation.sources import Sources
from evidencerails.checks.citation.statements import Statement
from evidencerails.checks.evidence_nli import SURE_ENTAILMENT, Reading, read_claims
from evidencerails.checks.grounding import Judged, claim_of, judged_reading
from evidencerails.checks.hypotheses import Hypothesis, hypotheses
from evidencerails.checks.near_copies import shows_swap
from evidencerails.checks.other_values import EXACT_KINDS
from evidencerails.config import GroundingSettings
from evidencerails.exchange import Span
from evidencerails.nli.base import ENTAILMENT
from evidencerails.report import Claim
from evidencerails.scoring.verdict import ClaimVerdict, VerdictModel, logit
from evidencerails.scoring.words import WordIndex, words_of
from evidencerails.text.claimable import clean

MAX_SINGLES = 6
"""Sources of one statement that are also read one by one, to find those that add nothing."""
MIN_ENTAILMENT_UNNAMED = 0.75
"""P(entailment) from which a passage need not itself name what the rest of the evidence names: an excerpt says "the
bridge" of the bridge in its title."""
MIN_ENTAILMENT_REWORDED = 0.5
"""P(entailment) from which a cited passage supports a claim in other words: likelier than all else together."""
CLEARED_SHARE = 0.9
"""Share of the score from which a claim is unsupported that one gets which only its wording made doubtful."""
_WORDING = ("missing_words", "missing_near", "missing_bigrams")
"""Features of the verdict model that say how a claim is worded, not what it says."""
_FULL_NAME = re.compile(r"[A-Z][a-z]+ [A-Z][a-z]+\b")
"""At the head of a claim, where every word has a capital, only a second one tells a name."""
MIN_RESTATED = 0.5
"""P(entailment) of the source's sentence by the claim from which the claim restates it (strict level)."""


class Verification(NamedTuple):
    """What the sources say about one statement."""

    judged: Judged
    reading: Reading
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
    readings = await read_claims(texts, sources.passages(places), context.nli, settings, model.thresholds)
    claims = await context.nli.run(_with_known_names, readings.claims, sources, places)
    judged = [_judged_cited(reading, model, settings) for reading in claims]
    doubted = [n for n, one in enumerate(judged) if one.label != "supported" and one.other_value is None]
    for n, clears in zip(doubted, await minded_for_wording([claims[n] for n in doubted], context.nli), strict=True):
        if clears:
            judged[n] = Judged("supported", _cleared(judged[n].verdict, model, settings))
    return [Verification(one, reading) for one, reading in zip(judged, claims, strict=True)]


def _cleared(verdict: ClaimVerdict, model: VerdictModel, settings: GroundingSettings) -> ClaimVerdict:
    """The verdict on a claim in which no word is wrong: just short of doubt."""
    bar = settings.max_unsupported_score
    most = (model.thresholds.unsupported if bar is None else bar) * CLEARED_SHARE
    return ClaimVerdict(most, {**verdict.parts, "only_wording": logit(most) - verdict.logit})


def _judged_cited(reading: Reading, model: VerdictModel, settings: GroundingSettings) -> Judged:
    """The verdict on a claim by passages that the answer itself points to.

    Which words stand beside each other tells whether some evidence is about a claim at all. A citation has said that
    already: what the passage entails more likely than not, with every number, date and name, it supports in any words.
    """
    judged = judged_reading(reading, model, settings)
    if judged.label == "supported" and reading.entailment < SURE_ENTAILMENT and _says_another(reading):
        return Judged("partially_supported", judged.verdict)
    if judged.label != "partially_supported" or reading.missing or reading.entailment < MIN_ENTAILMENT_REWORDED:
        return judged
    if _names_another(reading):
        return judged
    content = {name: value for name, value in reading.features.items() if name not in _WORDING}
    reworded = judged_reading(reading._replace(features=content), model, settings)
    return reworded if reworded.label == "supported" else judged


def _with_known_names(readings: Sequence[Reading], sources: Sources, places: Sequence[int]) -> list[Reading]:
    """The readings; a name that only the cited passages lack, while all the sources together have it, counts as named
    in what these passages clearly entail."""
    if not any(_may_be_unnamed(reading) for reading in readings):
        return list(readings)
    cited = WordIndex(clean(passage.text) for passage in sources.passages(places))
    changed = []
    for reading in readings:
        lacks = [name for name in reading.words.names if not cited.has_name(name)]
        is_known = lacks and _may_be_unnamed(reading) and all(map(sources.words.has_name, lacks))
        if is_known and not _names_another(reading):
            kept = tuple(kind for kind in reading.missing if kind != "entity")
            reading = reading._replace(features={**reading.features, "missing_names": 0.0}, missing=kept)
        changed.append(reading)
    return changed


def _says_another(reading: Reading) -> bool:
    """True if no cited passage has a figure or date of the claim, or the sentence has another name in the place of its
    own: what a citation is to show, word by word."""
    return not reading.is_copy and (bool({*reading.missing} & EXACT_KINDS) or _names_another(reading))


def _names_another(reading: Reading) -> bool:
    """True if the sentence that decides has another name where the claim has its own."""
    if reading.nearest is None:
        return False
    told = words_of(clean(reading.nearest.sentence(reading.words).text))
    begins_with_name = _FULL_NAME.match(reading.hypothesis) is not None
    return shows_swap(words_of(reading.hypothesis, starts_sentence=not begins_with_name), told)


def _may_be_unnamed(reading: Reading) -> bool:
    return reading.features["missing_names"] > 0 and reading.entailment >= MIN_ENTAILMENT_UNNAMED


async def _with_singles(
    question: Question, together: Verification, sources: Sources, context: CheckContext, user_input: str
) -> Verification:
    if not question.wants_singles or not together.is_supported or not 1 < len(question.places) <= MAX_SINGLES:
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
        sentence = support.quote(verified[number].reading.words, 1.0).span.text
        pairs.append((questions[number].statement.text, sentence))
    scores = await context.nli.scores(pairs)
    changed = list(verified)
    for number, row in zip(places, scores, strict=True):
        changed[number] = changed[number]._replace(restated=float(row[ENTAILMENT]))
    return changed


def claims_of(questions: Sequence[Question], verified: Sequence[Verification], version: str) -> list[Claim]:
    """The statements as claims of a report, each with the words of its cited sources that decide."""
    return [
        claim_of(question.statement.span, one.reading, one.judged, version)
        for question, one in zip(questions, verified, strict=True)
    ]
