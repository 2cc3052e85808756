# ruff: noqa: E501 - a pattern reads best in one line
"""What the parts of the check say: a statement that was computed again, and how numbers that are shown may differ."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Literal, NamedTuple

Kind = Literal["arithmetic", "percentage", "unit", "number_property", "date", "weekday", "age", "calendar", "ordering"]

APPROXIMATE_SHARE = Fraction(1, 20)
"""How far "about 85" may be off: a twentieth, or half a unit of its last digit that is no zero."""


class Statement(NamedTuple):
    """A span of the text that states something computable, and whether it is right."""

    kind: Kind
    start: int
    end: int
    is_right: bool | None
    """None: it was understood, but could not be computed."""
    reason: str = ""


class Shown(NamedTuple):
    """A number as it stands in a text."""

    value: Fraction
    unit: Fraction = Fraction(1)
    """Value of a one in its last digit."""
    has_decimals: bool = False

    @property
    def is_rounded(self) -> bool:
        """True for the usual ends of thirds: 33.33, 0.67."""
        digits = str(abs(self.value / self.unit).__floor__())
        return self.has_decimals and digits.endswith(("33", "66", "67"))


def fits(computed: Fraction, shown: Shown, *, is_exact: bool, is_approximate: bool = False) -> bool:
    """Whether a number in a text can stand for what was computed.

    A result that ends is rounded by at most half of the last digit; one that does not (1/3) may also be cut off there.
    A whole number stands for a whole result exactly.
    """
    off = abs(computed - shown.value)
    if off == 0:
        return True
    if is_approximate:
        return off <= max(abs(computed) * APPROXIMATE_SHARE, significant_unit(shown.value, shown.unit) / 2)
    if computed.denominator == 1 and is_exact and not shown.has_decimals:
        return shown.unit > 1 and off <= shown.unit / 2
    ends = is_exact and _ends(computed)
    if off == shown.unit / 2 and not shown.has_decimals and abs(shown.value) < abs(computed):
        return False  # 12.5 is not 12, though it may be 13
    is_cut_off = not ends and shown.has_decimals and abs(shown.value) < abs(computed) and off < shown.unit
    return off <= shown.unit / 2 or is_cut_off


def significant_unit(value: Fraction, unit: Fraction) -> Fraction:
    """Value of a one in the last digit that is no zero: 100 for 300, 0.5's is 0.1."""
    if value == 0:
        return unit
    digits = abs(value / unit)
    if digits.denominator != 1:
        return unit
    whole, scale = digits.numerator, 1
    while whole % 10 == 0:
        whole //= 10
        scale *= 10
    return unit * scale


def _ends(number: Fraction) -> bool:
    """True if the decimal expansion ends."""
    rest = number.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1


def in_words(number: Fraction) -> str:
    """The number for a reason: exact if it is short, else rounded to six digits."""
    if number.denominator == 1:
        text = str(number.numerator)
        return text if len(text) <= 30 else f"a number of {len(text.lstrip('-'))} digits"
    try:
        return f"{float(number):.6g}"
    except OverflowError:
        return "a number too large to show"


_PIECE_END = re.compile(r"[.!?](?=\s(?!=))|\n(?!\s*=)|[;\x1f]")


MAX_PIECE = 1_500
"""A longer text without a sentence end is cut at a blank, as patterns may take quadratic time within it."""


def pieces(text: str) -> list[tuple[int, int]]:
    """Where the sentences of a text that hold a number begin and end; cut carelessly, but in linear time."""
    found, start = [], 0
    for match in _PIECE_END.finditer(text):
        found += _short_pieces(text, start, match.end())
        start = match.end()
    found += _short_pieces(text, start, len(text))
    return [(start, end) for start, end in found if end - start > 3 and _NUMBER_SIGN.search(text, start, end)]


def _short_pieces(text: str, start: int, end: int) -> list[tuple[int, int]]:
    found = []
    while end - start > MAX_PIECE:
        cut = text.rfind(" ", start + 1, start + MAX_PIECE)
        cut = start + MAX_PIECE if cut < 0 else cut
        found.append((start, cut))
        start = cut
    return [*found, (start, end)]


_NUMBER_SIGN = re.compile(
    r"\d|\b(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|"
    r"seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand)\b",
    re.IGNORECASE,
)


# ---- what is said only in passing

_BEFORE = re.compile(
    r"\b(?:suppos\w*|assum\w*|imagin\w*|pretend\w*|hypothetical\w*|whether|wrong\w*|incorrect\w*|false\w*|mistak\w*|"
    r"erroneous\w*|myth|instead of|rather than|misconception|claim(?:s|ed|ing)?|let'?s say|someone says?|never|not true|"
    r"isn't true|it is not|it isn't|(?:does|do|did) not|don't|doesn't|cannot|can't|avoid writing)\b[^.!?\n]{0,60}$",
    re.IGNORECASE,
)
_CONDITION = re.compile(r"\b(?:if|unless|had)\b[^,.;:!?\n]{0,60}$", re.IGNORECASE)
_AFTER = re.compile(
    r"[\s\"'”’,)*_`$]*(?:(?:is|was|are|would be|as|being|which is|which would be)\s+)?(?:clearly |obviously |simply |also )?"
    r"(?:wrong|incorrect|false|not (?:true|correct|right|equal)|a mistake|a common mistake|an error|nonsense|impossible|"
    r"invalid|untrue)\b",
    re.IGNORECASE,
)
_TAKEN_BACK = re.compile(
    r"[\s\"'”’.,;)!*_`$–—-]*(?:wait|no,|no\.|nope|actually|hmm|oops|correction|scratch that|let me (?:redo|recheck)|sorry|"
    r"that(?:'s| is) (?:wrong|not right|incorrect|a mistake))\b",
    re.IGNORECASE,
)
_SPEECH = re.compile(
    r"\b(?:sa(?:y|ys|id)|wr(?:ite|ites|ote)|claim(?:s|ed)?|answered|repl(?:y|ies|ied)|slogan|insist(?:s|ed)?|"
    r"believ(?:e|es|ed)|thought|argued?)\b[^.!?\n]{0,60}$",
    re.IGNORECASE,
)
_OTHER_ARITHMETIC = re.compile(
    r"\b(?:binary|hexadecimal|hex|octal|base[- ](?:\d+|two|eight|sixteen|twelve)|modulo|modular|boolean|bitwise|integer division|floor(?:ed)? division|floating[- ]point|javascript|in (?:C|C\+\+|Java|Python|Go|Rust|Ruby|PHP)\b|xor|clock "
    r"arithmetic|concatenat\w*|strings?)\b|\(mod\b|\bmod \d",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|\n")


def is_asserted(text: str, start: int, end: int) -> bool:
    """False for what the text does not state as true: questions, suppositions, quotes, errors that it names."""
    before = text[max(0, start - 160) : start]
    last_end = max((match.end() for match in _SENTENCE_END.finditer(before)), default=0)
    clause = before[last_end:]
    after = text[end : end + 120]
    next_end = _SENTENCE_END.search(after)
    if next_end is not None and next_end[0] == "?":
        return False
    if _BEFORE.search(clause) or _CONDITION.search(clause) or _AFTER.match(after) or _TAKEN_BACK.match(after):
        return False
    if _SPEECH.search(clause) and re.search(r"[\"“‘']\s*$", clause):
        return False
    around = text[max(0, start - 240) : end + 60]
    return _OTHER_ARITHMETIC.search(around) is None
