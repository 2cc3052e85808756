"""One value said in two ways: 1.5 km and 1,500 m, a dozen and twelve, half and 50 %.

A small model, and word evidence, compare numbers as they are written. So a claim is read with the words that the
evidence has for the same value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from evidencerails.text.measures import are_equal, measure_of
from evidencerails.text.values import Quantity, values_of

CACHED_TEXTS = 2_000
_PART = re.compile(r"\w[-–]$|\d[.,]\s$")
"""Before a number that is a part of something else: "CoV-3", the "4" of a tokeniser's "2. 4 miles"."""
_FILLING = re.compile(r"[\s,-]+")
_COMPARISON = re.compile(r"(?:\bas|\bas (?:much|many|long|big))$", re.IGNORECASE)
_LINKING = re.compile(r"\s(?:of|the|as)(?:\s\w+)?$", re.IGNORECASE)


class _StatedQuantity(NamedTuple):
    """A quantity with the words that state it."""

    quantity: Quantity
    text: str


@lru_cache(maxsize=CACHED_TEXTS)
def _quantities(text: str) -> tuple[_StatedQuantity, ...]:
    return tuple(
        _StatedQuantity(q, text[q.start : q.end])
        for q in values_of(text).quantities
        if q.kind in ("count", "percent", "money", "measure") and not _PART.search(text[max(0, q.start - 3) : q.start])
    )


def in_units_of(claim: str, texts: Iterable[str]) -> str:
    """The claim with the evidence's words for the values that are the same: "1,500 m long" as "1.5 km long".

    A value that the evidence has in the claim's own words, or has not at all, stays as it is.

    Args:
        texts: parts of the evidence, nearest first.
    """
    ours = [
        stated
        for stated in _quantities(claim)
        if (stated.quantity.value != 1.0 or stated.quantity.kind != "count") and not _COMPARISON.search(stated.text)
    ]
    there = [stated for text in texts for stated in _quantities(text)] if ours else []
    for own in reversed(ours):
        if any(_plain(stated.text) == _plain(own.text) for stated in there):
            continue
        same = next((stated for stated in there if _is_same(own, stated)), None)
        if same is not None:
            # With the "of" or "of the" that belongs to a share: "half the members", "50 % of them".
            linking = _LINKING.search(own.text) if own.quantity.kind == "percent" else None
            words = _LINKING.sub("", same.text) + (" of" + linking[0].removeprefix(" of") if linking else "")
            claim = claim[: own.quantity.start] + words + claim[own.quantity.end :]
    return claim


def _plain(text: str) -> str:
    """Without what makes no other spelling: "4-year" and "4 years", "$1,500" and "$ 1500"."""
    return _FILLING.sub("", _LINKING.sub("", text).lower()).removesuffix("s")


def _is_same(own: _StatedQuantity, stated: _StatedQuantity) -> bool:
    a, b = own.quantity, stated.quantity
    if _COMPARISON.search(stated.text):
        return False
    is_share = a.kind == "percent"  # "a third" and "half" are words that nothing else compares
    has_digits = all(any(c.isdigit() for c in one.text) for one in (own, stated))
    is_spelt_apart = not has_digits if is_share else a.unit != b.unit
    if measure_of(a) is not None and measure_of(b) is not None and is_spelt_apart:
        return are_equal(a, b, own.text, stated.text)
    return a.kind == b.kind and a.unit == b.unit and a.value == b.value
