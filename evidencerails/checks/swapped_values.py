"""Does a claim tie a number to what the evidence ties to another one? Decided by words, inside one sentence.

"55 minutes in eco mode and 12 minutes in turbo mode" holds every word of "12 minutes in eco mode", and a small model
that reads words more than their order calls that entailed.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from evidencerails.scoring.words import stem_of, words_of
from evidencerails.text.values import Quantity, quantities_of

_BORDER = re.compile(r"[,;:]\s|\s(?:and|but|or|while|whereas|though|against|compared)\s", re.IGNORECASE)
_KINDS = ("count", "money", "measure", "percent")


class _Part(NamedTuple):
    """A number in its part of a sentence."""

    quantity: Quantity
    stems: frozenset[str]
    """Words of the part."""
    own_stems: frozenset[str]
    """Those that can belong to no other number: what precedes the first number of a sentence may belong to all."""


def swaps_values(claim: str, sentence: str) -> bool:
    """True if a number of the claim stands with words that the sentence has beside another number of its kind alone.

    Nothing is said of numbers that share a part of the sentence, and of claims that have a word of the number's own
    part: only a clean exchange counts.
    """
    told = _parts(sentence)
    if len(told) < 2:
        return False
    return any(_is_swapped(own, told) for own in _parts(claim))


def _is_swapped(own: _Part, told: tuple[_Part, ...]) -> bool:
    alike = [part for part in told if (part.quantity.kind, part.quantity.unit) == own.quantity[0:3:2]]
    same = [part for part in alike if part.quantity.value == own.quantity.value]
    others = [part for part in alike if part.quantity.value != own.quantity.value]
    if len(same) != 1 or not others:
        return False
    beside_others = frozenset().union(*(part.own_stems for part in others)) - same[0].stems
    beside_same = same[0].stems - frozenset().union(*(part.stems for part in others))
    return bool(own.stems & beside_others) and not own.stems & beside_same


@lru_cache(maxsize=1_000)
def _parts(text: str) -> tuple[_Part, ...]:
    """The numbers that stand alone in their part of the text."""
    quantities = [quantity for quantity in quantities_of(text) if quantity.kind in _KINDS]
    if not quantities:
        return ()
    taken = [(quantity.start, quantity.end) for quantity in quantities]
    borders = [m.start() for m in _BORDER.finditer(text) if not any(a <= m.start() < b for a, b in taken)]
    found = []
    for start, end in zip([0, *borders], [*borders, len(text)], strict=True):
        inside = [quantity for quantity in quantities if start <= quantity.start < end]
        if len(inside) == 1:
            number = inside[0]
            after = _stems(text[number.end : end])
            whole = _stems(text[start : number.start]) | after
            found.append(_Part(number, whole, after if number is quantities[0] else whole))
    return tuple(found)


def _stems(text: str) -> frozenset[str]:
    told = words_of(text)
    return frozenset({*told.content, *(stem_of(name) or name for name in told.names)})
