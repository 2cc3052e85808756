# ruff: noqa: E501 - a pattern reads best in one line
"""Dates and times: differences, weekdays, ages, the calendar; by `datetime`, exactly."""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator

from evidencerails.checks.logic.ages import ages
from evidencerails.checks.logic.date_differences import differences, said, shifted
from evidencerails.checks.logic.stated_results import years_lasted
from evidencerails.checks.logic.statements import Statement, is_asserted, pieces
from evidencerails.checks.logic.written_dates import (
    DATE,
    GREGORIAN_SINCE,
    IS,
    LEAP_YEAR,
    MONTH_PATTERN,
    MONTHS,
    NOT_EXACT,
    WEEKDAYS,
    YEAR,
    read_date,
)

_WEEKDAY = "|".join(WEEKDAYS)

_WEEKDAYS_STATED = (
    re.compile(rf"(?P<date>{DATE})\)?\s*,?\s*(?:is|was|will be|falls on|fell on|will fall on)\s+(?:on\s+)?(?:an?\s+|the\s+)?(?P<weekday>{_WEEKDAY})\b(?!\s+(?:before|after))", re.IGNORECASE),
    re.compile(rf"\b(?P<weekday>{_WEEKDAY}),?\s+(?:the\s+)?(?P<date>{DATE})", re.IGNORECASE),
    re.compile(rf"(?P<date>{DATE})\s*(?:\(|,\s*an?\s+)(?P<weekday>{_WEEKDAY})\b\)?", re.IGNORECASE),
)  # fmt: skip


def _weekdays(text: str, start: int, end: int) -> Iterator[Statement]:
    for pattern in _WEEKDAYS_STATED:
        for match in pattern.finditer(text, start, end):
            written = read_date(match["date"])
            if written is None or written.year is None or written.year < GREGORIAN_SINCE:
                continue
            if not is_asserted(text, *match.span()):
                continue
            day = written.at(written.year)
            if day is None:
                yield _no_such_day(match)
                continue
            right = WEEKDAYS[day.weekday()]
            computed = f"computed: {said(day, written)} is a {right.capitalize()}"
            yield Statement("weekday", *match.span(), right == match["weekday"].lower(), computed)


def _no_such_day(match: re.Match[str]) -> Statement:
    return Statement("calendar", *match.span("date"), False, f"computed: there is no {match['date'].strip()}")


_LEAP = re.compile(
    rf"\b(?P<year>{YEAR})\s+(?:is|was|will be|isn't|wasn't)\s+(?P<neg>not\s+)?(?:also\s+)?a\s+leap\s+year\b",
    re.IGNORECASE,
)

_LENGTH = re.compile(
    rf"\b(?P<month>{'|'.join(MONTHS)})(?:\s+(?P<year>{YEAR}))?\s+(?:has|had|have)\s+(?:only\s+)?(?P<days>\d{{1,2}})\s+days\b",
    re.IGNORECASE,
)

_DAYS_IN = re.compile(
    rf"\bthere are\s+(?:only\s+)?(?P<days>\d{{1,2}})\s+days\s+in\s+(?P<month>{'|'.join(MONTHS)})\b", re.IGNORECASE
)

_NOT_A_DAY = re.compile(rf"\b(?:on|until|by|from|since|dated)\s+(?P<date>{DATE})", re.IGNORECASE)

_CENTURY = re.compile(
    rf"\b(?P<year>{YEAR})\s+(?:is|was|falls|fell|lies)\s+in\s+the\s+(?P<century>\d{{1,2}})(?:st|nd|rd|th)\s+century\b",
    re.IGNORECASE,
)

_CLOCK = r"\d{1,2}(?::\d{2})?\s?(?:a\.?m\.?|p\.?m\.?)|\d{1,2}:\d{2}"

_HOURS = re.compile(
    rf"\b(?:from|between)\s+(?P<one>{_CLOCK})\s*(?:to|until|and|–|-)\s*(?P<two>{_CLOCK}){IS}(?P<count>\d+(?:\.\d+)?)\s+(?P<unit>hours?|minutes?)\b(?:\s+and\s+(?P<more>\d{{1,2}})\s+minutes?)?",
    re.IGNORECASE,
)


