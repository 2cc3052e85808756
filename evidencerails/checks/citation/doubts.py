"""Is there a word in a claim that makes the NLI model doubt it, or is it only how the claim is put?

A small model calls some true rewordings a contradiction. The answer's own citation says what to hold them against, so
it can be tried out: if one word is what is wrong, the claim with the sentence's own words in its place, or with two
words changed round, is entailed far more. If no such change helps, no word is what the model minds.

A word that is merely put in has no counterpart in the sentence. It makes a claim unsupported, not contradicted; so for
a claim that the model holds for open it is also tried what is left without each word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from evidencerails.checks.evidence_nli import Reading
from evidencerails.checks.near_copies import has_other_condition, shows_swap
from evidencerails.nli.base import ENTAILMENT
from evidencerails.nli.exchange_nli import ExchangeNli
from evidencerails.scoring.verdict import MAX_LOGIT, logit
from evidencerails.scoring.words import Words, stem_of, words_of
from evidencerails.text.claimable import clean

MIN_SHARED = 0.7
"""Share of the claim's content words that the sentence has: below, it may be about something else altogether."""
MIN_ENTAILMENT = 0.05
"""P(entailment) from which wording may be all that stands between the two; two wrong words at once leave less."""
MIN_LIFT = 2.0
"""Log-odds of entailment that a change must add to show a cause: the odds seven times as high. Each wrong claim of
our development cases that is about the same thing has a change that adds more."""
MAX_CHANGES = 60
"""Changes that are tried for one claim; one that leaves room for more is too long to be cleared like this."""
_TOKEN = re.compile(r"\w+(?:['’]\w+)?")


class _Token(NamedTuple):
    text: str
    start: int
    end: int

    @property
    def stem(self) -> str:
        """What two forms of a word have in common; empty for a word that tells nothing."""
        low = self.text.lower()
        return low if low.isdigit() else stem_of(low)


async def minded_for_wording(readings: Sequence[Reading], nli: ExchangeNli) -> list[bool]:
    """For each doubted claim: True if it says what a sentence of its source says, and no word of it is minded.

    Raises:
        NliError: the NLI backend failed.
    """
    tried = [(_sentence(reading), _changes(reading)) for reading in readings]
    pairs = [(sentence, changed) for sentence, changes in tried for changed in changes or ()]
    rows = iter(await nli.scores(pairs))
    lifted = [[float(next(rows)[ENTAILMENT]) for _ in changes or ()] for _, changes in tried]
    return [
        changes is not None and max(map(logit, scores), default=-MAX_LOGIT) - logit(reading.entailment) < MIN_LIFT
        for reading, (_, changes), scores in zip(readings, tried, lifted, strict=True)
    ]


def _sentence(reading: Reading) -> str:
    return clean(reading.nearest.sentence(reading.words).text) if reading.nearest else ""


def _changes(reading: Reading) -> list[str] | None:
    """The claim with one change each; None if it cannot be cleared by trying."""
    sentence = _sentence(reading)
    told = words_of(sentence)
    if not sentence or not _says_alike(reading, told):
        return None
    claim, own = _tokens(reading.hypothesis), _tokens(sentence)
    changes = [*_replaced(reading.hypothesis, claim, own, sentence), *_changed_round(reading.hypothesis, claim, own)]
    if not _is_contradicted(reading):
        changes += [clean(reading.hypothesis[: t.start] + reading.hypothesis[t.end :]) for t in claim if t.stem]
    changes = list(dict.fromkeys(changes))
    return changes if len(changes) <= MAX_CHANGES else None


def _is_contradicted(reading: Reading) -> bool:
    """True if the model doubts the claim as contradicted rather than as open."""
    nli = reading.nearest.nli if reading.nearest else None
    return nli is not None and nli.contradiction > nli.neutral


def _says_alike(reading: Reading, told: Words) -> bool:
    """True if the sentence has all values and names of the claim, its conditions and most of its words."""
    own = reading.words
    content = {*own.content}
    known = {number.value for number in told.numbers}
    return (
        reading.entailment >= MIN_ENTAILMENT
        and not reading.missing
        and all(number.value in known for number in own.numbers)
        and all(any(date.agrees(other) for other in told.dates) for date in own.dates)
        and bool(content)
        and len(content & {*told.content}) / len(content) >= MIN_SHARED
        and not has_other_condition(own, told)
        and not shows_swap(own, told)
    )


def _replaced(text: str, claim: Sequence[_Token], own: Sequence[_Token], sentence: str) -> Iterable[str]:
    """In the place of each telling word each word and run of words that only the sentence has."""
    spare = _spare(claim, own, sentence)
    return (text[: token.start] + other + text[token.end :] for token in claim if token.stem for other in spare)


def _spare(claim: Sequence[_Token], own: Sequence[_Token], sentence: str) -> list[str]:
    """Telling words of the sentence that the claim lacks, and the runs of words around them that it lacks."""
    said = {token.stem or token.text.lower() for token in claim}
    runs: list[list[_Token]] = [[]]
    for token in own:
        if (token.stem or token.text.lower()) in said:
            runs.append([])
        else:
            runs[-1].append(token)
    telling = [run for run in runs if any(token.stem for token in run)]
    words = [token.text for run in telling for token in run if token.stem]
    return list(dict.fromkeys([*words, *(sentence[run[0].start : run[-1].end] for run in telling)]))


def _changed_round(text: str, claim: Sequence[_Token], own: Sequence[_Token]) -> list[str]:
    """The claim with two words changed round that stand the other way round in the sentence."""
    place = {token.stem: n for n, token in reversed([*enumerate(own)])}
    shared = [token for token in claim if token.stem and token.stem in place]
    return [
        text[: a.start] + b.text + text[a.end : b.start] + a.text + text[b.end :]
        for n, a in enumerate(shared)
        for b in shared[n + 1 :]
        if place[a.stem] > place[b.stem]
    ]


def _tokens(text: str) -> list[_Token]:
    return [_Token(match[0], match.start(), match.end()) for match in _TOKEN.finditer(text)]
