"""A sentence as its skeleton: each number and each sign of arithmetic one character, so that patterns can be short.

In: a sentence of a masked text. Out: a `Skeleton` such as "the sum of #, # and # ∼ #", with its numbers and places.

    #  a number            %  a percentage       Y  a year behind "in", "since" and the like
    = + - * / ^ √ ( )      signs of arithmetic, LaTeX included    ?  a number with unknown letters: 3rd, 2x
    ⊕ ⊖ ⊗ ⊘                plus, minus, times, divided by, in words
    ∼  is, are             ≡  equals, makes      ≈  about, behind one of these or =
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from evidencerails.text.values import IN_WORDS, UNITS, number_in_words

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


# ---- the skeleton


CURRENCIES = "$€£¥₹"
_SIGNS = {"plus": "⊕", "minus": "⊖", "times": "⊗", "multipliedby": "⊗", "dividedby": "⊘", "squared": "²", "cubed": "³"}
_SIGNS |= {"tothepowerof": "^", "raisedtothepowerof": "^", "**": "^", "sqrt": "√", r"\sqrt": "√", "}{": ")/("}
_SIGNS |= {
    r"\times": "*",
    r"\cdot": "*",
    r"\ast": "*",
    r"\div": "/",
    **dict(zip("×⋅·∙÷−–—{}#%∼≡", "****/---()????", strict=True)),
}
_COPULA = r"(?:which|that)\s+(?:is|are)|that's|is\s+(?:exactly|therefore|also)|is|are|was|were|would\s+be|will\s+be"
_EQUALS = (
    r"(?:is|are)\s+equal\s+to|equals?|makes?|gives?|yields?|totals|leaves|adds?\s+up\s+to|amounts?\s+to|results\s+in|"
    r"works\s+out\s+(?:to|at)|comes?\s+(?:out\s+)?(?:to|at)|must\s+be|should\s+be"
)
_ABOUT = r"(?:about|approximately|approx\.?|roughly|around|nearly|almost|close\s+to|some|~|≈|circa)"
_EXACTLY = r"(?:exactly|only|just|simply|precisely|then|thus|therefore)"
_UNIT = "|".join(sorted((re.escape(name) for name in UNITS if len(name) > 1), key=len, reverse=True))
_TOKEN = re.compile(
    rf"""
      (?P<space>[^\S\n]+)
    | (?P<nothing>[{CURRENCIES}&_]|\b(?:USD|EUR|GBP)\b|\\(?:left|right|q?quad|text|math(?:rm|bf)|boxed|displaystyle
        |[dt]?frac)(?![A-Za-z])|\\[,;!()\[\]\ $\n]|(?<![\d)])\*\*|\*\*(?![\d(-])
        |\*(?!\*|\s*[\d(√\\.{CURRENCIES}A-Za-z-])
        |(?<=\S)\*(?=[A-Za-z]))
    | (?P<coded>(?<![\w.])0[xbo][0-9a-f]+\b)
    | (?P<number>(?<![\w.])(?:{DIGITS}))
    | (?P<dozen>\b(?P<half>half\s)?an?\sdozen\b|\bdozen\b)
    | (?P<words>\b{IN_WORDS}\b)
    | (?P<about>(?:(?P<sign>(?<![<>!])==?|\\(?:approx|simeq|sim)\b|[≈≃≅])|\b(?P<equals>{_EQUALS})\b
        |\b(?P<copula>{_COPULA})\b)
        (?:\s*(?:(?P<approximately>{_ABOUT})|{_EXACTLY}))*)
    | (?P<named>\b(?:plus|minus|times|(?:multiplied|divided)\s+by|squared|cubed|sqrt
        |(?:raised\s+)?to\s+the\s+power\s+of)\b
        |\\[a-z]+|\}}\s*\{{|\*\*)
    | (?P<cross>(?<=[\d)\s])[xX](?=\s*[\d(√{CURRENCIES}]))
    | (?P<plain>[^\W\d_][\w'’-]*|(?s:.))
    """,
    re.VERBOSE | re.IGNORECASE,
)
_BEHIND = re.compile(
    rf"(?P<percent>\s?(?:\\?%|per\s?cent\b))|[\s-]?(?P<scale>{'|'.join(SCALES)})\b|(?P<short>(?-i:{'|'.join(SCALE_SIGNS)}))(?!\w)"
    rf"|\s?(?P<unit>degrees\s(?:celsius|fahrenheit)|{_UNIT}|(?-i:[mgls])|°\s?[CF])(?![\w/²³])"
    rf"|(?P<glued>(?!x\s*[\d({CURRENCIES}])(?:[^\W\d²³]|_)+|/(?=[A-Za-z])|\.(?=\d))",
    re.IGNORECASE,
)
"""What belongs to the number before it."""
_YEAR_BEFORE = re.compile(r"\b(?:in|since|until|by|during|before|after|around)\s$", re.IGNORECASE)


class Cell(NamedTuple):
    """One character of a skeleton: what of the text it stands for, and its value if it is a number or a date."""

    char: str
    start: int
    end: int
    value: Any = None


Special = tuple[re.Pattern[str], Callable[[re.Match[str]], Cell | None]]
"""What else than numbers gets a character of its own, and how it is read."""


class Skeleton:
    """A sentence of a text with its numbers read in one convention."""

    def __init__(
        self, text: str, start: int, end: int, convention: Convention = "point", special: Special | None = None
    ) -> None:
        self._cells = list(_cells(text, start, end, convention, special))
        self.text = "".join(cell.char for cell in self._cells)

    def numbers(self, start: int, end: int) -> list[Number]:
        """The numbers between two places of the skeleton."""
        return [cell.value for cell in self._cells[start:end] if isinstance(cell.value, Number)]

    def value(self, place: int) -> Any:
        """The value of one character."""
        return self._cells[place].value

    def span(self, start: int, end: int) -> tuple[int, int]:
        """What of the text stands between two places of the skeleton."""
        return self._cells[start].start, self._cells[end - 1].end


def _cells(text: str, place: int, stop: int, convention: Convention, special: Special | None) -> Iterator[Cell]:
    while place < stop and (match := _TOKEN.match(text, place, stop)):
        if special and (own := special[0].match(text, place, stop)) and (cell := special[1](own)):
            place = cell.end
            yield cell
            continue
        (start, place), kind, lower = match.span(), str(match.lastgroup), " ".join(match[0].lower().split())
        if kind in ("number", "words", "dozen"):
            cell = _number(text, match, kind, convention)
            place = cell.end
            yield cell
        elif kind == "about":
            yield Cell("=" if match["sign"] else "≡" if match["equals"] else "∼", start, place)
            if match["approximately"] or (match["sign"] and match["sign"][0] != "="):
                yield Cell("≈", start, place)
        elif kind != "nothing":
            one = {"space": " ", "coded": "?", "cross": "*"}.get(kind) or _SIGNS.get(lower.replace(" ", "")) or lower
            for char in one:
                power = "²³".find(char)
                yield Cell(char if power < 0 else "^", start, place)
                if power >= 0:
                    yield Cell("#", start, place, Number(Fraction(power + 2)))


def _number(text: str, match: re.Match[str], kind: str, convention: Convention) -> Cell:
    """A number with what belongs to it: a magnitude, a unit, a percent sign."""
    start, end = match.span()
    number: Number | None = Number(Fraction(12))
    if kind == "dozen":
        number = Number(Fraction(6 if match["half"] else 12), unit="dozen")
    else:
        number = read_digits(match[0], convention) if kind == "number" else Number(Fraction(number_in_words(match[0])))
    behind = _BEHIND.match(text, end)
    if number is None or (behind and behind["glued"] and behind["glued"] != "/"):
        return Cell("?", start, behind.end() if behind else end)
    if text[start - 1 : start] and text[start - 1] in CURRENCIES:
        number = number._replace(unit=text[start - 1])
    if behind is None or behind["glued"]:
        is_year = match[0].isdigit() and len(match[0]) == 4 and _YEAR_BEFORE.search(text[max(0, start - 8) : start])
        return Cell("Y" if is_year else "#", start, end, None if is_year else number)
    if behind["percent"]:
        return Cell("%", start, behind.end(), number)
    if name := behind["scale"] or behind["short"]:
        scale = SCALES.get(name.lower()) or SCALE_SIGNS[name]
        number = number.times(scale)._replace(scale=scale, unit="dozen" if scale == 12 else number.unit)
    else:
        name = re.sub(r"^degrees\s|\s", "", behind["unit"].lower())
        number = number._replace(unit=UNITS[name])
    return Cell("#", start, behind.end(), number)
