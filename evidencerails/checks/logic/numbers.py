"""Numbers as texts write them: digits by either convention, words, magnitudes, currencies, units.

In: characters of a text. Out: exact fractions, each with the value of its last digit: a rounded result is not a wrong
one.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Literal, NamedTuple

from evidencerails.text.temporal import NUMBER_WORDS, ONES, TENS

Convention = Literal["point", "comma"]
"""Which sign begins the decimals: 1,234.5 or 1.234,5."""
CONVENTIONS: tuple[Convention, ...] = ("point", "comma")
MAX_DIGITS = 400
APPROXIMATE_SHARE = Fraction(1, 20)
"""How far "about 85" may be off: a twentieth, or half a unit of its last digit that is no zero."""

# ---- numbers with their precision


class Shown(NamedTuple):
    """A number as it stands in a text."""

    value: Fraction
    unit: Fraction = Fraction(1)
    """Value of a one in its last digit."""
    has_decimals: bool = False

    @property
    def is_rounded(self) -> bool:
        """True for the usual ends of thirds: 33.33, 0.67."""
        return self.has_decimals and str(int(abs(self.value / self.unit))).endswith(("33", "66", "67"))


def fits(computed: Fraction, shown: Shown, *, is_approximate: bool = False) -> bool:
    """Whether a number in a text can stand for what was computed.

    A result that ends is rounded by at most half of the last digit; one that does not (1/3) may also be cut off there.
    A whole number stands for a whole result exactly.
    """
    off = abs(computed - shown.value)
    if off == 0:
        return True
    if is_approximate:
        return off <= max(abs(computed) * APPROXIMATE_SHARE, _significant_unit(shown) / 2)
    if computed.denominator == 1 and not shown.has_decimals:
        return shown.unit > 1 and off <= shown.unit / 2
    is_below = abs(shown.value) < abs(computed)
    if off == shown.unit / 2 and not shown.has_decimals and is_below:
        return False  # 12.5 is not 12, though it may be 13
    is_cut_off = shown.has_decimals and is_below and off < shown.unit and not _ends(computed)
    return off <= shown.unit / 2 or is_cut_off


def _significant_unit(shown: Shown) -> Fraction:
    """Value of a one in the last digit that is no zero: 100 for 300."""
    digits = shown.value / shown.unit
    if not digits or digits.denominator != 1:
        return shown.unit
    text = str(digits.numerator)
    return shown.unit * int("1".ljust(1 + len(text) - len(text.rstrip("0")), "0"))


def _ends(number: Fraction) -> bool:
    """True if the decimal expansion ends."""
    rest = number.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1


def formatted(number: Fraction) -> str:
    """The number for a reason: exact if it is short, else rounded to six digits."""
    if number.denominator == 1:
        text = str(number.numerator)
        return text if len(text) <= 30 else f"a number of {len(text.lstrip('-'))} digits"
    try:
        return f"{float(number):.6g}"
    except OverflowError:
        return "a number too large to show"


# ---- digits and words

DIGITS = r"(?:\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?![\d])|\d+)(?:[.,'’]\d+)*|\.\d+"
_POINT = re.compile(r"(?:\d{1,3}(?:,\d{3})+|\d{1,2}(?:,\d{2})+,\d{3}|\d+)?(?:\.(\d+))?")
_COMMA = re.compile(r"(?:\d{1,3}(?:\.\d{3})+|\d+)(?:,(\d+))?")
SCALES = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
SCALE_SIGNS = {"k": 10**3, "K": 10**3, "M": 10**6, "mn": 10**6, "bn": 10**9, "B": 10**9}
CURRENCIES = "$€£¥₹"
_ONE = "|".join(sorted(NUMBER_WORDS, key=len, reverse=True))
_UNDER_100 = rf"(?:(?:{'|'.join(TENS)})(?:[\s-](?:{'|'.join(ONES)})\b)?|{_ONE})"
_UNDER_1000 = rf"(?:(?:{_UNDER_100}\s)?hundred(?:\s(?:and\s)?{_UNDER_100})?|{_UNDER_100})"
_BIG = "thousand|million|billion|trillion"
IN_WORDS = rf"(?:{_UNDER_1000}(?:\s(?:{_BIG})(?:\s(?:and\s)?{_UNDER_1000})?)*)"
"""One number in words: "seventy-two", "one hundred and five", "two million"."""


def read_digits(raw: str, convention: Convention) -> Shown | None:
    """The number that digits with separators mean in a convention; None if they mean none in it."""
    plain = re.sub(r"[ \u00a0\u202f'’]", "", raw)
    found = (_POINT if convention == "point" else _COMMA).fullmatch(plain)
    if found is None or not 0 < len(plain) <= MAX_DIGITS:
        return None
    decimals = len(found[1] or "")
    thousands, decimal = (",", ".") if convention == "point" else (".", ",")
    value = Fraction(plain.replace(thousands, "").replace(decimal, "."))
    return Shown(value, Fraction(1, 10**decimals), decimals > 0)


def read_words(words: str) -> Shown | None:
    """The number that words mean, as "one hundred and twenty-five"; None if they do not make one."""
    total = part = 0
    for word in re.split(r"[\s-]+", words.lower()):
        if word in NUMBER_WORDS:
            part += NUMBER_WORDS[word]
        elif word == "hundred":
            part = max(part, 1) * 100
        elif word in SCALES:
            total, part = total + max(part, 1) * SCALES[word], 0
        elif word != "and":
            return None
    return Shown(Fraction(total + part))


def read_count(raw: str) -> int | None:
    """A count in digits or words."""
    if raw.isdigit():
        return int(raw)
    shown = read_words(raw)
    return int(shown.value) if shown is not None else None


# ---- units


class Unit(NamedTuple):
    """A unit of measurement: its dimension, and how many base units it is."""

    dimension: str
    factor: Fraction


_UNIT_TABLE = {
    "length": (
        "1/1000 mm millimetre millimeter millimetres millimeters; 1/100 cm centimetre centimeter centimetres "
        "centimeters; 1 m metre meter metres meters; 1000 km kilometre kilometer kilometres kilometers; "
        "0.0254 inch inches; 0.3048 ft foot feet; 0.9144 yd yard yards; 1609.344 mi mile miles"
    ),
    "mass": (
        "1/1000000 mg milligram milligrams; 1/1000 g gram grams; 1 kg kilogram kilograms kilo kilos; "
        "1000 t tonne tonnes; 0.028349523125 oz ounce ounces; 0.45359237 lb lbs pound pounds"
    ),
    "time": (
        "1/1000 ms millisecond milliseconds; 1 s sec second seconds secs; 60 min mins minute minutes; "
        "3600 h hr hrs hour hours; 86400 day days; 604800 week weeks"
    ),
    "months": "1 month months; 12 year years yr yrs; 120 decade decades; 1200 century centuries",
    "volume": "1/1000 ml mL millilitre milliliter millilitres milliliters; 1/100 cl; 1 l L litre liter litres liters",
    "count": "1 item items; 12 dozen dozens",
    "money": "1/100 cent cents; 1 dollar dollars",
}
UNITS = {
    name: Unit(dimension, Fraction(factor))
    for dimension, rows in _UNIT_TABLE.items()
    for factor, *names in (row.split() for row in rows.split(";"))
    for name in names
}
LONG_UNITS = "|".join(
    sorted({name for name in UNITS if len(name) > 2} | {"km", "cm", "mm", "kg", "mg", "ml", "mL", "lb"}, key=len)[::-1]
)
"""Unit names that are no other word, as a pattern: `m` and `s` count only right behind a digit."""

# ---- numbers in sentences, for patterns

_NAMES = "|".join(sorted((name for name in UNITS if len(name) > 1), key=len, reverse=True))
_NOUN = rf"(?:\s?(?:{_NAMES}|euros?|students|people|points|apples|items|units|votes|respondents|participants)\b)?"
_MAGNITUDE = rf"(?:\s?%|\s?per\s?cent\b|\s(?:{_BIG})\b|(?:k|K|M|bn)\b)?"
N = rf"(?<![\w.,])[{CURRENCIES}]?\s?-?(?:(?:{DIGITS})(?![\w]*\d){_MAGNITUDE}|\b{IN_WORDS}\b){_NOUN}"
"""A number as it stands in a sentence, with sign, currency, magnitude and a common noun."""
LIST = rf"{N}(?:\s*,\s*(?:and\s+)?{N}|\s+and\s+{N})+"
_ABOUT = r"(?P<about>about|approximately|roughly|around|nearly|almost|≈|~)"
IS = (
    r"\s*,?\s*(?:=|≈|equals|equal|is equal to|which is|that is|that's|are equal to|is exactly|is|are|was|were|"
    r"comes? (?:out )?(?:to|at|as)|gives?|yields?|makes?|would be|will be|totals?|amounts? to|works out (?:to|at)|"
    rf"leaves)(?:\s*(?:{_ABOUT}|exactly|only|just|therefore|then))*\s*"
)
"""Words that lead from numbers to their result."""
_NUMBER = re.compile(N)
_READ = re.compile(
    rf"(?P<sign>-?)\s?(?:(?P<digits>{DIGITS})|(?P<words>{IN_WORDS}))(?P<rest>.*)", re.IGNORECASE | re.DOTALL
)


def numbers_in(text: str, convention: Convention) -> list[Shown] | None:
    """The numbers of a list; None if one of them cannot be read in the convention."""
    found = [number_of(match[0], convention) for match in _NUMBER.finditer(text)]
    return None if None in found else [shown for shown in found if shown is not None]


def number_of(raw: str, convention: Convention) -> Shown | None:
    """The number that a match of `N` means; percent stays a plain number."""
    match = _READ.match(raw.strip().lstrip(f"{CURRENCIES} "))
    if match is None:
        return None
    digits = (match["digits"] or "").rstrip(".,")
    shown = read_digits(digits, convention) if digits else read_words(match["words"])
    if shown is None:
        return None
    rest = match["rest"].strip()
    scale = SCALES.get(rest.lower().split(" ")[0], SCALE_SIGNS.get(rest, 1)) if rest else 1
    return Shown(shown.value * (-scale if match["sign"] else scale), shown.unit * scale, shown.has_decimals)
