"""Numbers as texts write them, as exact fractions with the value of their last digit: a rounded result is not wrong."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Literal, NamedTuple

Convention = Literal["point", "comma"]
"""Which sign begins the decimals: 1,234.5 or 1.234,5."""
MAX_DIGITS = 400
APPROXIMATE_SHARE = Fraction(1, 20)
"""How far "about 85" may be off: a twentieth, or half a unit of its last digit that is no zero."""


class Number(NamedTuple):
    """A number as it stands in a text."""

    value: Fraction
    step: Fraction = Fraction(1)
    """Value of a one in its last digit."""
    has_decimals: bool = False
    unit: str = ""
    """Its unit by the names of `text.values`, or the sign of a currency."""
    scale: int = 1
    """What a word such as "million" behind its digits multiplied it by."""

    def times(self, factor: Fraction | int) -> Number:
        """The number with value and precision multiplied."""
        return self._replace(value=self.value * factor, step=self.step * factor)

    @property
    def rounding(self) -> Fraction:
        """Share by which it may be off where it is rounded; only of the usual ends of thirds: 33.33, 0.67."""
        is_rounded = self.has_decimals and str(int(abs(self.value / self.step))).endswith(("33", "66", "67"))
        return abs(self.step / 2 / self.value) if is_rounded else Fraction(0)


def fits(computed: Fraction, shown: Number, *, is_approximate: bool = False) -> bool:
    """Whether a number in a text can stand for what was computed.

    A result that ends is rounded by at most half of the last digit; one that does not (1/3) may also be cut off there.
    A whole number stands for a whole result exactly.
    """
    off = abs(computed - shown.value)
    if off == 0:
        return True
    if is_approximate:
        digits = str(abs(shown.value / shown.step))
        significant = shown.step * 10 ** (len(digits) - len(digits.rstrip("0"))) if digits.isdigit() else shown.step
        return off <= max(abs(computed) * APPROXIMATE_SHARE, significant / 2)
    if computed.denominator == 1 and not shown.has_decimals:
        return shown.step > 1 and off <= shown.step / 2
    is_below = abs(shown.value) < abs(computed)
    if off == shown.step / 2 and not shown.has_decimals and is_below:
        return False  # 12.5 is not 12, though it may be 13
    ends = not 10 ** computed.denominator.bit_length() % computed.denominator
    return off <= shown.step / 2 or (shown.has_decimals and is_below and off < shown.step and not ends)


def formatted(number: Fraction) -> str:
    """The number for a reason: exact if it is short, else rounded to six digits."""
    if number.denominator == 1:
        text = str(number.numerator)
        return text if len(text) <= 30 else f"a number of {len(text.lstrip('-'))} digits"
    try:
        return f"{float(number):.6g}"
    except OverflowError:
        return "a number too large to show"


DIGITS = r"(?:\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?![\d])|\d+)(?:[.,'’]\d+)*|\.\d+"
_BY_CONVENTION = {
    "point": re.compile(r"(?:\d{1,3}(?:,\d{3})+|\d{1,2}(?:,\d{2})+,\d{3}|\d+)?(?:\.(\d+))?"),
    "comma": re.compile(r"(?:\d{1,3}(?:\.\d{3})+|\d+)(?:,(\d+))?"),
}
SCALES = {"dozen": 12, "hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
SCALE_SIGNS = {"k": 10**3, "K": 10**3, "M": 10**6, "mn": 10**6, "bn": 10**9, "B": 10**9}


def read_digits(raw: str, convention: Convention) -> Number | None:
    """The number that digits with separators mean in a convention; None if they mean none in it."""
    plain = re.sub(r"[ \u00a0\u202f'’]", "", raw)
    found = _BY_CONVENTION[convention].fullmatch(plain)
    if found is None or not 0 < len(plain) <= MAX_DIGITS:
        return None
    decimals = len(found[1] or "")
    thousands, decimal = (",", ".") if convention == "point" else (".", ",")
    value = Fraction(plain.replace(thousands, "").replace(decimal, "."))
    return Number(value, Fraction(1, 10**decimals), decimals > 0)
