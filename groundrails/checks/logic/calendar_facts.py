# ruff: noqa: E501 - a pattern reads best in one line
"""Dates and times: differences, weekdays, ages, the calendar; by `datetime`, exactly."""

from __future__ import annotations

import calendar
import datetime
import itertools
import re
from collections.abc import Iterator
from typing import NamedTuple

from groundrails.checks.logic.numbers import NUMBER_WORDS, read_words
from groundrails.checks.logic.statements import Kind, Statement, is_asserted, pieces

MONTHS = [name.lower() for name in calendar.month_name if name]
WEEKDAYS = [name.lower() for name in calendar.day_name]
LEAP_YEAR = 2024
"""For a day without a year: one that is in no leap year is in none."""
GREGORIAN_SINCE = 1753
"""Weekdays before are not judged: countries counted differently (Britain changed in 1752)."""

_MONTH = "|".join(sorted([*MONTHS, *(m[:3] for m in MONTHS), "sept"], key=len, reverse=True))
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_YEAR = r"(?:1\d|2[01])\d\d"
DATE = (
    rf"(?:\d{{4}}-\d{{2}}-\d{{2}}|(?:the\s+)?\b{_DAY}(?:\s+of)?\s+(?:{_MONTH})\b\.?(?:,?\s+{_YEAR}\b)?"
    rf"|\b(?:{_MONTH})\b\.?\s+{_DAY}\b(?:,?\s+{_YEAR}\b)?)"
)
_ISO = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
_DAY_FIRST = re.compile(
    rf"(?:the\s+)?(\d{{1,2}})(?:st|nd|rd|th)?(?:\s+of)?\s+({_MONTH})\.?(?:,?\s+({_YEAR}))?", re.IGNORECASE
)
_MONTH_FIRST = re.compile(rf"({_MONTH})\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s+({_YEAR}))?", re.IGNORECASE)
_COUNT = rf"(?P<count>\d{{1,6}}|{NUMBER_WORDS})"
_IS = r"\s*,?\s*(?:is|are|was|were|=|equals|makes|gives|comes to|that is|that's|which is|there (?:are|were)|spans|covers)\s*(?:exactly|only|just|also|a (?:period|span|total|gap) of)?\s*"
_OPTIONAL_WEEKDAY = rf"(?:(?:{'|'.join(WEEKDAYS)}),?\s+)?"
_NOT_EXACT = re.compile(
    r"\b(?:inclusive\w*|including|both days|counting|about|approximately|roughly|around|nearly|almost|over|more than|less "
    r"than|at least|up to|business days?|working days?|weekdays?|nights?)\b",
    re.IGNORECASE,
)


class Day(NamedTuple):
    """A date in a text; the year is None where it is not given."""

    year: int | None
    month: int
    day: int

    def at(self, year: int) -> datetime.date | None:
        """The date in a year; None if that year has no such day."""
        try:
            return datetime.date(self.year or year, self.month, self.day)
        except ValueError:
            return None


def read_date(raw: str) -> Day | None:
    """The date that a stretch matched by `DATE` means."""
    iso = _ISO.fullmatch(raw.strip())
    if iso:
        return Day(int(iso[1]), int(iso[2]), int(iso[3]))
    first, second = _DAY_FIRST.fullmatch(raw.strip()), _MONTH_FIRST.fullmatch(raw.strip())
    if first:
        return Day(int(first[3]) if first[3] else None, _month(first[2]), int(first[1]))
    return Day(int(second[3]) if second[3] else None, _month(second[1]), int(second[2])) if second else None


def _month(name: str) -> int:
    return next(place for place, month in enumerate(MONTHS, 1) if month.startswith(name.lower()[:3]))


def count_of(raw: str) -> int | None:
    """A count in digits or words."""
    if raw.isdigit():
        return int(raw)
    shown = read_words(raw)
    return int(shown.value) if shown is not None else None


def _pairs(one: Day, two: Day) -> list[tuple[datetime.date, datetime.date]]:
    """The two dates in every pair of years that they may be meant in: a common and a leap year, or this and the next."""
    known = one.year or two.year
    years = [known] if known else [2023, 2024]
    found = []
    for year in years:
        first, second = one.at(year), two.at(year)
        if first and second:
            if second < first and two.year is None:
                second = two.at(first.year + 1) or second
            found.append((first, second))
    return found


