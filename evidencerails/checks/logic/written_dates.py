# ruff: noqa: E501 - a pattern reads best in one line
"""Dates as they stand in a text: their patterns, and what they mean."""

from __future__ import annotations

import calendar
import datetime
import re
from typing import NamedTuple

from evidencerails.checks.logic.numbers import NUMBER_WORDS, read_words

MONTHS = [name.lower() for name in calendar.month_name if name]

WEEKDAYS = [name.lower() for name in calendar.day_name]

LEAP_YEAR = 2024
"""For a day without a year: one that is in no leap year is in none."""

GREGORIAN_SINCE = 1753
"""Weekdays before are not judged: countries counted differently (Britain changed in 1752)."""

MONTH_PATTERN = "|".join(sorted([*MONTHS, *(m[:3] for m in MONTHS), "sept"], key=len, reverse=True))

_DAY = r"\d{1,2}(?:st|nd|rd|th)?"

YEAR = r"(?:1\d|2[01])\d\d"

DATE = (
    rf"(?:\d{{4}}-\d{{2}}-\d{{2}}|(?:the\s+)?\b{_DAY}(?:\s+of)?\s+(?:{MONTH_PATTERN})\b\.?(?:,?\s+{YEAR}\b)?"
    rf"|\b(?:{MONTH_PATTERN})\b\.?\s+{_DAY}\b(?:,?\s+{YEAR}\b)?)"
)

_ISO = re.compile(r"(\d{4})-(\d{2})-(\d{2})")

_DAY_FIRST = re.compile(
    rf"(?:the\s+)?(\d{{1,2}})(?:st|nd|rd|th)?(?:\s+of)?\s+({MONTH_PATTERN})\.?(?:,?\s+({YEAR}))?", re.IGNORECASE
)

_MONTH_FIRST = re.compile(rf"({MONTH_PATTERN})\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s+({YEAR}))?", re.IGNORECASE)

COUNT = rf"(?P<count>\d{{1,6}}|{NUMBER_WORDS})"

IS = r"\s*,?\s*(?:is|are|was|were|=|equals|makes|gives|comes to|that is|that's|which is|there (?:are|were)|spans|covers)\s*(?:exactly|only|just|also|a (?:period|span|total|gap) of)?\s*"

OPTIONAL_WEEKDAY = rf"(?:(?:{'|'.join(WEEKDAYS)}),?\s+)?"

NOT_EXACT = re.compile(
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
    """The date that a match of `DATE` means."""
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


def pairs_of(one: Day, two: Day) -> list[tuple[datetime.date, datetime.date]]:
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
