"""One value said in two ways: 1.5 km and 1,500 m, a dozen and twelve, half and 50 %.

A small model compares numbers as they are written. So a claim is read with the words that the
evidence has for the same value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from evidencerails.text.values import Quantity, values_of

_BASE: dict[str, dict[str, float]] = {
    "length": {
        **{"metre": 1.0, "kilometre": 1e3, "centimetre": 1e-2, "millimetre": 1e-3},
        **{"mile": 1609.344, "yard": 0.9144, "foot": 0.3048, "inch": 0.0254},
    },
    "mass": {
        **{"gram": 1.0, "kilogram": 1e3, "milligram": 1e-3, "microgram": 1e-6, "tonne": 1e6},
        **{"pound_weight": 453.59237, "ounce": 28.349523125},
    },
    "volume": {"litre": 1.0, "millilitre": 1e-3},
    "area": {"hectare": 1.0, "acre": 0.40468564224},
    "time": {"second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86_400.0, "week": 604_800.0},
    "calendar": {"month": 1.0, "year": 12.0, "decade": 120.0},
    "speed": {"kph": 1.0, "mph": 1.609344},
    "power": {"watt": 1.0, "kilowatt": 1e3, "megawatt": 1e6},
    "data": {"byte": 1.0, "megabyte": 1e6, "gigabyte": 1e9, "terabyte": 1e12},
}
"""Exact factors by dimension (BIPM, The International System of Units; NIST SP 811, appendix B). The texts of answers
hold few kinds, and a library of units reads its own notation, not prose."""
FACTORS = {unit: (dimension, factor) for dimension, units in _BASE.items() for unit, factor in units.items()}
"""Dimension of each unit, and how many base units it is."""
_IMPERIAL = frozenset({"mile", "yard", "foot", "inch", "pound_weight", "ounce", "acre", "mph"})
ROUNDED = 0.05
"""Largest share by which a rounded value may miss the exact one: "6 feet" is 1.8 m, but 1 mile is not 2 km."""
DEGREES, DEGREES_SHARE = 0.6, 0.02
"""The same for temperatures, in degrees Celsius: 100 °F is no 37 °C, but an oven at 350 °F is at 180 °C."""
APPROXIMATELY = 0.1
"""The same where a text says itself that it is about right."""


class Measure(NamedTuple):
    """A quantity in the base unit of its dimension."""

    dimension: str
    value: float
    is_imperial: bool


def measure_of(quantity: Quantity) -> Measure | None:
    """The quantity in base units; None for one that has no unit to convert. A share has the dimension `share`."""
    if quantity.kind == "percent":
        return Measure("share", quantity.value, False)
    if quantity.unit in ("celsius", "fahrenheit"):
        is_imperial = quantity.unit == "fahrenheit"
        return Measure("temperature", (quantity.value - 32.0) / 1.8 if is_imperial else quantity.value, is_imperial)
    if quantity.kind != "measure" or quantity.unit not in FACTORS:
        return None
    dimension, factor = FACTORS[quantity.unit]
    return Measure(dimension, quantity.value * factor, quantity.unit in _IMPERIAL)


def are_equal(claim: Quantity, stated: Quantity, claim_text: str, evidence_text: str) -> bool:
    """True if the claim's measure is the stated one, or the stated one rounded to the digits that the claim gives.

    Between metric and imperial units either may be rounded: who writes "8 km" of 5 miles has converted.

    Args:
        claim_text: words of the claim's number, for its digits; `evidence_text` likewise.
    """
    first, second = measure_of(claim), measure_of(stated)
    if first is None or second is None or first.dimension != second.dimension:
        return False
    gap, largest = abs(first.value - second.value), max(abs(first.value), abs(second.value))
    if gap <= 1e-6 * largest:
        return True
    if claim.is_approximate or stated.is_approximate:
        return gap <= APPROXIMATELY * largest
    slack = _half_a_digit(claim, claim_text, first.value)
    if first.is_imperial != second.is_imperial:
        slack = max(slack, _half_a_digit(stated, evidence_text, second.value))
    if first.dimension == "temperature":
        return gap <= min(slack, max(DEGREES, DEGREES_SHARE * largest))
    return gap <= min(slack, ROUNDED * largest)


_DIGITS = re.compile(r"\d[\d,]*(?:\.(\d+))?")


def _half_a_digit(quantity: Quantity, text: str, base_value: float) -> float:
    """Half of the last digit that a number gives, in base units: 0.05 of "1.5 km", 50 of "1,500 m"; 0 for words."""
    match = _DIGITS.search(text)
    if match is None or not quantity.value:
        return 0.0
    digits = match[0].replace(",", "")
    places = len(match[1]) if match[1] is not None else len(digits.rstrip("0")) - len(digits)
    step = 10.0**-places
    number = float(digits)
    share = step / 2 / number if number else 0.0
    if quantity.unit == "fahrenheit":
        return step / 2 / 1.8
    return math.fabs(base_value) * share if quantity.unit != "celsius" else step / 2


# ---- in the words of the evidence


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
