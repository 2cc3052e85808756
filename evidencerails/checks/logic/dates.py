"""Dates and times: differences, weekdays, ages, the calendar; by `datetime`, exactly.

In: a masked text with its dates kept. Out: a `Statement` for each fact about dates in it. The facts are the rows of the
table `_FACTS`: a pattern, and a function that computes what is right where it matches.
"""

from __future__ import annotations

import calendar
import datetime
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from evidencerails.checks.logic.numbers import IN_WORDS, read_count
from evidencerails.checks.logic.statements import Kind, Statement, is_asserted, sentences

LEAP_YEAR = 2024
"""For a day without a year: one that is in no leap year is in none."""
GREGORIAN_SINCE = 1753
"""Weekdays before are not judged: countries counted differently (Britain changed in 1752)."""
MAX_DAYS = 300_000

# ---- dates

MONTHS = [name.lower() for name in calendar.month_name if name]
WEEKDAYS = [name.lower() for name in calendar.day_name]
_MONTH = rf"(?:{'|'.join(MONTHS)}|{'|'.join(month[:3] for month in MONTHS)}|sept)"
_WEEKDAY = "|".join(WEEKDAYS)
_YEAR = r"(?:1\d|2[01])\d\d"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_DATE = (
    rf"(?:\d{{4}}-\d{{2}}-\d{{2}}|(?:the\s+)?\b{_DAY}(?:\s+of)?\s+{_MONTH}\b\.?(?:,?\s+{_YEAR}\b)?"
    rf"|\b{_MONTH}\b\.?\s+{_DAY}\b(?:,?\s+{_YEAR}\b)?)"
)


class Day(NamedTuple):
    """A date in a text; the year is None where it is not given."""

    year: int | None
    month: int
    day: int

    def at(self, year: int) -> datetime.date | None:
        """The date in a year, if its own is not given; None if that year has no such day."""
        try:
            return datetime.date(self.year or year, self.month, self.day)
        except ValueError:
            return None


def read_date(raw: str) -> Day:
    """The date that a match of `_DATE` means."""
    if re.match(r"\d{4}-", raw):
        year, month, day = map(int, raw.split("-"))
        return Day(year, month, day)
    name = re.findall(r"[a-z]{3,}", raw.lower().replace("the", ""))[0]
    numbers = [int(number) for number in re.findall(r"\d+", raw)]
    return Day(numbers[1] if len(numbers) > 1 else None, _month_number(name), numbers[0])


def _month_number(name: str) -> int:
    return 1 + next(place for place, month in enumerate(MONTHS) if month.startswith(name.lower()[:3]))


def _years_meant(one: Day, two: Day) -> list[int]:
    """Years in which two dates may be meant: a common and a leap year where none is given."""
    known = one.year or two.year
    return [known] if known else [LEAP_YEAR - 1, LEAP_YEAR]


# ---- facts

_Judged = tuple[Kind, bool, str] | None
"""Kind of the fact, whether it is right, and what was computed; None if nothing can be."""


def _days_between(match: re.Match[str]) -> _Judged:
    one, two, count = read_date(match["one"]), read_date(match["two"]), read_count(match["count"])
    unit = match["unit"].lower().rstrip("s")
    if unit not in ("day", "week", "month", "year"):
        return None
    right: set[int] = set()
    for year in _years_meant(one, two):
        first, second = one.at(year), two.at(year)
        if first and second:
            if second < first and two.year is None:
                second = two.at(first.year + 1) or second
            right |= _units_between(min(first, second), max(first, second), unit)
    if not right:
        return None
    shown = " or ".join(map(str, sorted(right)))
    return "date", count in right, f"computed: {shown} {unit}{'s' if max(right) != 1 else ''}, not {count}"


