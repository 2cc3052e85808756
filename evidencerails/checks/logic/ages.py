# ruff: noqa: E501 - a pattern reads best in one line
"""Ages, anniversaries and the years between two years."""

from __future__ import annotations

import re
from collections.abc import Iterator

from evidencerails.checks.logic.statements import Statement, is_asserted
from evidencerails.checks.logic.written_dates import COUNT, DATE, IS, NOT_EXACT, YEAR, Day, count_of, read_date

_BORN = rf"\bborn\s+(?:(?:on|in)\s+)?(?:[A-Z][\w.,]*\s+){{0,4}}?(?:(?:on|in)\s+)?(?P<born>{DATE}|{YEAR}\b)"

_AGE = r"(?:aged|at\s+(?:the\s+)?age\s+(?:of\s+)?|at\s+the\s+age\s+of|turned|was|is|were|being|reached|celebrated (?:his|her|their))\s*(?P<age>\d{1,3})(?:st|nd|rd|th)?(?:\s+(?:years?\s+old|birthday))?(?![\d%.,]*\d|\s*(?:%|percent|minutes|days|hours|months|weeks|people|km|miles|of|million|thousand))"

_GAP = r"[^.!?\n]{0,80}?"

_AGES = (
    re.compile(rf"{_BORN}{_GAP}\b{_AGE}{_GAP}\b(?:in|on|by)\s+(?P<then>{DATE}|{YEAR}\b)", re.IGNORECASE),
    re.compile(rf"{_BORN}{_GAP}\b(?:died|passed away|was killed|was \w+ed|retired|married|in|on|by)\s+(?:(?:in|on)\s+)?(?P<then>{DATE}|{YEAR}\b){_GAP}\b{_AGE}", re.IGNORECASE),
    re.compile(rf"\((?:born\s+)?(?P<born>{DATE}|{YEAR})\s*[–—-]\s*(?P<then>{DATE}|{YEAR})\){_GAP}\b(?:died|passed away){_GAP}(?:aged|at\s+(?:the\s+)?age\s+(?:of\s+)?)\s*(?P<age>\d{{1,3}})(?!\d)", re.IGNORECASE),
)  # fmt: skip

_FOUNDED = re.compile(
    rf"\b(?:founded|established|opened|built|launched|married|formed|created|inaugurated)\s+(?:on|in)\s+(?P<born>{YEAR})\b{_GAP}\b(?P<age>\d{{1,3}})(?:st|nd|rd|th)\s+"
    rf"(?:(?:wedding|birthday)\s+)?(?:anniversary|birthday|jubilee){_GAP}\bin\s+(?P<then>{YEAR})\b",
    re.IGNORECASE,
)

_YEARS_BETWEEN = re.compile(
    rf"\b(?:from|between)\s+(?P<born>{YEAR})\s+(?:to|until|and|–|-)\s+(?P<then>{YEAR})(?:{IS}|\s*\(|\s*,\s*a (?:period|span) of\s+){COUNT}\s+(?P<unit>years?|decades?|centur(?:y|ies))\b",
    re.IGNORECASE,
)


def ages(text: str, start: int, end: int) -> Iterator[Statement]:
    """Statements of ages, anniversaries and spans of years."""
    for pattern in _AGES:
        for match in pattern.finditer(text, start, end):
            right = _ages_between(match["born"], match["then"])
            if right and is_asserted(text, *match.span()) and not NOT_EXACT.search(match[0]):
                computed = f"computed: {' or '.join(map(str, right))} years, not {match['age']}"
                yield Statement("age", *match.span(), int(match["age"]) in right, computed)
    for match in _FOUNDED.finditer(text, start, end):
        years = int(match["then"]) - int(match["born"])
        if is_asserted(text, *match.span()):
            is_right = years == int(match["age"])
            yield Statement("age", *match.span(), is_right, f"computed: {years} years, not {match['age']}")
    for match in _YEARS_BETWEEN.finditer(text, start, end):
        count, years = count_of(match["count"]), int(match["then"]) - int(match["born"])
        size = {"y": 1, "d": 10, "c": 100}[match["unit"][0].lower()]
        if count is None or NOT_EXACT.search(text, start, end) or not is_asserted(text, *match.span()):
            continue
        is_right = count * size == years if size == 1 else abs(count * size - years) < size
        yield Statement("date", *match.span(), is_right, f"computed: {years} years, not {count * size}")


def _ages_between(born: str, then: str) -> list[int]:
    """Every age that fits: with years alone, before and after the birthday."""
    one, two = (_day_or_year(raw) for raw in (born, then))
    if isinstance(one, Day) and isinstance(two, Day) and one.year and two.year:
        return [two.year - one.year - ((two.month, two.day) < (one.month, one.day))]
    first, last = (day.year if isinstance(day, Day) else day for day in (one, two))
    return [last - first - 1, last - first] if first and last and last > first else []


def _day_or_year(raw: str) -> Day | int | None:
    return int(raw) if raw.isdigit() else read_date(raw)
