"""One value said in two ways: 1.5 km and 1,500 m, a dozen and twelve, half and 50 %, World War II and 2.

A small model, and word evidence, compare numbers as they are written. So a claim is read with the words that the
evidence has for the same value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from evidencerails.text.measures import are_equal, measure_of
from evidencerails.text.temporal import ORDINALS, TemporalExpression, temporal_expressions
from evidencerails.text.values import Quantity, quantities_of

CACHED_TEXTS = 2_000
_BOUND = re.compile(
    r"\b(?:over|more than|at least|at most|under|less than|up to|fewer than|above|below|exceed\w*|within|every|each|"
    r"per)\s(?:an?\s)?$",
    re.IGNORECASE,
)
_PART = re.compile(r"\w[-–]$|\d[.,]\s$")
"""Before a number that is a part of something else: "CoV-3", the "4" of a tokeniser's "2. 4 miles"."""
_FILLING = re.compile(r"[\s,-]+")
_COMPARISON = re.compile(r"(?:\bas|\bas (?:much|many|long|big))$", re.IGNORECASE)
_LINKING = re.compile(r"\s(?:of|the|as)(?:\s\w+)?$", re.IGNORECASE)


class _StatedQuantity(NamedTuple):
    """A quantity with the words that state it."""

    quantity: Quantity
    text: str
    is_bound: bool
    """True for a bound ("at least 90 minutes") or a rate, which is no value."""


@lru_cache(maxsize=CACHED_TEXTS)
def _quantities(text: str) -> tuple[_StatedQuantity, ...]:
    return tuple(
        _StatedQuantity(q, text[q.start : q.end], _BOUND.search(text[max(0, q.start - 16) : q.start]) is not None)
        for q in quantities_of(text)
        if q.kind in ("count", "percent", "money", "measure") and not _PART.search(text[max(0, q.start - 3) : q.start])
    )


def in_units_of(claim: str, texts: Iterable[str]) -> str:
    """The claim with the evidence's words for the values that are the same: "1,500 m long" as "1.5 km long".

    A value that the evidence has in the claim's own words, or has not at all, stays as it is.

    Args:
        texts: parts of the evidence, nearest first.
    """
    ours = [stated for stated in _quantities(claim) if stated.quantity.value != 1.0 or stated.quantity.kind != "count"]
    parts = list(texts)
    changes: list[tuple[int, int, str]] = []
    if ours:
        changes += _changed_quantities(ours, parts)
    if any(own.is_bound for own in ours) and not _RULE.search(claim):
        changes += _changed_bounds(claim, ours, parts)
    if names := numbered_names(claim):
        changes += _changed_names(names, parts)
    if _PERIOD.search(claim):
        changes += _changed_periods(claim, parts)
    changes += _changed_years(claim, parts)
    for start, end, words in sorted(changes, reverse=True):
        claim = claim[:start] + words + claim[end:]
    return claim


