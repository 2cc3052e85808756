"""Sums and percentages in words, and what is stated of numbers: "the sum of 3, 4 and 5 is 13", "91 is prime".

In: a masked text. Out: a `Statement` for each. The ways to state a sum are the rows of the table `FORMS`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from statistics import mean, median

from evidencerails.checks.logic.numbers import (
    CONVENTIONS,
    IS,
    LIST,
    Convention,
    N,
    Shown,
    fits,
    formatted,
    number_of,
    numbers_in,
)
from evidencerails.checks.logic.statements import Kind, Statement, is_asserted, sentences

Values = Sequence[Fraction]
Compute = Callable[[Values, str], Values]
"""From the numbers of a statement and its word `name` to every result that would be right."""

# ---- patterns

_END = r"(?!\s?(?:%|per\s?cent|times|more|less|fewer|remainder|points?\b|out of|of\b|[+*/×÷-]\s?\d|\d))(?![\w]*\d)"
_A, _B, _R = rf"(?P<a>{N})", rf"(?P<b>{N})", rf"(?P<result>{N}){_END}"
_PERCENT = r"[\d.,]*\d)\s?(?:%|per\s?cent\b)"
_PA, _PR = rf"(?P<a>{_PERCENT}", rf"(?P<result>{_PERCENT}(?!\s?points?)"
_UP = (
    "rose|rises|risen|increased|increases|grew|grows|grown|climbed|jumped|surged|went up|gone up|soared|expanded|"
    "advanced"
)
_DOWN = "fell|falls|fallen|dropped|drops|decreased|decreases|declined|declines|shrank|sank|went down|was cut|plunged"
_MOVED = rf"(?:{_UP}|{_DOWN}|changed|moved|went|improved|reduced|was reduced|was raised)"
_CHANGE = (
    "(?:increase|decrease|rise|drop|growth|decline|reduction|gain|jump|fall|change|improvement|cut|higher|lower|more|"
    "less)"
)
_GAP = r"[^.;!?\n]{0,60}?"
_FACTORS = {
    **{"half": Fraction(1, 2), "third": Fraction(1, 3), "quarter": Fraction(1, 4), "fourth": Fraction(1, 4)},
    **{"fifth": Fraction(1, 5), "tenth": Fraction(1, 10), "two thirds": Fraction(2, 3), "2/3": Fraction(2, 3)},
    **{"three quarters": Fraction(3, 4), "3/4": Fraction(3, 4), "twice": Fraction(2), "double": Fraction(2)},
    **{"triple": Fraction(3), "three times": Fraction(3)},
}
_FACTOR = "|".join(sorted(_FACTORS, key=len, reverse=True)).replace(" ", "[ -]")

# ---- what is right


def _of_list(values: Values, name: str) -> Values:
    results: Mapping[str, Callable[[Values], Fraction]] = {
        **{"sum": sum, "total": sum, "adding": sum, "product": math.prod, "multiplying": math.prod},  # type: ignore[dict-item]
        **{"average": mean, "mean": mean, "median": median, "largest": max, "highest": max},
        **{"smallest": min, "lowest": min},
    }
    return [Fraction(results[name](values))] if len(values) < 100 else []


def _of_pair(values: Values, name: str) -> Values:
    if len(values) != 2:
        return []
    one, two = values
    if name == "dividing":
        return [one / two] if two else []
    return [abs(one - two), one - two] if name == "difference" else [two - one]


def _of_one(values: Values, name: str) -> Values:
    value = values[0]
    if "root" in name:
        return [Fraction(math.sqrt(value)).limit_denominator(10**12)] if 0 <= value < 10**15 else []
    if name in ("square of", "cube of"):
        return [value ** (2 if name == "square of" else 3)]
    return [value * _FACTORS[name.replace("-", " ")]]


def _share(values: Values, name: str) -> Values:
    return [100 * values[0] / values[1]] if values[1] else []


def _change(values: Values, name: str) -> Values:
    """Change in percent of what was before; from one year to another it would be about something else."""
    first, last = values
    if all(value.denominator == 1 and 1000 <= value < 2200 for value in values) and 0 < last - first < 100:
        return []
    return [abs(100 * (last - first) / first)] if first else []


def _part(values: Values, name: str) -> Values:
    """A percentage of a number, or the number less or more that."""
    percent, whole = values
    part = whole * percent / 100
    if name in ("off", "less than", "decreased", "reduced", "lowered", "minus", "less"):
        return [whole - part, whole - percent] if name in ("minus", "less", "reduced") else [whole - part]
    if name in ("more than", "increased", "raised", "plus", "with", "and"):
        return [whole + part, whole + percent] if name in ("plus", "with", "and") else [whole + part]
    return [part]


_AGAIN = re.compile(r"\b(?:another|again|then|further|later|additional|more|before|after)\b", re.IGNORECASE)
"""Words of a second change, whose percent is about something else."""


class Form:
    """One way to state a sum: a pattern with the groups `values` (or `a`, `b`), `result` and perhaps `name`."""

    def __init__(self, pattern: str, compute: Compute, kind: Kind = "arithmetic") -> None:
        self.pattern = re.compile(pattern, re.IGNORECASE)
        self.compute = compute
        self.kind: Kind = kind

    def statements(self, text: str, start: int, end: int) -> Iterator[Statement]:
        """What a sentence of the text states in this form."""
        for match in self.pattern.finditer(text, start, end):
            if is_asserted(text, *match.span()) and not (self.compute is _change and _AGAIN.search(match[0])):
                found = self._judged(match)
                if found is not None:
                    yield found

    def _judged(self, match: re.Match[str]) -> Statement | None:
        groups = match.groupdict()
        name = " ".join((groups.get("name") or "").lower().split())
        mismatch = ""
        for convention in CONVENTIONS:
            values, result = _values(groups, convention), number_of(match["result"], convention)
            if values is None or result is None:
                continue
            right = list(self.compute([shown.value for shown in values], name))
            if right and self.compute is _change and "%" in match["a"] and "%" in match["b"]:
                right.append(abs(values[1].value - values[0].value))  # "an increase of 5%" may mean points
            about = groups.get("about") is not None
            rounded = sum((shown.unit / 2 for shown in values if shown.is_rounded), Fraction(0))
            if any(fits(r, result, is_approximate=about) or abs(r - result.value) <= rounded for r in right):
                return Statement(self.kind, *match.span(), True)
            if right and not mismatch:
                computed = " or ".join(dict.fromkeys(map(formatted, right)))
                mismatch = f"computed: {computed}, not {formatted(result.value)}"
        return Statement(self.kind, *match.span(), False, mismatch) if mismatch else None


def _values(groups: Mapping[str, str | None], convention: Convention) -> list[Shown] | None:
    if listed := groups.get("values"):
        return numbers_in(listed, convention)
    found = [number_of(raw, convention) for raw in (groups.get("a"), groups.get("b")) if raw]
    return None if None in found else [shown for shown in found if shown is not None]


_IN_WORDS = (
    Form(
        rf"\b(?P<name>sum|total|product|average|mean|median|largest|highest|smallest|lowest)\s+(?:number\s+)?"
        rf"(?:of|among)\s+(?:the numbers\s+)?(?P<values>{LIST}){IS}{_R}",
        _of_list,
    ),
    Form(rf"\b(?P<name>adding|multiplying)\s+(?:up\s+)?(?P<values>{LIST}|{N}\s+(?:by|to)\s+{N}){IS}{_R}", _of_list),
    Form(rf"\b(?P<name>difference)\s+between\s+(?P<values>{N}\s+and\s+{N}){IS}{_R}", _of_pair),
    Form(
        rf"\b(?P<name>dividing|subtracting|taking)\s+(?P<values>{N}\s+(?:away\s+)?(?:by|from)\s+{N}){IS}{_R}", _of_pair
    ),
    Form(
        rf"\b(?P<name>{_FACTOR}|square\s+of|cube\s+of|square\s+root\s+of)\s+(?:of\s+)?{_A}{IS}{_R}",
        _of_one,
    ),
)
_PERCENTAGES = (
    Form(rf"{_PA}\s+of\s+{_B}(?:{IS}|,\s+or\s+){_R}", _part, "percentage"),
    Form(rf"{_A}{IS}(?P<result>{_PERCENT}\s+of\s+{_B}(?![\w.,]*\d|\s?[+*/%])", _share, "percentage"),
    Form(
        rf"{_A}\s+(?:out\s+)?of\s+(?:the\s+|its\s+|all\s+)?{_B}(?:\s+[a-z]+){{0,3}}\s*(?:\(|,?\s+(?:or|i\.e\.,?|"
        rf"which is|that is|is|equals|makes|=)\s+)\s*(?:(?:about|roughly|approximately|≈|~)\s*)?{_PR}",
        _share,
        "percentage",
    ),
    Form(
        rf"\b{_MOVED}\s+(?:[a-z]+\s+)?from\s+{_A}{_GAP}\s+to\s+{_B}{_GAP}(?:,|\(|–|—|which is|representing|that is|"
        rf"marking|or|an?|by)\s*{_GAP}{_PR}(?!\s+(?:of|from|to)\b)",
        _change,
        "percentage",
    ),
    Form(
        rf"\bfrom\s+{_A}\s+to\s+{_B}\s*(?:,|\(|is|was|represents|means|=|–|—|which is|marks)\s*"
        rf"(?:(?:an?|about|roughly|the|growth|increase|decrease|rise|drop|of)\s+)*{_PR}\s*{_CHANGE}",
        _change,
        "percentage",
    ),
    Form(
        rf"(?:\b{_MOVED}\s+(?:by\s+)?)?{_PR}\s*,?\s*(?:{_CHANGE}\s+)?from\s+{_A}\s+to\s+{_B}",
        _change,
        "percentage",
    ),
    Form(
        rf"{_B}\s+(?P<name>increased|raised|plus|with|and|decreased|reduced|lowered|minus|less)\s+(?:by\s+)?{_PA}"
        rf"(?:\s+(?:tax|VAT|tip|more|interest))?{IS}{_R}",
        _part,
        "percentage",
    ),
    Form(
        rf"{_PA}\s+(?P<name>off|more\s+than|less\s+than|(?:discount|tip|tax|commission|fee|deposit|VAT)\s+(?:on|of))\s+"
        rf"(?:of\s+)?(?:an?\s+|the\s+)?{_B}(?:\s+[a-z]+)?{IS}{_R}",
        _part,
        "percentage",
    ),
)
_HAS_WORD = re.compile(
    rf"\b(?:sum|total|product|average|mean|median|largest|highest|smallest|lowest|adding|multiplying|difference|"
    rf"dividing|subtracting|taking|square|cube|{_FACTOR})\b",
    re.IGNORECASE,
)
_HAS_PERCENT = re.compile(r"%|per\s?cent", re.IGNORECASE)


def sums_in_words(text: str) -> Iterator[Statement]:
    """Every sum, percentage and property of a number that a masked text states in words."""
    for start, end in sentences(text):
        for trigger, forms in ((_HAS_WORD, _IN_WORDS), (_HAS_PERCENT, _PERCENTAGES)):
            if trigger.search(text, start, end):
                for form in forms:
                    yield from form.statements(text, start, end)
    for found in (_properties, _comparisons):
        yield from (statement for statement in found(text) if is_asserted(text, statement.start, statement.end))


# ---- what is stated of numbers

_PROPERTY = re.compile(
    r"(?<![\w.,])(?P<number>\d[\d,]{0,15})\s+(?:is|(?P<isnt>isn't))\s+(?:indeed\s+|also\s+|clearly\s+)?(?P<neg>not\s+)?"
    r"(?:an?\s+)?(?:(?P<name>even|odd|prime)(?:\s+number)?\b(?!\s+(?:more|if|though|when|better|worse|as|than|for|so))"
    r"|(?:divisible\s+by|(?:exact\s+)?multiple\s+of)\s+(?P<by>[1-9]\d{0,8})\b)",
    re.IGNORECASE,
)
MAX_PRIME = 10**12
_COMPARED = re.compile(
    r"(?<![\w.,])(?P<a>-?\d[\d.,]*\d|-?\d)\s+is\s+(?:(?:much|slightly|clearly|actually)\s+)?(?P<word>greater|larger|bigger|"
    r"higher|more|less|smaller|lower)\s+than\s+(?P<b>-?\d[\d.,]*\d|-?\d)(?![\w.,]*\d|\s?[+*/×÷^%-]|\s+(?:times|percent|"
    r"million|billion|thousand))",
    re.IGNORECASE,
)
_NO_PLAIN_NUMBER = re.compile(
    r"(?:\b(?:version|python|java|release|chapter|section|grade|size|node|php|ios|android|windows|v\.?)"
    r"|\b(?:of|by|times|plus|minus|than)|[+*/×÷^–-])\s*$",
    re.IGNORECASE,
)
"""Words before a number that make it a version, or part of a sum."""


def _properties(text: str) -> Iterator[Statement]:
    """ "91 is prime", "17 is divisible by 3"."""
    for match in _PROPERTY.finditer(text):
        number, name = int(match["number"].replace(",", "")), (match["name"] or "").lower()
        if name == "prime" and number > MAX_PRIME:
            continue
        if name == "prime":
            has = number > 1 and all(number % divisor for divisor in range(2, math.isqrt(number) + 1))
        else:
            has = number % int(match["by"] or 2) == (1 if name == "odd" else 0)
        reason = f"computed: {number} is {'' if has else 'not '}{name or 'divisible by ' + match['by']}"
        yield Statement("number_property", *match.span(), has != bool(match["neg"] or match["isnt"]), reason)


def _comparisons(text: str) -> Iterator[Statement]:
    """ "9.11 is greater than 9.9"."""
    for match in _COMPARED.finditer(text):
        pairs = [[number_of(match[name], convention) for name in "ab"] for convention in CONVENTIONS]
        gaps = [one.value - two.value for one, two in pairs if one is not None and two is not None]
        if gaps and not _NO_PLAIN_NUMBER.search(text[max(0, match.start() - 20) : match.start()]):
            word = match["word"].lower()
            is_right = any(gap < 0 if word in ("less", "smaller", "lower") else gap > 0 for gap in gaps)
            reason = f"computed: {match['a']} is not {word} than {match['b']}"
            yield Statement("number_property", *match.span(), is_right, reason)
