# ruff: noqa: E501 - a pattern reads best in one line
"""What is said of numbers one by one: doubled, prime, divisible, greater than another."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from fractions import Fraction

from evidencerails.checks.logic.numbers import (
    CONVENTIONS,
)
from evidencerails.checks.logic.spoken_numbers import number_of
from evidencerails.checks.logic.statements import Statement, in_words, is_asserted
from evidencerails.checks.logic.sum_forms import A, B

_FACTOR_WORDS = {
    "doubled": Fraction(2),
    "tripled": Fraction(3),
    "trebled": Fraction(3),
    "quadrupled": Fraction(4),
    "halved": Fraction(1, 2),
}

_FACTOR = re.compile(
    rf"(?<!nearly )(?<!almost )(?<!than )\b(?P<word>{'|'.join(_FACTOR_WORDS)})\b,?\s+(?:[a-z]+\s+)?from\s+{A}\s+to\s+{B}",
    re.IGNORECASE,
)

FACTOR_SLACK = Fraction(1, 10)
"""How far "doubled" may be off."""

_PROPERTY = re.compile(
    r"(?<![\w.,])(?P<n>\d[\d,]*)\s+(?:is|isn't|is\s+(?P<adverb>indeed|also|clearly))\s+(?P<neg>not\s+)?(?:an?\s+)?(?:(?P<name>even|odd|prime|composite|perfect square|perfect cube)"
    r"(?:\s+number)?\b(?!\s+(?:more|if|though|when|better|worse|as|than|for|so))|(?:divisible\s+by|(?:exact\s+)?multiple\s+of)\s+(?P<m>\d+)\b)",
    re.IGNORECASE,
)

MAX_PRIME = 10**12

_COMPARED = re.compile(
    r"(?<![\w.,])(?P<a>-?\d[\d.,]*\d|-?\d)\s+is\s+(?:(?:much|slightly|clearly|actually)\s+)?(?P<word>greater|larger|bigger|higher|more|less|smaller|lower)\s+than\s+(?P<b>-?\d[\d.,]*\d|-?\d)(?![\w.,]*\d|\s?[+*/×÷^%-]|\s+(?:times|percent|million|billion|thousand))",
    re.IGNORECASE,
)

_LABEL_BEFORE = re.compile(
    r"(?:version|python|java|release|chapter|section|grade|size|node|php|ios|android|windows|v\.?)\s*$", re.IGNORECASE
)

_PART_OF_SUM = re.compile(r"(?:\b(?:of|by|times|plus|minus|than)|[+*/×÷^–-])\s*$", re.IGNORECASE)


def factors(text: str) -> Iterator[Statement]:
    """Statements like "doubled from 40 to 80"."""
    for match in _FACTOR.finditer(text):
        first, last = number_of(match["a"], "point"), number_of(match["b"], "point")
        if first is None or last is None or not first.value or not is_asserted(text, *match.span()):
            continue
        ratio, stated = last.value / first.value, _FACTOR_WORDS[match["word"].lower()]
        is_right = abs(ratio - stated) <= stated * FACTOR_SLACK
        yield Statement(
            "arithmetic", *match.span(), is_right, f"computed: {in_words(ratio)} times, not {match['word']}"
        )


def properties(text: str) -> Iterator[Statement]:
    """Statements like "91 is prime" and "17 is divisible by 3"."""
    for match in _PROPERTY.finditer(text):
        digits = match["n"].replace(",", "")
        if len(digits) > 30 or not is_asserted(text, *match.span()):
            continue
        number = int(digits)
        holds = number % int(match["m"]) == 0 if match["m"] and int(match["m"]) else _has(number, match["name"])
        if holds is None:
            continue
        stated = not (match["neg"] or "isn't" in match[0].lower())
        name = f"divisible by {match['m']}" if match["m"] else match["name"].lower()
        computed = f"computed: {number} is {'' if holds else 'not '}{name}"
        yield Statement("number_property", *match.span(), holds == stated, computed)


def _has(number: int, name: str | None) -> bool | None:
    if name is None:
        return None
    name = name.lower()
    if name in ("prime", "composite"):
        if number > MAX_PRIME:
            return None
        is_prime = number > 1 and all(number % d for d in range(2, math.isqrt(number) + 1))
        return is_prime if name == "prime" else number > 1 and not is_prime
    if name == "perfect square":
        return math.isqrt(number) ** 2 == number
    if name == "perfect cube":
        return round(number ** (1 / 3)) ** 3 == number if number < 10**15 else None
    return number % 2 == (name == "odd")


def comparisons(text: str) -> Iterator[Statement]:
    """Statements like "9.11 is greater than 9.9"."""
    for match in _COMPARED.finditer(text):
        before = text[max(0, match.start() - 20) : match.start()]
        if _LABEL_BEFORE.search(before) or _PART_OF_SUM.search(before) or not is_asserted(text, *match.span()):
            continue
        results = []
        for convention in CONVENTIONS:
            one, two = number_of(match["a"], convention), number_of(match["b"], convention)
            if one is not None and two is not None:
                is_more = match["word"].lower() in ("greater", "larger", "bigger", "higher", "more")
                results.append(one.value > two.value if is_more else one.value < two.value)
        if results:
            computed = f"computed: {match['a']} is not {match['word'].lower()} than {match['b']}"
            yield Statement("number_property", *match.span(), any(results), computed)