def _changed_quantities(ours: Sequence[_StatedQuantity], texts: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    for own in ours:
        if _COMPARISON.search(own.text):
            continue
        every = [stated for text in texts for stated in _quantities(text)]
        if any(_plain(stated.text) == _plain(own.text) for stated in every):
            continue
        same = next((stated for stated in every if _is_same(own, stated)), None)
        if same is not None:
            yield own.quantity.start, own.quantity.end, _in_place_of(own, same)


def _in_place_of(own: _StatedQuantity, same: _StatedQuantity) -> str:
    """The evidence's words, with the "of" or "of the" that belongs to a share: "half the members", "50 % of them"."""
    linking = _LINKING.search(own.text) if own.quantity.kind == "percent" else None
    return _core(same.text) + ((" of" + linking[0].removeprefix(" of")) if linking else "")


_BOUND_WORDS = re.compile(
    r"(?:^|\b(?:is|are|was|were|be|been|has|have|had|of|with|for|by|in|at|to|from|and|after|than|or),?\s)"
    r"(?P<words>(?P<over>over)|(?P<under>under))\s$"
    r"|\b(?P<more>more than|at least|no (?:fewer|less) than|in excess of|upwards of)\s$"
    r"|(?<!no )(?<!not )\b(?P<less>less than|fewer than|no more than|at most)\s$",
    re.IGNORECASE,
)
"""Words before a number that make it a bound. "Orders over 50 dollars" has none of these: there a rule is stated."""
_RULE = re.compile(
    r"\b(?:must|need\w*|requir\w+|allow\w*|permit\w*|may|can|could|should|shall|will|would|eligib\w+|qualif\w+|"
    r"minimum|maximum|limit\w*|entitle\w*|if|unless|free|valid|when|whenever|anyone|only)\b",
    re.IGNORECASE,
)
"""Where a rule is stated, another bound is another rule: "at least 16 years" does not follow from 18."""


def _changed_bounds(
    claim: str, ours: Sequence[_StatedQuantity], texts: Sequence[str]
) -> Iterator[tuple[int, int, str]]:
    """ "More than 10,000 cars" as the "12,000 cars" of the evidence, if that is the only number of cars nearby."""
    for own in ours:
        bound = _BOUND_WORDS.search(claim[: own.quantity.start])
        if bound is None or not (own.quantity.unit or own.quantity.kind == "percent"):
            continue
        for text in texts:
            there = [t for t in _quantities(text) if (t.quantity.kind, t.quantity.unit) == own.quantity[0:3:2]]
            if there:
                if not _RULE.search(text) and _is_within(own, there, is_lower=bool(bound["over"] or bound["more"])):
                    start = bound.start("words") if bound["words"] else bound.start()
                    yield start, own.quantity.end, _in_place_of(own, there[0])
                break


def _is_within(own: _StatedQuantity, there: Sequence[_StatedQuantity], *, is_lower: bool) -> bool:
    """True if the evidence states one value, no bound, and it lies on the right side."""
    values = {stated.quantity.value for stated in there}
    if len(values) != 1 or any(stated.is_bound for stated in there):
        return False
    value = values.pop()
    return value > own.quantity.value if is_lower else value < own.quantity.value


def _changed_years(claim: str, texts: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """A year in words in digits, if the evidence writes its years so; in the evidence's words if it has that year."""
    ours = _years_alone(claim)
    if not ours:
        return
    there = [(m.value, text[m.start : m.end]) for text in texts for m in _years_alone(text)]
    for own in ours:
        is_worded = claim[own.start].isalpha()
        if not is_worded and claim[own.start : own.end] != own.value:
            continue
        if is_worded and any(words[0].isdigit() for _, words in there):
            yield own.start, own.end, own.value
        elif not is_worded:
            same = [words for value, words in there if value == own.value]
            if same and all(words[0].isalpha() for words in same):
                yield own.start, own.end, same[0]


def _years_alone(text: str) -> list[TemporalExpression]:
    """The years that stand for themselves: that of "May 2, 1924" is a part of a date, and spans all of it."""
    every = temporal_expressions(text)
    dates = {(expression.start, expression.end) for expression in every if expression.part != "year"}
    return [
        expression
        for expression in every
        if expression.part == "year" and (expression.start, expression.end) not in dates
    ]


_PERIOD = re.compile(r"\d0['’]?s\b|centur", re.IGNORECASE)
_PART_OF_PERIOD = re.compile(r"\b(?:early|mid|late|later)[\s-]$", re.IGNORECASE)


def _changed_periods(claim: str, texts: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """A decade or century of the claim as the one year of the evidence that lies in it."""
    periods = [expression for expression in temporal_expressions(claim) if expression.part in ("decade", "century")]
    every = [expression for text in texts for expression in temporal_expressions(text)]
    years = {int(expression.value) for expression in every if expression.part == "year" and expression.value.isdigit()}
    for period in periods:
        if any(other.part == period.part for other in every):
            continue
        if _PART_OF_PERIOD.search(claim[max(0, period.start - 10) : period.start]):
            continue
        inside = [year for year in years if _lies_in(year, period)]
        if len(inside) == 1:
            start = (
                period.start - 4 if claim[max(0, period.start - 4) : period.start].lower() == "the " else period.start
            )
            yield start, period.end, str(inside[0])


def _lies_in(year: int, period: TemporalExpression) -> bool:
    if period.part == "decade":
        return year // 10 == int(period.value) // 10
    return (year - 1) // 100 + 1 == int(period.value)


def _core(text: str) -> str:
    return _LINKING.sub("", text)


def _plain(text: str) -> str:
    """Without what makes no other spelling: "4-year" and "4 years", "$1,500" and "$ 1500"."""
    return _FILLING.sub("", _core(text).lower()).removesuffix("s")


def _is_same(own: _StatedQuantity, stated: _StatedQuantity) -> bool:
    a, b = own.quantity, stated.quantity
    if _COMPARISON.search(stated.text):
        return False
    if measure_of(a) is not None and measure_of(b) is not None and _spelled_apart(own, stated):
        return are_equal(a, b, own.text, stated.text)
    return a.kind == b.kind and a.unit == b.unit and a.value == b.value


def _changed_names(ours: Sequence[NumberedName], texts: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    stated = [name for text in texts for name in numbered_names(text)]
    for own in ours:
        same = [name for name in stated if name.key == own.key and name.number == own.number]
        if same and all(name.style != own.style for name in same):
            yield own.start, own.end, same[0].worded_after(own)


def _spelled_apart(own: _StatedQuantity, stated: _StatedQuantity) -> bool:
    if own.quantity.kind == "percent":  # "a third" and "half" are words that nothing else compares
        return not (any(c.isdigit() for c in own.text) and any(c.isdigit() for c in stated.text))
    return own.quantity.unit != stated.quantity.unit


def names_another(claim: str, text: str) -> bool:
    """True if the text has a name of the claim with another number, in another spelling: World War 1 for War II."""
    ours, there = numbered_names(claim), numbered_names(text)
    return any(
        all(name.number != own.number for name in there if name.key == own.key)
        and any(name.key == own.key and name.style != own.style for name in there)
        for own in ours
    )


Style = Literal["roman", "digits", "ordinal", "short"]

_ORDINAL = rf"(?:\d{{1,3}}(?:st|nd|rd|th)|(?i:{'|'.join(ORDINALS)}))\b"
_ROMAN = r"(?:X{1,3}(?:IX|IV|V?I{0,3})|IX|IV|V?I{1,3}|V)\b"
_CLASSES = (
    r"(?:chapter|part|type|phase|volume|act|section|stage|grade|article|level|class|title|book|category|appendix)"
)
_WORD = r"[A-Z][\w'’-]*[a-z][\w'’-]*"
_AFTER = re.compile(
    rf"\b(?P<head>(?:{_WORD}\s){{0,2}}{_WORD}|{_CLASSES})\s(?P<number>(?:the\s)?{_ORDINAL}|{_ROMAN}|\d{{1,3}}\b(?![.,]\d|\s?%))"
)
_BEFORE = re.compile(rf"\b(?P<number>{_ORDINAL})\s(?P<head>World\sWar)\b")
_SHORT = re.compile(r"\bWW\s?(?P<number>II|I|1|2)\b")
_ROMAN_VALUES = {"I": 1, "V": 5, "X": 10}


class NumberedName(NamedTuple):
    """A name and its number."""

    key: str
    """Last word of the name, in lower case."""
    number: int
    style: Style
    head: str
    """The name as it is written, without its number; empty for an abbreviation."""
    written: str
    """The number as it is written, `the` included."""
    start: int
    end: int
    is_first: bool = False
    """True if the number stands before the name."""

    def worded_after(self, other: NumberedName) -> str:
        """This way to write the number, put to the other's name; the whole of it where the order differs."""
        if self.is_first or other.is_first or not self.head or not other.head:
            return f"{self.written} {self.head}".strip() if self.is_first else f"{self.head} {self.written}".strip()
        return f"{other.head} {self.written}"


@lru_cache(maxsize=CACHED_TEXTS)
def numbered_names(text: str) -> tuple[NumberedName, ...]:
    """All of them, those with the number before the name first."""
    found = []
    for match in _SHORT.finditer(text):
        found.append(NumberedName("war", _value(match["number"]), "short", "", match[0], *match.span()))
    for match in _BEFORE.finditer(text):
        number = match["number"]
        found.append(
            NumberedName("war", _value(number), "ordinal", match["head"], number, *match.span(), is_first=True)
        )
    for match in _AFTER.finditer(text):
        key, written = match["head"].split()[-1].lower(), match["number"]
        number = _value(written)
        if number and not (number == 1 and written == "I" and not _is_counted(key, text, match.end())):
            style: Style = "digits" if written.isdecimal() else "roman" if written.isupper() else "ordinal"
            found.append(NumberedName(key, number, style, match["head"], written, *match.span()))
    return tuple(found)


def _is_counted(key: str, text: str, end: int) -> bool:
    """False where "I" is the speaker: "When Anna I ...", "what Tom I think"."""
    return (
        key == "war"
        or re.match(_CLASSES, key) is not None
        or re.match(r"[.,;)]|'s|’s|\s(?:was|of|in)\b", text[end:]) is not None
    )


def _value(written: str) -> int:
    bare = written.lower().removeprefix("the ").strip()
    if bare in ORDINALS:
        return ORDINALS.index(bare) + 1
    if digits := re.sub(r"\D", "", bare):
        return int(digits)
    return _roman(bare.upper())


def _roman(numeral: str) -> int:
    values = [_ROMAN_VALUES[letter] for letter in numeral]
    return sum(-v if later > v else v for v, later in zip(values, [*values[1:], 0], strict=True))
