"""Points in time that a text names: dates, years, decades, clock times, seasons.

In: a text. Out: `TemporalExpression`s with a normalised value and offsets; `values` joins them with numbers and names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

ONES = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
TEENS = tuple(
    "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()  # noqa: SIM905
)
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
NUMBER_WORDS = {
    "zero": 0,
    **{word: value for value, word in enumerate((*ONES, *TEENS), 1)},
    **{word: 10 * value for value, word in enumerate(TENS, 2)},
}
"""Value of each word."""
ORDINALS = tuple(
    """first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth
    sixteenth seventeenth eighteenth nineteenth twentieth""".split()  # noqa: SIM905
)
Offsets = tuple[int, int]


def masked(text: str, taken: Iterable[Offsets]) -> str:
    """The text with the taken parts blanked out, offsets unchanged."""
    pieces, last = [], 0
    for start, end in sorted(taken):
        if start >= last:
            pieces += [text[last:start], "\x00" * (end - start)]
            last = end
    return "".join([*pieces, text[last:]])


class TemporalExpression(NamedTuple):
    """One part of a point in time: the year, the month, the weekday, ..."""

    part: str
    value: str
    start: int
    end: int


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_YEAR = r"(?P<year>1\d{3}|20\d{2})"
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
_CENTURY_WORDS = (*ORDINALS, "twenty-first")
_NOT_A_YEAR = re.compile(
    r"\s?(?:%|per ?cent|km|m\b|mm|cm|kg|mg|ft|feet|metres?|meters?|miles?|people|men|women|children|staff|"
    r"million|billion|(?!this\b|does\b|sees\b)[a-z]{2,}[^s\W]s\b)"
)
_DATES = re.compile(
    rf"\b(?P<iso>(?:1\d{{3}}|20\d{{2}})-[01]\d-[0-3]\d)\b"
    rf"|\b(?P<slashed>[0-3]?\d/[0-3]?\d/(?:\d{{4}}|\d{{2}}))\b"
    rf"|\b(?P<decade>(?:1\d|20)\d0)['’]?s\b"
    rf"|\b(?P<century>\d{{1,2}}(?:st|nd|rd|th)|{'|'.join(reversed(_CENTURY_WORDS))})[ -]centur(?:y|ies)\b"
    rf"|\b(?P<hour>[0-2]?\d)(?:[:.](?P<minute>[0-5]\d))?\s?(?P<half>[ap]\.?m\b\.?|o['’]clock)"
    rf"|\b(?P<clock>[0-2]?\d:[0-5]\d)\b(?!:)"
    rf"|\b(?P<weekday>(?:mon|tues|wednes|thurs|fri|satur|sun)day)s?\b"
    rf"|\b(?P<season>(?:(?:this|last|next|early|late|in|in the|of|the|during|every)\s)(?:spring|summer|autumn|"
    rf"winter))\b",
    re.IGNORECASE,
)
_CALENDAR = re.compile(
    rf"\b(?:{_DAY}\s(?:of\s)?)?{_MONTH}(?:\s(?P<day2>[0-3]?\d)(?:st|nd|rd|th)?(?!\d|:))?(?:,?\s(?:of\s)?{_YEAR}\b)?",
    re.IGNORECASE,
)
_YEARS = re.compile(
    r"(?<![\d,.$£€¥-])\b(?P<first>1\d{3}|20\d{2})(?:\s?[-–/]\s?(?P<second>\d{4}|\d{2}))?\b(?![,.]\d|-\w)"
)


def temporal_expressions(text: str) -> tuple[TemporalExpression, ...]:
    """The points in time of a text."""
    found: list[TemporalExpression] = []
    taken: list[Offsets] = []
    for match in _DATES.finditer(text):
        dated = list(_dated(match))
        taken += [(m.start, m.end) for m in dated]
        found += dated
    rest = masked(text, taken)
    for match in _CALENDAR.finditer(rest):
        if _is_month(match):
            taken.append(match.span())
            found += _calendar(match)
    rest = masked(rest, taken)
    for match in _YEARS.finditer(rest):
        if not _NOT_A_YEAR.match(rest, match.end()):
            first, second = match["first"], match["second"]
            found.append(TemporalExpression("year", first, *match.span()))
            if second:
                found.append(TemporalExpression("year", (first[:2] + second)[-4:], *match.span()))
    return tuple(found)


def _dated(match: re.Match[str]) -> Iterator[TemporalExpression]:
    kind = match.lastgroup or ""
    start, end = match.span()
    groups = {name: value.lower() for name, value in match.groupdict().items() if value is not None}
    if "iso" in groups:
        year, month, day = groups["iso"].split("-")
        for part, value in (("year", year), ("month", _MONTHS[(int(month) - 1) % 12]), ("day", str(int(day)))):
            yield TemporalExpression(part, value, start, end)
        yield TemporalExpression("date", f"{year}|{_MONTHS[(int(month) - 1) % 12]}|{int(day)}", start, end)
    elif "hour" in groups:
        hour = int(groups["hour"]) % 12 + (12 if groups["half"].startswith("p") else 0)
        yield TemporalExpression("time", f"{hour}:{groups.get('minute') or '00'}", start, end)
    elif "clock" in groups:
        hour_text, minute = groups["clock"].split(":")
        yield TemporalExpression("time", f"{int(hour_text)}:{minute}", start, end)
    elif "century" in groups:
        word = groups["century"]
        number = _CENTURY_WORDS.index(word) + 1 if word in _CENTURY_WORDS else int(re.sub(r"\D", "", word))
        yield TemporalExpression("century", str(number), start, end)
    elif "season" in groups:
        yield TemporalExpression("season", groups["season"].split()[-1], start, end)
    else:
        yield TemporalExpression(kind, groups[kind], start, end)


def _is_month(match: re.Match[str]) -> bool:
    """False for the verbs "may" and "march" and the like."""
    return bool(match["day"] or match["day2"] or match["year"]) or match["month"][0].isupper()


def _calendar(match: re.Match[str]) -> Iterator[TemporalExpression]:
    start, end = match.span()
    yield TemporalExpression("month", match["month"][:3].lower(), start, end)
    day = match["day"] or match["day2"]
    if day and 1 <= int(day) <= 31:
        yield TemporalExpression("day", str(int(day)), start, end)
    if match["year"]:
        yield TemporalExpression("year", match["year"], start, end)
    if day or match["year"]:
        yield TemporalExpression(
            "date", f"{match['year'] or ''}|{match['month'][:3].lower()}|{str(int(day)) if day else ''}", start, end
        )
