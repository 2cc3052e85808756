"""Measures made comparable: what of two numbers with units is the same length, time, weight, share.

A small table of exact factors (BIPM, The International System of Units, and NIST SP 811, appendix B) in the place of a
library of units: the texts of answers hold few kinds, and a library reads its own notation, not prose.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from evidencerails.text.values import Quantity

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