def _calendar(text: str, start: int, end: int) -> Iterator[Statement]:
    for match in _LEAP.finditer(text, start, end):
        is_leap = calendar.isleap(int(match["year"]))
        stated = not (match["neg"] or "n't" in match[0].lower())
        if is_asserted(text, *match.span()):
            computed = f"computed: {match['year']} is {'' if is_leap else 'no '}{'a ' if is_leap else ''}leap year"
            yield Statement("calendar", *match.span(), is_leap == stated, computed)
    for match in _LENGTH.finditer(text, start, end):
        month = MONTHS.index(match["month"].lower()) + 1
        years = [int(match["year"])] if match["year"] else [2023, 2024]
        right = sorted({calendar.monthrange(year, month)[1] for year in years})
        if is_asserted(text, *match.span()):
            computed = f"computed: {' or '.join(map(str, right))} days, not {match['days']}"
            yield Statement("calendar", *match.span(), int(match["days"]) in right, computed)
    for match in _DAYS_IN.finditer(text, start, end):
        month = MONTHS.index(match["month"].lower()) + 1
        right = sorted({calendar.monthrange(year, month)[1] for year in (2023, 2024)})
        if is_asserted(text, *match.span()):
            computed = f"computed: {' or '.join(map(str, right))} days, not {match['days']}"
            yield Statement("calendar", *match.span(), int(match["days"]) in right, computed)
    for match in _CENTURY.finditer(text, start, end):
        century = (int(match["year"]) - 1) // 100 + 1
        if is_asserted(text, *match.span()):
            is_right = century == int(match["century"]) or int(match["year"]) % 100 == 0
            yield Statement("calendar", *match.span(), is_right, f"computed: century {century}, not {match['century']}")
    yield from _missing_days(text, start, end)


def _missing_days(text: str, start: int, end: int) -> Iterator[Statement]:
    """Dates that no calendar has: 31 April, 29 February of a common year."""
    for match in _NOT_A_DAY.finditer(text, start, end):
        written = read_date(match["date"])
        if written is None or not is_asserted(text, *match.span()):
            continue
        if written.at(written.year or LEAP_YEAR) is None:
            yield _no_such_day(match)


def _clock_times(text: str, start: int, end: int) -> Iterator[Statement]:
    for match in _HOURS.finditer(text, start, end):
        one, two = _minutes(match["one"]), _minutes(match["two"])
        if one is None or two is None or not is_asserted(text, *match.span()) or NOT_EXACT.search(text, start, end):
            continue
        is_hours = match["unit"].lower().startswith("hour")
        stated = round(float(match["count"]) * (60 if is_hours else 1)) + int(match["more"] or 0)
        has_signs = "m" in match["one"].lower() or "m" in match["two"].lower()
        right = {(two - one) % 1440} | (set() if has_signs else {(two - one) % 720})
        hours, minutes = divmod((two - one) % 1440, 60)
        computed = f"computed: {hours} hours {minutes} minutes"
        yield Statement("date", *match.span(), stated in right, computed)


def _minutes(raw: str) -> int | None:
    found = re.fullmatch(r"(\d{1,2})(?::(\d{2}))?\s?([ap])?.*", raw.lower())
    if found is None:
        return None
    hour, minute = int(found[1]), int(found[2] or 0)
    if found[3]:
        hour = hour % 12 + (12 if found[3] == "p" else 0)
    return hour * 60 + minute if hour < 25 and minute < 60 else None


def dates_and_times(text: str) -> Iterator[Statement]:
    """Every statement about dates of a masked text (masked with its dates kept)."""
    for start, end in _sentences_of_dates(text):
        for found in (differences, years_lasted, shifted, _weekdays, ages, _calendar, _clock_times):
            yield from found(text, start, end)


_DATED = re.compile(rf"\b(?:{MONTH_PATTERN})\b|\d{{4}}|\d:\d\d|\d\s?[ap]\.?m\b", re.IGNORECASE)


def _sentences_of_dates(text: str) -> Iterator[tuple[int, int]]:
    """The sentences with a date in them, each with the one before if that ends in an abbreviated month."""
    for start, end in pieces(text):
        if _DATED.search(text, start, end):
            yield start, end