# ---- differences between dates

_SPAN = re.compile(
    rf"\b(?:from|between)\s+{_OPTIONAL_WEEKDAY}(?P<one>{DATE})\s*,?\s*(?:to|until|till|and|through|–|-)\s*{_OPTIONAL_WEEKDAY}"
    rf"(?P<two>{DATE})(?:\s+(?:inclusive|exclusive))?(?P<verb>{_IS}|\s*\((?:that is\s+)?|\s*,\s*(?:a (?:period|span|gap|difference|total) of\s+)){_COUNT}\s+(?P<unit>days?|weeks?|months?|years?)\b",
    re.IGNORECASE,
)
_THERE = re.compile(
    rf"\bthere\s+(?:are|were|is)\s+(?:exactly\s+)?{_COUNT}\s+(?P<unit>days?|weeks?|months?|years?)\s+(?:between|from)\s+{_OPTIONAL_WEEKDAY}"
    rf"(?P<one>{DATE})\s+(?:and|to|until)\s+{_OPTIONAL_WEEKDAY}(?P<two>{DATE})",
    re.IGNORECASE,
)
_LATER = re.compile(
    rf"\b{_COUNT}\s+(?P<unit>days?|weeks?)\s+(?P<way>after|before|from|later than|prior to)\s+{_OPTIONAL_WEEKDAY}(?P<one>{DATE})"
    rf"{_IS}(?:on\s+)?{_OPTIONAL_WEEKDAY}(?P<two>{DATE})",
    re.IGNORECASE,
)
_PLUS = re.compile(
    rf"(?P<one>{DATE})\s+(?P<way>plus|minus|\+|-)\s*{_COUNT}\s+(?P<unit>days?|weeks?){_IS}(?:on\s+)?{_OPTIONAL_WEEKDAY}(?P<two>{DATE})",
    re.IGNORECASE,
)


def _differences(text: str, start: int, end: int) -> Iterator[Statement]:
    for match in itertools.chain(_SPAN.finditer(text, start, end), _THERE.finditer(text, start, end)):
        one, two, count = read_date(match["one"]), read_date(match["two"]), count_of(match["count"])
        context = text[start:end]
        if one is None or two is None or count is None or not is_asserted(text, *match.span()):
            continue
        if _NOT_EXACT.search(context):
            continue
        unit = match["unit"].lower().rstrip("s")
        right = sorted({n for a, b in _pairs(one, two) for n in _spans(a, b, unit)})
        if right:
            told = f"computed: {' or '.join(map(str, right))} {unit}{'s' if right[-1] != 1 else ''}, not {count}"
            yield Statement("date", *match.span(), count in right, told)


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


def _shifted(text: str, start: int, end: int) -> Iterator[Statement]:
    for match in itertools.chain(_LATER.finditer(text, start, end), _PLUS.finditer(text, start, end)):
        one, two, count = read_date(match["one"]), read_date(match["two"]), count_of(match["count"])
        if one is None or two is None or count is None or not is_asserted(text, *match.span()):
            continue
        if _NOT_EXACT.search(text, start, end):
            continue
        days = count * (7 if match["unit"].lower().startswith("week") else 1)
        sign = -1 if match["way"].lower() in ("before", "prior to", "minus", "-") else 1
        right = _moved(one, two, sign * days)
        if right:
            told = f"computed: {' or '.join(_said(day, one) for day in right)}"
            yield Statement("date", *match.span(), any(_is_day(day, two) for day in right), told)


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


def _said(day: datetime.date, like: Day) -> str:
    name = f"{day.day} {calendar.month_name[day.month]}"
    return f"{name} {day.year}" if like.year else name


# ---- weekdays

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
            told = f"computed: {_said(day, written)} is a {right.capitalize()}"
            yield Statement("weekday", *match.span(), right == match["weekday"].lower(), told)


def _no_such_day(match: re.Match[str]) -> Statement:
    return Statement("calendar", *match.span("date"), False, f"computed: there is no {match['date'].strip()}")


