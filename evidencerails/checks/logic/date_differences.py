# ruff: noqa: E501 - a pattern reads best in one line
"""What lies between two dates, and which day is so many days from another."""

from __future__ import annotations

import calendar
import datetime
import itertools
import re
from collections.abc import Iterator

from evidencerails.checks.logic.statements import Statement, is_asserted
from evidencerails.checks.logic.written_dates import (
    COUNT,
    DATE,
    IS,
    NOT_EXACT,
    OPTIONAL_WEEKDAY,
    Day,
    count_of,
    pairs_of,
    read_date,
)

_SPAN = re.compile(
    rf"\b(?:from|between)\s+{OPTIONAL_WEEKDAY}(?P<one>{DATE})\s*,?\s*(?:to|until|till|and|through|–|-)\s*{OPTIONAL_WEEKDAY}"
    rf"(?P<two>{DATE})(?:\s+(?:inclusive|exclusive))?(?P<verb>{IS}|\s*\((?:that is\s+)?|\s*,\s*(?:a (?:period|span|gap|difference|total) of\s+)){COUNT}\s+(?P<unit>days?|weeks?|months?|years?)\b",
    re.IGNORECASE,
)

_THERE = re.compile(
    rf"\bthere\s+(?:are|were|is)\s+(?:exactly\s+)?{COUNT}\s+(?P<unit>days?|weeks?|months?|years?)\s+(?:between|from)\s+{OPTIONAL_WEEKDAY}"
    rf"(?P<one>{DATE})\s+(?:and|to|until)\s+{OPTIONAL_WEEKDAY}(?P<two>{DATE})",
    re.IGNORECASE,
)

_LATER = re.compile(
    rf"\b{COUNT}\s+(?P<unit>days?|weeks?)\s+(?P<way>after|before|from|later than|prior to)\s+{OPTIONAL_WEEKDAY}(?P<one>{DATE})"
    rf"{IS}(?:on\s+)?{OPTIONAL_WEEKDAY}(?P<two>{DATE})",
    re.IGNORECASE,
)

_PLUS = re.compile(
    rf"(?P<one>{DATE})\s+(?P<way>plus|minus|\+|-)\s*{COUNT}\s+(?P<unit>days?|weeks?){IS}(?:on\s+)?{OPTIONAL_WEEKDAY}(?P<two>{DATE})",
    re.IGNORECASE,
)


def differences(text: str, start: int, end: int) -> Iterator[Statement]:
    """Statements of how long it is from one date to another."""
    for match in itertools.chain(_SPAN.finditer(text, start, end), _THERE.finditer(text, start, end)):
        one, two, count = read_date(match["one"]), read_date(match["two"]), count_of(match["count"])
        context = text[start:end]
        if one is None or two is None or count is None or not is_asserted(text, *match.span()):
            continue
        if NOT_EXACT.search(context):
            continue
        unit = match["unit"].lower().rstrip("s")
        right = sorted({n for a, b in pairs_of(one, two) for n in _spans(a, b, unit)})
        if right:
            computed = f"computed: {' or '.join(map(str, right))} {unit}{'s' if right[-1] != 1 else ''}, not {count}"
            yield Statement("date", *match.span(), count in right, computed)


def _spans(one: datetime.date, two: datetime.date, unit: str) -> list[int]:
    """Whole units between two dates, the last day not counted; weeks, months and years also rounded up."""
    one, two = min(one, two), max(one, two)
    days = (two - one).days
    if unit == "day":
        return [days]
    if unit == "week":
        return sorted({days // 7, -(-days // 7)}) if days % 7 else [days // 7]
    months = (two.year - one.year) * 12 + two.month - one.month - (two.day < one.day)
    is_whole = two.day == one.day
    size = 1 if unit == "month" else 12
    whole = is_whole and months % size == 0
    return [months // size] if whole else [months // size, months // size + 1]


def shifted(text: str, start: int, end: int) -> Iterator[Statement]:
    """Statements of which day is so many days after or before another."""
    for match in itertools.chain(_LATER.finditer(text, start, end), _PLUS.finditer(text, start, end)):
        one, two, count = read_date(match["one"]), read_date(match["two"]), count_of(match["count"])
        if one is None or two is None or count is None or not is_asserted(text, *match.span()):
            continue
        if NOT_EXACT.search(text, start, end):
            continue
        days = count * (7 if match["unit"].lower().startswith("week") else 1)
        sign = -1 if match["way"].lower() in ("before", "prior to", "minus", "-") else 1
        right = _moved(one, two, sign * days)
        if right:
            computed = f"computed: {' or '.join(said(day, one) for day in right)}"
            yield Statement("date", *match.span(), any(_is_day(day, two) for day in right), computed)


def _moved(one: Day, two: Day, days: int) -> list[datetime.date]:
    if abs(days) > 300_000:
        return []
    years = [one.year] if one.year else [two.year - 1, two.year, two.year + 1] if two.year else [2023, 2024]
    found = []
    for year in years:
        first = one.at(year)
        if first is not None:
            try:
                found.append(first + datetime.timedelta(days=days))
            except OverflowError:
                continue
    return list(dict.fromkeys(found))


def _is_day(day: datetime.date, written: Day) -> bool:
    return (day.month, day.day) == (written.month, written.day) and written.year in (None, day.year)


def said(day: datetime.date, like: Day) -> str:
    """A day as text, with its year where `like` has one."""
    name = f"{day.day} {calendar.month_name[day.month]}"
    return f"{name} {day.year}" if like.year else name
