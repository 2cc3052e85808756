"""Values in the wrong place: a correction whose number, date or name the evidence has for something else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from evidencerails.exchange import Passage
from evidencerails.measures.lexical import content_of, stem_of
from evidencerails.text.claimable import clean
from evidencerails.text.measures import are_comparable
from evidencerails.text.sentences import split_sentences
from evidencerails.text.values import Name, Quantity, Values, values_of

MAX_LEAD_WORDS = 2
"""Words before a sentence's first name if that is its subject: "The Halden bridge", "In the Halden bridge"."""
MIN_SHARED = 2
"""Words that a sentence with another number of that unit shares with the correction, to be about the same thing."""


BARE = "count"
"""Kind of a number without a unit."""
_LIKE_A_YEAR = re.compile(r"\b(?:in|since|until|by|around|from)\s+(\d{1,4})\b(?!\s+\w)", re.IGNORECASE)


class Value(NamedTuple):
    """A value that can only be replaced by one of its kind."""

    kind: str
    """`name`, a part of a date (`year`), or a kind of number with its unit (`measure metre`)."""
    value: str


class _EvidenceSentence(NamedTuple):
    """One sentence, with the subject that it takes over from the sentence before."""

    stems: frozenset[str]
    values: frozenset[Value]

    def shared(self, frame: frozenset[str]) -> int:
        return len(self.stems & frame)

    def has_another(self, value: Value, besides: frozenset[Value]) -> bool:
        """True if it has not this value, but one of its kind that the correction does not have."""
        own = {one for one in self.values if one.kind == value.kind}
        return value not in own and bool(own - besides)


def misplaced_values(text: str, old: str, passages: Sequence[Passage]) -> list[str]:
    """New values of a corrected sentence that the evidence says of something else.

    A value is bound to what its sentence says. It is misplaced if another sentence of the evidence, with another value
    of that kind, shares more words with the correction than every sentence that has the value: "opened in 1974" beside
    "opened in 1932" and "tolls were abolished in 1974". So is a number that the evidence has in another unit only, "412
    lanes" beside "412 metres" and "4 lanes", or "412 feet" beside "412 metres", and one that has lost its unit, "opened
    in 412".
    """
    found = values_of(text)
    values = frozenset(_values(found))
    new = values - frozenset(_values(values_of(old)))
    if not new:
        return []
    sentences = [one for passage in passages for one in _evidence_sentences(passage.text)]
    named = {name.words[-1].lower(): frozenset(_name_stems(name)) for name in found.names}
    frames = {value: _stems(text) - named.get(value.value, frozenset()) for value in new}
    stated = [quantity for passage in passages for quantity in values_of(passage.text).quantities]
    swapped = {_of_quantity(one) for one in found.quantities if _has_another_unit(one, stated)}
    return sorted(
        value.value
        for value in new
        if _is_misplaced(value, frames[value], values, sentences)
        or _has_lost_its_unit(value, text, sentences)
        or value in swapped
    )


def _has_another_unit(own: Quantity, stated: Sequence[Quantity]) -> bool:
    """True for a measure whose number the evidence has in other units of its dimension, or another currency, only."""
    numbers = [one for one in stated if one.value == own.value]
    alike = [one for one in numbers if are_comparable(one, own) or one.kind == own.kind == "money"]
    return bool(alike) and not any(one.unit == own.unit for one in alike)


def _is_misplaced(
    value: Value, frame: frozenset[str], values: frozenset[Value], sentences: Sequence[_EvidenceSentence]
) -> bool:
    having = [one.shared(frame) for one in sentences if value in one.values]
    others = [one.shared(frame) for one in sentences if one.has_another(value, values)]
    if not having:
        return value.kind != "name" and max(others, default=0) >= MIN_SHARED
    return max(others, default=0) > max(having)


def _has_lost_its_unit(value: Value, text: str, sentences: Sequence[_EvidenceSentence]) -> bool:
    """True for a bare number that the evidence has in a unit only, or that is a year here and counts things there."""
    kinds = {own.kind for one in sentences for own in one.values if own.value == value.value}
    if value.kind != BARE or not kinds or kinds & {BARE, "year"}:
        return False
    is_counted = any(kind.startswith(f"{BARE} ") for kind in kinds)
    return not is_counted or value.value in _LIKE_A_YEAR.findall(text)


def _evidence_sentences(text: str) -> Iterable[_EvidenceSentence]:
    """The sentences of a passage; one that does not begin with a name speaks of what the one before spoke of."""
    subject: frozenset[str] = frozenset()
    subject_name: frozenset[Value] = frozenset()
    for span in split_sentences(text):
        sentence = clean(span.text)
        found, stems = values_of(sentence), _stems(sentence)
        names = [name for name in found.names if _is_name(name)]
        if names and len(sentence[: names[0].start].split()) <= MAX_LEAD_WORDS:
            subject, subject_name = frozenset(_subject(sentence, names[0])), frozenset({_named(names[0])})
        yield _EvidenceSentence(stems | subject, frozenset(_values(found)) | subject_name)


def _is_name(name: Name) -> bool:
    """False for a single word that begins a sentence: its capital says nothing."""
    return not name.is_initial or len(name.words) > 1


def _named(name: Name) -> Value:
    return Value("name", name.words[-1].lower())


def _subject(sentence: str, name: Name) -> Iterable[str]:
    """Stems of the sentence's first name and of the noun behind it: "the Halden bridge"."""
    yield from _name_stems(name)
    behind = sentence[name.end :].split(maxsplit=1)[:1]
    if behind and behind[0].isalpha() and (stem := stem_of(behind[0].lower())):
        yield stem


def _name_stems(name: Name) -> Iterable[str]:
    return (stem_of(word.lower()) or word.lower() for word in name.words)


def _stems(text: str) -> frozenset[str]:
    return frozenset(content_of(clean(text)))


def own_values(text: str) -> frozenset[Value]:
    """The numbers, parts of dates and names of a text."""
    return frozenset(_values(values_of(text)))


def _of_quantity(quantity: Quantity) -> Value:
    return Value(f"{quantity.kind} {quantity.unit}".strip(), f"{quantity.value:g}")


def _values(found: Values) -> Iterable[Value]:
    for quantity in found.quantities:
        yield _of_quantity(quantity)
    for moment in found.temporal:
        if moment.part != "date":  # year, month and day stand beside it; one of them may be left out
            yield Value(moment.part, moment.value)
    yield from (_named(name) for name in found.names if _is_name(name))


_LIMIT = re.compile(
    r"\b(?P<limit>before|after|until|over|under|above|below|(?:more|less|fewer|greater) than)\s+"
    r"(?:the\s+(?:year\s+)?)?[$£€]?(?P<number>\d[\d,]*(?:\.\d+)?)",
    re.IGNORECASE,
)


def made_limits(text: str, passages: Sequence[Passage]) -> list[str]:
    """Values that a corrected sentence makes a limit, where the evidence states them outright: "before 1932" for "in
    1932". The word has to stand in a sentence of the evidence that has the number."""
    found = [(match["limit"].lower(), match["number"], match[0]) for match in _LIMIT.finditer(text)]
    if not found:
        return []
    sentences = [span.text.lower() for passage in passages for span in split_sentences(passage.text)]
    return [
        whole
        for limit, number, whole in found
        if not any(limit in sentence and number in sentence for sentence in sentences)
    ]