# ---- ages

_BORN = rf"\bborn\s+(?:(?:on|in)\s+)?(?:[A-Z][\w.,]*\s+){{0,4}}?(?:(?:on|in)\s+)?(?P<born>{DATE}|{_YEAR}\b)"
_AGE = r"(?:aged|at\s+(?:the\s+)?age\s+(?:of\s+)?|at\s+the\s+age\s+of|turned|was|is|were|being|reached|celebrated (?:his|her|their))\s*(?P<age>\d{1,3})(?:st|nd|rd|th)?(?:\s+(?:years?\s+old|birthday))?(?![\d%.,]*\d|\s*(?:%|percent|minutes|days|hours|months|weeks|people|km|miles|of|million|thousand))"
_GAP = r"[^.!?\n]{0,80}?"
_AGES = (
    re.compile(rf"{_BORN}{_GAP}\b{_AGE}{_GAP}\b(?:in|on|by)\s+(?P<then>{DATE}|{_YEAR}\b)", re.IGNORECASE),
    re.compile(rf"{_BORN}{_GAP}\b(?:died|passed away|was killed|was \w+ed|retired|married|in|on|by)\s+(?:(?:in|on)\s+)?(?P<then>{DATE}|{_YEAR}\b){_GAP}\b{_AGE}", re.IGNORECASE),
    re.compile(rf"\((?:born\s+)?(?P<born>{DATE}|{_YEAR})\s*[–—-]\s*(?P<then>{DATE}|{_YEAR})\){_GAP}\b(?:died|passed away){_GAP}(?:aged|at\s+(?:the\s+)?age\s+(?:of\s+)?)\s*(?P<age>\d{{1,3}})(?!\d)", re.IGNORECASE),
)  # fmt: skip
_FOUNDED = re.compile(
    rf"\b(?:founded|established|opened|built|launched|married|formed|created|inaugurated)\s+(?:on|in)\s+(?P<born>{_YEAR})\b{_GAP}\b(?P<age>\d{{1,3}})(?:st|nd|rd|th)\s+"
    rf"(?:(?:wedding|birthday)\s+)?(?:anniversary|birthday|jubilee){_GAP}\bin\s+(?P<then>{_YEAR})\b",
    re.IGNORECASE,
)
_YEARS_BETWEEN = re.compile(
    rf"\b(?:from|between)\s+(?P<born>{_YEAR})\s+(?:to|until|and|–|-)\s+(?P<then>{_YEAR})(?:{_IS}|\s*\(|\s*,\s*a (?:period|span) of\s+){_COUNT}\s+(?P<unit>years?|decades?|centur(?:y|ies))\b",
    re.IGNORECASE,
)


def _ages(text: str, start: int, end: int) -> Iterator[Statement]:
    for pattern in _AGES:
        for match in pattern.finditer(text, start, end):
            right = _ages_between(match["born"], match["then"])
            if right and is_asserted(text, *match.span()) and not _NOT_EXACT.search(match[0]):
                told = f"computed: {' or '.join(map(str, right))} years, not {match['age']}"
                yield Statement("age", *match.span(), int(match["age"]) in right, told)
    for match in _FOUNDED.finditer(text, start, end):
        years = int(match["then"]) - int(match["born"])
        if is_asserted(text, *match.span()):
            is_right = years == int(match["age"])
            yield Statement("age", *match.span(), is_right, f"computed: {years} years, not {match['age']}")
    for match in _YEARS_BETWEEN.finditer(text, start, end):
        count, years = count_of(match["count"]), int(match["then"]) - int(match["born"])
        size = {"y": 1, "d": 10, "c": 100}[match["unit"][0].lower()]
        if count is None or _NOT_EXACT.search(text, start, end) or not is_asserted(text, *match.span()):
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


# ---- the calendar, and times of day