def _units_between(first: datetime.date, second: datetime.date, unit: str) -> set[int]:
    """Whole units between two dates, the last day not counted; weeks, months and years also rounded up."""
    days = (second - first).days
    if unit in ("day", "week"):
        size = 1 if unit == "day" else 7
        return {days // size, -(-days // size)}
    months = (second.year - first.year) * 12 + second.month - first.month - (second.day < first.day)
    size = 1 if unit == "month" else 12
    is_whole = second.day == first.day and months % size == 0
    return {months // size} if is_whole else {months // size, months // size + 1}


def _day_after(match: re.Match[str]) -> _Judged:
    one, two, count = read_date(match["one"]), read_date(match["two"]), read_count(match["count"])
    days = count * (7 if match["unit"].lower().startswith("week") else 1)
    if days > MAX_DAYS:
        return None
    shift = datetime.timedelta(days=-days if match["way"].lower() in ("before", "prior to") else days)
    years = [one.year] if one.year else [two.year - 1, two.year, two.year + 1] if two.year else _years_meant(one, two)
    right = [
        first + shift for first in map(one.at, years) if first is not None and 300 < first.year + days // 365 < 9000
    ]
    if not right:
        return None
    is_right = any((day.month, day.day) == two[1:] and two.year in (None, day.year) for day in right)
    return "date", is_right, f"computed: {' or '.join(dict.fromkeys(_written(day, one) for day in right))}"


def _written(day: datetime.date, like: Day) -> str:
    """A day as text, with its year where `like` has one."""
    name = f"{day.day} {calendar.month_name[day.month]}"
    return f"{name} {day.year}" if like.year else name


def _weekday(match: re.Match[str]) -> _Judged:
    written = read_date(match["date"])
    if written.year is None or written.year < GREGORIAN_SINCE:
        return None
    day = written.at(written.year)
    if day is None:
        return _missing_day(match)
    right = WEEKDAYS[day.weekday()]
    return "weekday", right == match["weekday"].lower(), f"computed: {_written(day, written)} is a {right.capitalize()}"


def _missing_day(match: re.Match[str]) -> _Judged:
    """Dates that no calendar has: 31 April, 29 February of a common year."""
    written = read_date(match["date"])
    is_missing = written.at(LEAP_YEAR) is None
    return ("calendar", False, f"computed: there is no {match['date'].strip()}") if is_missing else None


def _age(match: re.Match[str]) -> _Judged:
    one, two = (Day(int(raw), 0, 0) if raw.isdigit() else read_date(raw) for raw in (match["born"], match["then"]))
    if not one.year or not two.year or two.year < one.year:
        return None
    years = two.year - one.year
    is_exact = one.month and two.month
    right = [years - (two[1:] < one[1:])] if is_exact else [years - 1, years]
    shown = " or ".join(map(str, right))
    return "age", int(match["age"]) in right, f"computed: {shown} years, not {match['age']}"


def _years_between(match: re.Match[str]) -> _Judged:
    """From one year to another; where something lasted from one to the other, both may count, or neither."""
    count, years = read_count(match["count"]), int(match["two"]) - int(match["one"])
    if years < 0:
        return None
    size = {"year": 1, "decade": 10, "century": 100}.get(re.sub(r"ies$", "y", match["unit"].lower()).rstrip("s"))
    if size is None:
        return None
    is_right = abs(count * size - years) < size + (match["lasts"] is not None)
    return "date", is_right, f"computed: {years} years, not {count * size}"


def _leap_year(match: re.Match[str]) -> _Judged:
    year, is_leap = match["year"], calendar.isleap(int(match["year"]))
    is_denied = bool(match["neg"]) or "n't" in match[0].lower()
    return "calendar", is_leap != is_denied, f"computed: {year} is {'a' if is_leap else 'no'} leap year"


def _time_between(match: re.Match[str]) -> _Judged:
    one, two, size = _minutes(match["one"]), _minutes(match["two"]), {"h": 60, "m": 1}.get(match["unit"][0].lower())
    count = read_count(match["count"]) if "." not in match["count"] else float(match["count"])
    if one is None or two is None or size is None or "month" in match["unit"].lower():
        return None
    stated = round(count * size)
    has_half_of_day = "m" in (match["one"] + match["two"]).lower()
    right = {(two - one) % 1440} | (set() if has_half_of_day else {(two - one) % 720})
    hours, minutes = divmod((two - one) % 1440, 60)
    return "date", stated + int(match["more"] or 0) in right, f"computed: {hours} hours {minutes} minutes"


def _minutes(raw: str) -> int | None:
    found = re.fullmatch(r"(\d{1,2})(?::(\d{2}))?\s?([ap])?.*", raw.lower())
    if found is None:
        return None
    hour, minute = int(found[1]), int(found[2] or 0)
    if found[3]:
        hour = hour % 12 + (12 if found[3] == "p" else 0)
    return hour * 60 + minute if hour < 25 and minute < 60 else None


# ---- the ways to state them

_COUNT = rf"(?P<count>\d{{1,6}}|{IN_WORDS})"
_IS = (
    r"\s*,?\s*(?:is|are|was|were|=|equals|makes|gives|comes to|that is|that's|which is|there (?:are|were)|spans|covers)"
    r"\s*(?:exactly|only|just|also|a (?:period|span|total|gap) of)?\s*"
)
_UNIT = (
    r"(?P<unit>hours?|minutes?|days?|weeks?|months?|years?|decades?|centur(?:y|ies))\b"
    r"(?!\s+(?:to|of|before|after|later|ago)\b)"
)
_LASTS = (
    r"\s*\)?,?\s*(?:and\s+|which\s+|it\s+)?(?:lasting|lasted|took|i\.e\.,?|a\s+(?:period|span|gap|difference|total)\s+of)\s+"
    r"(?:exactly\s+|for\s+)?"
    rf"|\s*,\s*(?=(?:\d{{1,6}}|{IN_WORDS})\s+[a-z]+\s*(?:[.;)]|$|in\s+(?:all|total)|altogether))"
)
"""What leads from a beginning and an end to the time between; the last: an apposition that ends the clause."""
_ON = rf"(?:(?:{_WEEKDAY}),?\s+)?"
_GAP = r"[^.!?\n]{0,80}?"
_THEN = rf"(?P<then>{_DATE}|{_YEAR}\b)"
_BORN = rf"\bborn\s+(?:(?:on|in)\s+)?(?:[A-Z][\w.,]*\s+){{0,4}}?(?:(?:on|in)\s+)?(?P<born>{_DATE}|{_YEAR}\b)"
_AGED = (
    r"(?:aged|at\s+(?:the\s+)?age\s+(?:of\s+)?|turned|was|is|were|being|reached|celebrated (?:his|her|their))\s*"
    r"(?P<age>\d{1,3})(?:st|nd|rd|th)?(?:\s+(?:years?\s+old|birthday))?(?![\d%.,]*\d|\s*(?:%|percent|minutes|days|hours|"
    r"months|weeks|people|km|miles|of|million|thousand))"
)
_CLOCK = r"\d{1,2}(?::\d{2})?\s?(?:a\.?m\.?|p\.?m\.?)|\d{1,2}:\d{2}"
_FACTS: tuple[tuple[Callable[[re.Match[str]], _Judged], str], ...] = (
    (
        _days_between,
        rf"\b(?:from|between)\s+{_ON}(?P<one>{_DATE})\s*,?\s*(?:to|until|till|and|through|–|-)\s*{_ON}(?P<two>{_DATE})"
        rf"(?:{_IS}|\s*\((?:that is\s+)?|{_LASTS}){_COUNT}\s+{_UNIT}",
    ),
    (
        _days_between,
        rf"\bthere\s+(?:are|were|is)\s+(?:exactly\s+)?{_COUNT}\s+(?P<unit>days?|weeks?|months?|years?)\s+(?:between|from)"
        rf"\s+{_ON}(?P<one>{_DATE})\s+(?:and|to|until)\s+{_ON}(?P<two>{_DATE})",
    ),
    (
        _day_after,
        rf"\b{_COUNT}\s+(?P<unit>days?|weeks?)\s+(?P<way>after|before|from|later than|prior to)\s+{_ON}(?P<one>{_DATE})"
        rf"{_IS}(?:on\s+)?{_ON}(?P<two>{_DATE})",
    ),
    (
        _weekday,
        rf"(?P<date>{_DATE})\)?\s*,?\s*(?:is|was|will be|falls on|fell on|will fall on)\s+(?:on\s+)?(?:an?\s+|the\s+)?"
        rf"(?P<weekday>{_WEEKDAY})\b(?!\s+(?:before|after))",
    ),
    (_weekday, rf"\b(?P<weekday>{_WEEKDAY}),?\s+(?:the\s+)?(?P<date>{_DATE})"),
    (_weekday, rf"(?P<date>{_DATE})\s*(?:\(|,\s*an?\s+)(?P<weekday>{_WEEKDAY})\b\)?"),
    (_missing_day, rf"\b(?:on|until|by|from|since|dated)\s+(?P<date>{_DATE})"),
    (_age, rf"{_BORN}{_GAP}\b{_AGED}{_GAP}\b(?:in|on|by)\s+{_THEN}"),
    (
        _age,
        rf"{_BORN}{_GAP}\b(?:died|passed away|was killed|was \w+ed|retired|married|in|on|by)\s+(?:(?:in|on)\s+)?{_THEN}"
        rf"{_GAP}\b{_AGED}",
    ),
    (
        _age,
        rf"\((?:born\s+)?(?P<born>{_DATE}|{_YEAR})\s*[–—-]\s*{_THEN}\){_GAP}\b(?:died|passed away){_GAP}"
        r"(?:aged|at\s+(?:the\s+)?age\s+(?:of\s+)?)\s*(?P<age>\d{1,3})(?!\d)",
    ),
    (
        _years_between,
        rf"\b(?P<from>from\s+|between\s+)?(?P<one>{_YEAR})\s*(?:to|until|till|–|-|(?(from)and|(?!)))\s*"
        rf"(?P<two>{_YEAR})(?:(?P<lasts>{_LASTS})|(?(from)(?:{_IS}|\s*\()|(?!))){_COUNT}\s+{_UNIT}",
    ),
    (
        _years_between,
        rf"\b(?P<lasts>for|lasted|lasting|took)\s+{_COUNT}\s+{_UNIT},?\s*\(?(?:[a-z]+\s+)?from\s+(?P<one>{_YEAR})\s*"
        rf"(?:to|until|till|–|-)\s*(?P<two>{_YEAR})(?=\s*(?:[.;)]|$|,\s*(?!and|from|then|again)))",
    ),
    (
        _leap_year,
        rf"\b(?P<year>{_YEAR})\s+(?:is|was|will be|isn't|wasn't)\s+(?P<neg>not\s+)?(?:also\s+)?a\s+leap\s+year\b",
    ),
    (
        _time_between,
        rf"\b(?:from|between)\s+(?P<one>{_CLOCK})\s*(?:to|until|and|–|-)\s*(?P<two>{_CLOCK})(?:{_IS}|{_LASTS})"
        rf"(?P<count>\d+(?:\.\d+)?|{IN_WORDS})\s+{_UNIT}(?:\s+and\s+(?P<more>\d{{1,2}})\s+minutes?)?",
    ),
)
_PATTERNS = [(judge, re.compile(pattern, re.IGNORECASE)) for judge, pattern in _FACTS]
_DATED = re.compile(rf"\b{_MONTH}\b|\d{{4}}|\d:\d\d|\d\s?[ap]\.?m\b", re.IGNORECASE)
_INEXACT = re.compile(
    r"\b(?:inclusive\w*|including|both days|counting|about|approximately|roughly|around|nearly|almost|over|more than|"
    r"less than|at least|up to|business days?|working days?|weekdays?|nights?)\b",
    re.IGNORECASE,
)
_DURATIONS = (_days_between, _day_after, _years_between, _time_between, _age)
"""Facts that "about" and "both days included" leave open."""


def dates_and_times(text: str) -> Iterator[Statement]:
    """Every statement about dates of a masked text (masked with its dates kept)."""
    for start, end in sentences(text):
        if not _DATED.search(text, start, end):
            continue
        for judge, pattern in _PATTERNS:
            for match in pattern.finditer(text, start, end):
                around = match.span() if judge is _age else (start, end)
                judged = None if judge in _DURATIONS and _INEXACT.search(text, *around) else judge(match)
                if judged is not None and is_asserted(text, *match.span()):
                    kind, is_right, reason = judged
                    place = "date" if kind == "calendar" and "date" in match.re.groupindex else 0
                    yield Statement(kind, *match.span(place), is_right, reason)
