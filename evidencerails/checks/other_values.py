"""Does a text give another value than a claim for the same thing? Decided by words alone."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from evidencerails.checks.swapped_values import swaps_values
from evidencerails.scoring.words import Number, Words, stem_of, words_of
from evidencerails.text.claimable import clean
from evidencerails.text.same_values import tells_other
from evidencerails.text.sentences import split_sentences

if TYPE_CHECKING:
    from evidencerails.checks.evidence_nli import Reading, Seen

SAME_FRAME_SHARE = 0.5
"""More than this share of a claim's words beside names must stand in a sentence about the same thing."""
MOVED_VALUE_SHARE = 0.7
"""The same, for a number that the evidence does have, but in a sentence about something else: "refunds take 30 days"
beside "items can be returned within 30 days" and "refunds take 5 days"."""

EXACT_KINDS = frozenset({"number", "temporal"})
"""Kinds whose values are either the same or not; names have other spellings, and parts of places are no other ones."""
FIRST_YEAR, LAST_YEAR = 1500, 2100
"""A bare whole number between them is taken for a year; few other bare numbers are in this range."""


def other_values(reading: Reading, seen: Seen) -> frozenset[str]:
    """Kinds of which the nearest sentence of `seen` has another value than the claim: number, temporal, entity.

    A small model calls "in Paris" and "in Lyon" neutral as often as contradicting; the words settle it. A text that
    only leaves the value out tells no other one.
    """
    own = reading.words
    frame = _stems(own) - _name_stems(own)
    sentence = _same_frame(own, frame, seen.window.text)
    told, is_told_otherwise = sentence.words, tells_other(reading.hypothesis, sentence.text)
    if not (reading.missing or own.numbers or is_told_otherwise):
        return frozenset()
    share = len(frame & _stems(told)) / len(frame) if frame else 0.0
    if share <= SAME_FRAME_SHARE:
        return frozenset()
    moved = number_kinds(own, told) & number_kinds(told, own) - {"", "year"}
    is_moved = bool(moved) and share >= MOVED_VALUE_SHARE and "number" not in reading.missing
    if is_told_otherwise or is_moved or swaps_values(reading.hypothesis, sentence.text):
        return frozenset({"number"})
    others = {
        "entity": bool(_name_stems(told) - _stems(own)),
        "number": bool(number_kinds(own, told) & number_kinds(told, own)),
        "temporal": bool({*told.dates} - {*own.dates}),
    }
    return frozenset(kind for kind in reading.missing if others[kind])


def _same_frame(own: Words, frame: set[str], text: str) -> _Sentence:
    """The sentence that shares most with the claim beside names; a name alone is in many sentences."""
    stems = _stems(own)
    return max(_sentences_of(text), key=lambda sentence: (len(frame & sentence.stems), len(stems & sentence.stems)))


class _Sentence(NamedTuple):
    text: str
    words: Words
    stems: frozenset[str]


@lru_cache(maxsize=1_000)
def _sentences_of(text: str) -> tuple[_Sentence, ...]:
    """The sentences of a window, read once for all claims that it is held against."""
    texts = [sentence.text for sentence in split_sentences(text)] or [text]
    read = ((part, words_of(part)) for part in map(clean, texts))
    return tuple(_Sentence(part, words, frozenset(_stems(words))) for part, words in read)


def _name_stems(told: Words) -> set[str]:
    return {stem_of(name) or name for name in told.names}


def _stems(told: Words) -> set[str]:
    return {*told.content} | _name_stems(told)


def number_kinds(told: Words, other: Words) -> set[str]:
    """Kinds of the numbers that the other text has not: its unit, or `year`; only numbers of one kind can clash."""
    return {_kind(number) for number in told.numbers if not any(_may_be(number, known) for known in other.numbers)}


def _may_be(number: Number, other: Number) -> bool:
    """True for equal values, and where either is said to be about right ("over 400 metres" of 412)."""
    return number.value == other.value or number.agrees(other) or other.agrees(number)


def _kind(number: Number) -> str:
    is_bare = not number.unit and not number.is_grouped and number.value.is_integer()
    return "year" if is_bare and FIRST_YEAR <= number.value <= LAST_YEAR else number.unit
