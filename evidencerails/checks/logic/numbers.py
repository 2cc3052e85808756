"""Numbers as they are written: digits of several conventions, words, magnitudes, currencies, units."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Literal, NamedTuple

from evidencerails.checks.logic.statements import Shown

Convention = Literal["point", "comma"]
"""Which sign begins the decimals: 1,234.5 or 1.234,5."""
CONVENTIONS: tuple[Convention, ...] = ("point", "comma")
MAX_DIGITS = 400

DIGITS = r"(?:\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?![\d])|\d+)(?:[.,'’]\d+)*|\.\d+"
_POINT = re.compile(r"(?:\d{1,3}(?:,\d{3})+|\d{1,2}(?:,\d{2})+,\d{3}|\d+)?(?:\.(\d+))?")
_COMMA = re.compile(r"(?:\d{1,3}(?:\.\d{3})+|\d+)(?:,(\d+))?")

_ONES = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen""".split()  # noqa: SIM905
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()  # noqa: SIM905
SMALL_WORDS = {**{w: n for n, w in enumerate(_ONES)}, **{w: 10 * n for n, w in enumerate(_TENS, 2)}}
SCALES = {
    "hundred": 100,
    "thousand": 1_000,
    "million": 1_000_000,
    "billion": 1_000_000_000,
    "trillion": 1_000_000_000_000,
}
SCALE_SIGNS = {"k": 1_000, "K": 1_000, "M": 1_000_000, "mn": 1_000_000, "bn": 1_000_000_000, "B": 1_000_000_000}
_ONE = "|".join(sorted(_ONES, key=len, reverse=True))
_UNDER_100 = rf"(?:(?:{'|'.join(_TENS)})(?:[\s-](?:{'|'.join(_ONES[1:10])})\b)?|{_ONE})"
_UNDER_1000 = rf"(?:(?:{_UNDER_100}\s)?hundred(?:\s(?:and\s)?{_UNDER_100})?|{_UNDER_100})"
_BIG = "thousand|million|billion|trillion"
NUMBER_WORDS = rf"(?:{_UNDER_1000}(?:\s(?:{_BIG})(?:\s(?:and\s)?{_UNDER_1000})?)*)"
"""One number in words: "seventy-two", "one hundred and five", "two million"."""
CURRENCIES = "$€£¥₹"


class Unit(NamedTuple):
    """A unit of measurement: its dimension, and how many base units it is."""

    dimension: str
    factor: Fraction


def _units() -> dict[str, Unit]:
    table: dict[str, list[tuple[str, str]]] = {
        "length": [
            ("1/1000", "mm millimetre millimeter millimetres millimeters"),
            ("1/100", "cm centimetre centimeter centimetres centimeters"),
            ("1", "m metre meter metres meters"),
            ("1000", "km kilometre kilometer kilometres kilometers"),
            ("254/10000", "inch inches"),
            ("3048/10000", "ft foot feet"),
            ("9144/10000", "yd yard yards"),
            ("1609344/1000", "mi mile miles"),
        ],
        "mass": [
            ("1/1000000", "mg milligram milligrams"),
            ("1/1000", "g gram grams"),
            ("1", "kg kilogram kilograms kilo kilos"),
            ("1000", "t tonne tonnes"),
            ("28349523125/1000000000000", "oz ounce ounces"),
            ("45359237/100000000", "lb lbs pound pounds"),
        ],
        "time": [
            ("1/1000", "ms millisecond milliseconds"),
            ("1", "s sec second seconds secs"),
            ("60", "min mins minute minutes"),
            ("3600", "h hr hrs hour hours"),
            ("86400", "day days"),
            ("604800", "week weeks"),
        ],
        "months": [
            ("1", "month months"),
            ("12", "year years yr yrs"),
            ("120", "decade decades"),
            ("1200", "century centuries"),
        ],
        "volume": [
            ("1/1000", "ml mL millilitre milliliter millilitres milliliters"),
            ("1/100", "cl centilitre centilitres"),
            ("1", "l L litre liter litres liters"),
        ],
        "count": [("1", "item items"), ("12", "dozen dozens")],
        "money": [("1/100", "cent cents"), ("1", "dollar dollars")],
        "data": [("1", "byte bytes")],
    }
    return {
        name: Unit(dimension, Fraction(factor))
        for dimension, rows in table.items()
        for factor, names in rows
        for name in names.split()
    }


UNITS = _units()
LONG_UNITS = frozenset(name for name in UNITS if len(name) > 2) | {"km", "cm", "mm", "kg", "mg", "ml", "mL", "lb"}
"""Unit names that are no other word: `m` and `s` count only behind a digit."""


def read_digits(raw: str, convention: Convention) -> Shown | None:
    """The number that digits with separators mean in a convention; None if they mean none in it."""
    plain = re.sub(r"[ \u00a0\u202f'’]", "", raw)
    if len(plain) > MAX_DIGITS:
        return None
    found = (_POINT if convention == "point" else _COMMA).fullmatch(plain)
    if found is None or not plain:
        return None
    decimals = len(found[1] or "")
    thousands, decimal = (",", ".") if convention == "point" else (".", ",")
    value = Fraction(plain.replace(thousands, "").replace(decimal, "."))
    return Shown(value, Fraction(1, 10**decimals), decimals > 0)


def read_words(words: str) -> Shown | None:
    """The number that words mean, as "one hundred and twenty-five"; None if they do not make one."""
    total = part = 0
    last = 10**18
    for word in re.split(r"[\s-]+", words.lower()):
        if word == "and":
            continue
        if word in SMALL_WORDS:
            value = SMALL_WORDS[word]
            if value >= last and not (part % 100 == 0 and part):
                return None  # "two three" are two numbers
            part, last = part + value, 10 if value >= 20 else 1
        elif word == "hundred":
            part, last = max(part, 1) * 100, 100
        elif word in SCALES:
            total, part, last = total + max(part, 1) * SCALES[word], 0, 10**18
        else:
            return None
    return Shown(Fraction(total + part))
