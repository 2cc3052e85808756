# ruff: noqa: E501 - a pattern reads best in one line
"""The ways to state a sum or a percentage in words, and what is right in each."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from statistics import median

from evidencerails.checks.logic.numbers import (
    CONVENTIONS,
    Convention,
)
from evidencerails.checks.logic.spoken_numbers import END, IS, LIST, N, number_of, numbers_in
from evidencerails.checks.logic.statements import Kind, Shown, Statement, fits, in_words, is_asserted

Compute = Callable[[Sequence[Fraction]], "Sequence[Fraction]"]
"""From the numbers of a statement to every result that would be right."""

_TRIGGERS = (
    "remainder", "sum|total|addition", "adding", "added", "difference", "subtract|taking|deduct|taken", "product", "multiplying",
    "quotient", "dividing", "average|mean", "median", "largest|greatest|biggest|highest|max", "smallest|least|lowest|min",
    "twice|double|two times", "triple|thrice|three times", "square", "cube", "factorial", "half", "third",
    "quarter", "fourth", "fifth", "tenth", "2/3", "3/4", "!",
)  # fmt: skip


def _needs(pattern: str, kind: Kind) -> str:
    """A word that a sentence must hold for the pattern to be tried: the patterns begin with a number, which is slow."""
    if kind == "percentage":
        return r"%|per\s?cent"
    bare = pattern.replace(N, "")
    return next((words for words in _TRIGGERS if re.search(words, bare.split(IS)[0])), r"\d")


_AGAIN = re.compile(r"\b(?:another|again|then|further|later|additional|more|before|after)\b", re.IGNORECASE)
"""Words of a second change, whose percent is about something else."""


class Form:
    """One way to state a sum: a pattern with the groups `values` (or `a`, `b`, ...) and `result`, and what is right."""

    def __init__(self, pattern: str, compute: Compute, kind: Kind = "arithmetic", needs: str = "") -> None:
        self.pattern = re.compile(pattern, re.IGNORECASE)
        self.needs = re.compile(needs or _needs(pattern, kind), re.IGNORECASE)
        self.compute = compute
        self.kind: Kind = kind

    def statements(self, text: str, start: int, end: int) -> Iterator[Statement]:
        """What a sentence of the text states in this form."""
        if not self.needs.search(text, start, end):
            return
        for match in self.pattern.finditer(text, start, end):
            if is_asserted(text, *match.span()) and not (self.compute is _change and _AGAIN.search(match[0])):
                found = self._judged(match)
                if found is not None:
                    yield found

    def _judged(self, match: re.Match[str]) -> Statement | None:
        computed = ""
        for convention in CONVENTIONS:
            values, result = _values(match, convention), number_of(match["result"], convention)
            if values is None or result is None:
                continue
            right = list(self.compute([shown.value for shown in values]))
            if self.compute is _change and "%" in match["a"] and "%" in match["b"]:
                right.append(abs(values[1].value - values[0].value))  # "an increase of 5%" may mean points
            if not right:
                continue
            about = "about" in match.re.groupindex and match["about"] is not None
            rounded = sum((v.unit / 2 for v in values if v.is_rounded), Fraction(0))
            if any(
                fits(r, result, is_exact=True, is_approximate=about) or abs(r - result.value) <= rounded for r in right
            ):
                return Statement(self.kind, *match.span(), True)
            computed = (
                computed
                or f"computed: {' or '.join(dict.fromkeys(map(in_words, right)))}, not {in_words(result.value)}"
            )
        return Statement(self.kind, *match.span(), False, computed) if computed else None


def _values(match: re.Match[str], convention: Convention) -> list[Shown] | None:
    names = match.re.groupindex
    if "values" in names:
        return numbers_in(match["values"], convention)
    found = [number_of(match[name], convention) for name in ("a", "b", "c") if name in names and match[name]]
    return None if any(shown is None for shown in found) else [shown for shown in found if shown is not None]


def _product(values: Sequence[Fraction]) -> Fraction:
    result = Fraction(1)
    for value in values:
        result *= value
        if result.numerator.bit_length() > 20_000:
            return Fraction(0)
    return result


def _mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def _share(part: Fraction, whole: Fraction) -> list[Fraction]:
    return [100 * part / whole] if whole else []


def _quotient(a: Fraction, b: Fraction) -> list[Fraction]:
    return [a / b] if b else []


def _change(values: Sequence[Fraction]) -> list[Fraction]:
    """Change in percent of what was before; for shares also their difference in points."""
    first, last = values[0], values[1]
    return [abs(100 * (last - first) / first)] if first else []


R = rf"(?P<result>{N}){END}"

PR = r"(?P<result>[\d.,]*\d)\s?(?:%|per\s?cent\b)(?!\s?points?)"

A, B = rf"(?P<a>{N})", rf"(?P<b>{N})"

_P = r"(?P<a>[\d.,]*\d)\s?(?:%|per\s?cent\b)"

_FRACTIONS = {
    "half": 2,
    "a third": 3,
    "one third": 3,
    "one-third": 3,
    "a quarter": 4,
    "one quarter": 4,
    "one-quarter": 4,
}

_FRACTIONS |= {
    "one fourth": 4,
    "one-fourth": 4,
    "a fifth": 5,
    "one fifth": 5,
    "one-fifth": 5,
    "a tenth": 10,
    "one tenth": 10,
}

_UP = r"(?:rose|rises|risen|increased|increases|grew|grows|grown|climbed|jumped|surged|went up|gone up|soared|expanded|advanced)"

_DOWN = r"(?:fell|falls|fallen|dropped|drops|decreased|decreases|declined|declines|shrank|sank|went down|gone down|was cut|plunged)"

_MOVED = rf"(?:{_UP}|{_DOWN}|changed|moved|went|improved|reduced|was reduced|was raised)"

_GAP = r"[^.;!?\n]{0,60}?"

FORMS = (
    Form(rf"\b(?:sum|total|addition)\s+of\s+(?:the numbers\s+)?(?P<values>{LIST}){IS}{R}", lambda v: [sum(v, Fraction(0))]),
    Form(rf"\badding(?:\s+up|\s+together)?\s+(?P<values>{LIST})(?:\s+together)?{IS}{R}", lambda v: [sum(v, Fraction(0))]),
    Form(rf"{A}\s+added\s+to\s+{B}{IS}{R}", lambda v: [v[0] + v[1]]),
    Form(rf"(?P<values>{LIST})\s+(?:together\s+)?(?:add(?:s)? up to|sums? (?:up )?to|together (?:are|is|make)|make a total of|total)\s*{R}", lambda v: [sum(v, Fraction(0))]),
    Form(rf"\bdifference\s+between\s+{A}\s+and\s+{B}{IS}{R}", lambda v: [abs(v[0] - v[1]), v[0] - v[1]]),
    Form(rf"\b(?:subtracting|taking|deducting)\s+{A}\s+(?:away\s+)?from\s+{B}{IS}{R}", lambda v: [v[1] - v[0]]),
    Form(rf"{A}\s+(?:subtracted|taken|deducted)\s+(?:away\s+)?from\s+{B}{IS}{R}", lambda v: [v[1] - v[0]]),
    Form(rf"\bproduct\s+of\s+(?P<values>{LIST}){IS}{R}", lambda v: [_product(v)]),
    Form(rf"\bmultiplying\s+{A}\s+(?:by|and|with)\s+{B}{IS}{R}", lambda v: [v[0] * v[1]]),
    Form(rf"\bquotient\s+of\s+{A}\s+and\s+{B}{IS}{R}", lambda v: _quotient(v[0], v[1])),
    Form(rf"\bdividing\s+{A}\s+by\s+{B}{IS}{R}", lambda v: _quotient(v[0], v[1])),
    Form(rf"\b(?:average|mean|arithmetic mean)\s+of\s+(?:the numbers\s+)?(?P<values>{LIST}){IS}{R}", lambda v: [_mean(v)]),
    Form(rf"\bmedian\s+of\s+(?:the numbers\s+)?(?P<values>{LIST}){IS}{R}", lambda v: [Fraction(median(v))]),
    Form(rf"\b(?:largest|greatest|biggest|highest|maximum|max)\s+(?:number\s+)?(?:of|among|in|between)\s+(?:the numbers\s+)?(?P<values>{LIST}){IS}{R}", lambda v: [max(v)]),
    Form(rf"\b(?:smallest|least|lowest|minimum|min)\s+(?:number\s+)?(?:of|among|in|between)\s+(?:the numbers\s+)?(?P<values>{LIST}){IS}{R}", lambda v: [min(v)]),
    Form(rf"\b(?:twice|double|two times)\s+{A}{IS}{R}", lambda v: [2 * v[0]]),
    Form(rf"\b(?:triple|thrice|three times)\s+{A}{IS}{R}", lambda v: [3 * v[0]]),
    Form(rf"\bsquare\s+of\s+{A}{IS}{R}", lambda v: [v[0] ** 2]),
    Form(rf"\bcube\s+of\s+{A}{IS}{R}", lambda v: [v[0] ** 3]),
    Form(rf"\bsquare\s+root\s+of\s+{A}{IS}{R}", lambda v: _root(v[0])),
    Form(rf"\bfactorial\s+of\s+{A}{IS}{R}", lambda v: _factorial(v[0])),
    Form(rf"(?<![\w.]){A}!\s*={'{1,2}'}\s*{R}", lambda v: _factorial(v[0]), needs="!"),
    Form(rf"\bremainder\s+(?:of|when|after)\s+(?:dividing\s+)?{A}\s+(?:is\s+)?(?:divided\s+)?by\s+{B}{IS}{R}", lambda v: [v[0] % v[1]] if v[1] else []),
    *(
        Form(rf"\b{name}\s+(?:of\s+)?{A}{IS}{R}", lambda v, by=by: [v[0] / by])  # type: ignore[misc]
        for name, by in _FRACTIONS.items()
    ),
    Form(rf"\b(?:two[ -]thirds|2/3)\s+of\s+{A}{IS}{R}", lambda v: [v[0] * 2 / 3]),
    Form(rf"\b(?:three[ -]quarters|three[ -]fourths|3/4)\s+of\s+{A}{IS}{R}", lambda v: [v[0] * 3 / 4]),
    # percentages
    Form(rf"{_P}\s+of\s+(?P<b>{N}),\s+or\s+{R}", lambda v: [v[0] * v[1] / 100], "percentage"),
    Form(rf"{_P}\s+of\s+(?P<b>{N}){IS}{R}", lambda v: [v[0] * v[1] / 100], "percentage"),
    Form(rf"{A}{IS}(?P<result>[\d.,]*\d)\s?(?:%|per\s?cent)\s+of\s+{B}(?![\w.,]*\d|\s?[+*/%])", lambda v: _share(v[0], v[1]), "percentage"),
    Form(rf"{A}\s+(?:out\s+)?of\s+(?:the\s+|its\s+|all\s+)?{B}(?:\s+[a-z]+){{0,3}}\s*(?:\(|,?\s+(?:or|i\.e\.,?|which is|that is|is|equals|makes|=)\s+)\s*(?:(?:about|roughly|approximately|≈|~)\s*)?{PR}", lambda v: _share(v[0], v[1]), "percentage"),
    Form(rf"\b{_MOVED}\s+(?:[a-z]+\s+)?from\s+{A}{_GAP}\s+to\s+{B}{_GAP}(?:,|\(|–|—|which is|representing|that is|marking|or|an?|by)\s*{_GAP}{PR}(?!\s+(?:of|from|to)\b)", _change, "percentage"),
    Form(rf"\bfrom\s+{A}\s+to\s+{B}\s*(?:,|\(|is|was|represents|means|=|–|—|which is|marks)\s*(?:(?:an?|about|roughly|the|growth|increase|decrease|rise|drop|of)\s+)*{PR}\s*(?:increase|decrease|rise|drop|growth|decline|reduction|gain|jump|fall|change|improvement|cut|higher|lower|more|less)", _change, "percentage"),
    Form(rf"\b{_UP}\s+by\s+(?P<result>[\d.,]*\d)\s?(?:%|per\s?cent)\s*,?\s*(?:[a-z]+\s+)?from\s+{A}\s+to\s+{B}", _change, "percentage"),
    Form(rf"\b{_DOWN}\s+by\s+(?P<result>[\d.,]*\d)\s?(?:%|per\s?cent)\s*,?\s*(?:[a-z]+\s+)?from\s+{A}\s+to\s+{B}", _change, "percentage"),
    Form(rf"(?P<result>[\d.,]*\d)\s?(?:%|per\s?cent)\s+(?:increase|decrease|rise|drop|growth|decline|reduction|jump|fall)\s+from\s+{A}\s+to\s+{B}", _change, "percentage"),
    Form(rf"{B}\s+(?:increased|raised|plus|with|and)\s+(?:by\s+)?{_P}(?:\s+(?:tax|VAT|tip|more|interest))?{IS}{R}", lambda v: [v[1] * (100 + v[0]) / 100, v[1] + v[0]], "percentage"),
    Form(rf"{B}\s+(?:decreased|reduced|lowered|minus|less)\s+(?:by\s+)?{_P}{IS}{R}", lambda v: [v[1] * (100 - v[0]) / 100, v[1] - v[0]], "percentage"),
    Form(rf"{_P}\s+off\s+(?:of\s+)?(?:an?\s+|the\s+)?{B}(?:\s+[a-z]+)?{IS}{R}", lambda v: [v[1] * (100 - v[0]) / 100], "percentage"),
    Form(rf"{_P}\s+(?:discount|tip|tax|commission|fee|deposit|VAT)\s+(?:on|of)\s+(?:an?\s+|the\s+)?{B}(?:\s+[a-z]+)?{IS}{R}", lambda v: [v[1] * v[0] / 100], "percentage"),
    Form(rf"{_P}\s+more\s+than\s+{B}{IS}{R}", lambda v: [v[1] * (100 + v[0]) / 100], "percentage"),
    Form(rf"{_P}\s+less\s+than\s+{B}{IS}{R}", lambda v: [v[1] * (100 - v[0]) / 100], "percentage"),
)  # fmt: skip


def _root(value: Fraction) -> list[Fraction]:
    return [Fraction(math.sqrt(value)).limit_denominator(10**12)] if 0 <= value < 10**15 else []


def _factorial(value: Fraction) -> list[Fraction]:
    return [Fraction(math.factorial(int(value)))] if value.denominator == 1 and 0 <= value <= 300 else []