_LEAP = re.compile(
    rf"\b(?P<year>{_YEAR})\s+(?:is|was|will be|isn't|wasn't)\s+(?P<neg>not\s+)?(?:also\s+)?a\s+leap\s+year\b",
    re.IGNORECASE,
)
_LENGTH = re.compile(
    rf"\b(?P<month>{'|'.join(MONTHS)})(?:\s+(?P<year>{_YEAR}))?\s+(?:has|had|have)\s+(?:only\s+)?(?P<days>\d{{1,2}})\s+days\b",
    re.IGNORECASE,
)
_DAYS_IN = re.compile(
    rf"\bthere are\s+(?:only\s+)?(?P<days>\d{{1,2}})\s+days\s+in\s+(?P<month>{'|'.join(MONTHS)})\b", re.IGNORECASE
)
_NOT_A_DAY = re.compile(rf"\b(?:on|until|by|from|since|dated)\s+(?P<date>{DATE})", re.IGNORECASE)
_CENTURY = re.compile(
    rf"\b(?P<year>{_YEAR})\s+(?:is|was|falls|fell|lies)\s+in\s+the\s+(?P<century>\d{{1,2}})(?:st|nd|rd|th)\s+century\b",
    re.IGNORECASE,
)
_CLOCK = r"\d{1,2}(?::\d{2})?\s?(?:a\.?m\.?|p\.?m\.?)|\d{1,2}:\d{2}"
_HOURS = re.compile(
    rf"\b(?:from|between)\s+(?P<one>{_CLOCK})\s*(?:to|until|and|–|-)\s*(?P<two>{_CLOCK}){_IS}(?P<count>\d+(?:\.\d+)?)\s+(?P<unit>hours?|minutes?)\b(?:\s+and\s+(?P<more>\d{{1,2}})\s+minutes?)?",
    re.IGNORECASE,
)


def _calendar(text: str, start: int, end: int) -> Iterator[Statement]:
    for match in _LEAP.finditer(text, start, end):
        is_leap = calendar.isleap(int(match["year"]))
        stated = not (match["neg"] or "n't" in match[0].lower())
        if is_asserted(text, *match.span()):
            told = f"computed: {match['year']} is {'' if is_leap else 'no '}{'a ' if is_leap else ''}leap year"
            yield Statement("calendar", *match.span(), is_leap == stated, told)
    for match in _LENGTH.finditer(text, start, end):
        month = MONTHS.index(match["month"].lower()) + 1
        years = [int(match["year"])] if match["year"] else [2023, 2024]
        right = sorted({calendar.monthrange(year, month)[1] for year in years})
        if is_asserted(text, *match.span()):
            told = f"computed: {' or '.join(map(str, right))} days, not {match['days']}"
            yield Statement("calendar", *match.span(), int(match["days"]) in right, told)
    for match in _DAYS_IN.finditer(text, start, end):
        month = MONTHS.index(match["month"].lower()) + 1
        right = sorted({calendar.monthrange(year, month)[1] for year in (2023, 2024)})
        if is_asserted(text, *match.span()):
            told = f"computed: {' or '.join(map(str, right))} days, not {match['days']}"
            yield Statement("calendar", *match.span(), int(match["days"]) in right, told)
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
        if one is None or two is None or not is_asserted(text, *match.span()) or _NOT_EXACT.search(text, start, end):
            continue
        is_hours = match["unit"].lower().startswith("hour")
        stated = round(float(match["count"]) * (60 if is_hours else 1)) + int(match["more"] or 0)
        has_signs = "m" in match["one"].lower() or "m" in match["two"].lower()
        right = {(two - one) % 1440} | (set() if has_signs else {(two - one) % 720})
        hours, minutes = divmod((two - one) % 1440, 60)
        told = f"computed: {hours} hours {minutes} minutes"
        yield Statement("date", *match.span(), stated in right, told)


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
        for found in (_differences, _shifted, _weekdays, _ages, _calendar, _clock_times):
            yield from found(text, start, end)


_DATED = re.compile(rf"\b(?:{_MONTH})\b|\d{{4}}|\d:\d\d|\d\s?[ap]\.?m\b", re.IGNORECASE)


def _sentences_of_dates(text: str) -> Iterator[tuple[int, int]]:
    """The sentences with a date in them, each with the one before if that ends in an abbreviated month."""
    for start, end in pieces(text):
        if _DATED.search(text, start, end):
            yield start, end


__all__ = ["Day", "Kind", "dates_and_times", "read_date"]
