# ruff: noqa: E501 - a pattern reads best in one line
"""Numbers as they stand in a sentence, and lists of them."""

from __future__ import annotations

import re

from evidencerails.checks.logic.numbers import (
    DIGITS,
    NUMBER_WORDS,
    SCALE_SIGNS,
    SCALES,
    UNITS,
    Convention,
    read_digits,
    read_words,
)
from evidencerails.checks.logic.statements import Shown

_UNIT = r"(?:\s?%|\s?per\s?cent\b|\s(?:thousand|million|billion|trillion)\b|(?:k|K|M|bn)\b)?"

_NAMES = "|".join(sorted((name for name in UNITS if len(name) > 1), key=len, reverse=True))

_NOUN = rf"(?:\s?(?:{_NAMES}|euros?|students|people|points|apples|items|units|votes|respondents|participants)\b)?"

N = rf"(?<![\w.,])[$€£¥₹]?\s?-?(?:(?:{DIGITS})(?![\w]*\d){_UNIT}|\b{NUMBER_WORDS}\b){_NOUN}"
"""A number as it stands in a sentence, with sign, currency, magnitude and a common noun."""

LIST = rf"{N}(?:\s*,\s*(?:and\s+)?{N}|\s+and\s+{N})+"

_ABOUT = r"(?P<about>about|approximately|roughly|around|nearly|almost|≈|~)"

IS = (
    r"\s*,?\s*(?:=|≈|equals|equal|is equal to|which is|that is|that's|are equal to|is exactly|is|are|was|were|comes? (?:out )?(?:to|at|as)|gives?|yields?|makes?|"
    rf"would be|will be|totals?|amounts? to|works out (?:to|at)|leaves)(?:\s*(?:{_ABOUT}|exactly|only|just|therefore|then))*\s*"
)

END = r"(?!\s?(?:%|per\s?cent|times|more|less|fewer|remainder|points?\b|out of|of\b|[+*/×÷-]\s?\d|\d))(?![\w]*\d)"

_NUMBER = re.compile(N)


def numbers_in(text: str, convention: Convention) -> list[Shown] | None:
    """The numbers of a list; None if one of them cannot be read in the convention."""
    found = []
    for match in _NUMBER.finditer(text):
        shown = number_of(match[0], convention)
        if shown is None:
            return None
        found.append(shown)
    return found


_READ = re.compile(
    rf"(?P<sign>-?)\s?(?:(?P<digits>{DIGITS})|(?P<words>{NUMBER_WORDS}))(?P<rest>.*)", re.IGNORECASE | re.DOTALL
)


def number_of(raw: str, convention: Convention) -> Shown | None:
    """The number that a match of `N` means; percent stays a plain number."""
    match = _READ.match(raw.strip().lstrip("$€£¥₹ "))
    if match is None:
        return None
    digits = (match["digits"] or "").rstrip(".,")
    shown = read_digits(digits, convention) if digits else read_words(match["words"])
    if shown is None:
        return None
    rest = match["rest"].strip()
    scale = SCALES.get(rest.lower().split(" ")[0], SCALE_SIGNS.get(rest, 1)) if rest else 1
    factor = -scale if match["sign"] else scale
    return Shown(shown.value * factor, shown.unit * scale, shown.has_decimals)
