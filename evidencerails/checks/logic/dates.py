"""Dates and times: differences, weekdays, ages, the calendar; by `datetime`, exactly.

In: a masked text. Out: a `Statement` for each fact about dates in it. The facts are the rows of the
table `FACTS`: a pattern of the skeleton, in which `D` is a date, `Y` a year, `W` a weekday and `T` a time of day, and a
function that computes what is right where it matches.
"""

from __future__ import annotations

import calendar
import datetime
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from evidencerails.checks.logic.skeleton import Cell, Number, Skeleton
from evidencerails.checks.logic.statements import Kind, Statement, is_asserted, sentences

LEAP_YEAR = 2024
"""For a day without a year: one that is in no leap year is in none."""
GREGORIAN_SINCE = 1753
"""Weekdays before are not judged: countries counted differently (Britain changed in 1752)."""
MAX_DAYS = 300_000

# ---- dates

MONTHS = [name.lower() for name in calendar.month_name if name]
WEEKDAYS = [name.lower() for name in calendar.day_name]
_MONTH = rf"(?P<month>{'|'.join(MONTHS)}|{'|'.join(month[:3] for month in MONTHS)}|sept)\b\.?"
_YEAR = r"(?:1\d|2[01])\d\d"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_SPECIAL = re.compile(
    rf"(?P<iso>(?<![\d-])\d{{4}}-\d\d-\d\d\b)|(?P<date>(?<!\w)(?:the\s+)?(?:{_DAY}(?:\s+of)?\s+{_MONTH}(?:,?\s+{_YEAR}\b)?"
    rf"|{_MONTH.replace('month', 'first')}\s+{_DAY}\b(?:,?\s+{_YEAR}\b)?))|(?P<weekday>\b(?:{'|'.join(WEEKDAYS)})\b)"
    r"|(?P<clock>(?<![\d:.])(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?\s?(?P<half>[ap])\.?m\b\.?|(?<![\d:.])\d{1,2}:\d\d(?![\d:]))"
    rf"|(?P<year>(?<![\w.,$£€-]){_YEAR}\b(?![.,]\d|\s?%))",
    re.IGNORECASE,
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

    def written(self, day: datetime.date) -> str:
        """A day as text, with its year where this one has one."""
        name = f"{day.day} {calendar.month_name[day.month]}"
        return f"{name} {day.year}" if self.year else name


def _special(match: re.Match[str]) -> Cell | None:
    kind, numbers = str(match.lastgroup), [int(number) for number in re.findall(r"\d+", match[0])]
    if match["iso"]:
        return Cell("D", *match.span(), Day(*numbers))
    if match["date"]:
        month = (match["month"] or match["first"]).lower()[:3]
        number = 1 + next(place for place, name in enumerate(MONTHS) if name.startswith(month))
        return Cell("D", *match.span(), Day(numbers[1] if len(numbers) > 1 else None, number, numbers[0]))
    if match["weekday"]:
        return Cell("W", *match.span(), match[0].lower())
    if match["clock"]:
        hour, minute = numbers[0], numbers[1] if len(numbers) > 1 else 0
        hour = hour % 12 + (12 if match["half"] in ("p", "P") else 0) if match["half"] else hour
        return Cell("T", *match.span(), (hour * 60 + minute, bool(match["half"]))) if minute < 60 > hour else None
    return Cell("Y", *match.span(), Day(numbers[0], 0, 0)) if kind == "year" else None


# ---- facts

_Judged = tuple[Kind, bool, str] | None
"""Kind of the fact, whether it is right, and what was computed; None if nothing can be."""
Values = dict[str, Any]
"""What the groups of a fact stand for."""


def _count(values: Values, *units: str) -> tuple[int, str] | None:
    """A number of units, if it is whole and of one of these."""
    number: Number = values["count"]
    return (int(number.value), number.unit) if number.unit in units and number.value.denominator == 1 else None


def _days_between(values: Values) -> _Judged:
    one, two, counted = values["one"], values["two"], _count(values, "day", "week", "month", "year")
    known = one.year or two.year
    right: set[int] = set()
    for year in [known] if known else [LEAP_YEAR - 1, LEAP_YEAR]:
        first, second = one.at(year), two.at(year)
        if first and second and counted:
            if second < first and two.year is None:
                second = two.at(first.year + 1) or second
            right |= _units_between(min(first, second), max(first, second), counted[1])
    if not counted or not right:
        return None
    shown = " or ".join(map(str, sorted(right)))
    reason = f"computed: {shown} {counted[1]}{'s' if max(right) != 1 else ''}, not {counted[0]}"
    return "date", counted[0] in right, reason


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


def _day_after(values: Values) -> _Judged:
    one, two, counted = values["one"], values["two"], _count(values, "day", "week")
    days = counted[0] * (7 if counted[1] == "week" else 1) if counted else MAX_DAYS + 1
    if days > MAX_DAYS:
        return None
    shift = datetime.timedelta(days=-days if values["way"] in ("before", "prior to") else days)
    years = [two.year - 1, two.year, two.year + 1] if two.year else [LEAP_YEAR - 1, LEAP_YEAR]
    firsts = [first for year in ([one.year] if one.year else years) if (first := one.at(year))]
    right = [first + shift for first in firsts if 300 < first.year + days // 365 < 9000]
    if not right:
        return None
    is_right = any((day.month, day.day) == two[1:] and two.year in (None, day.year) for day in right)
    return "date", is_right, f"computed: {' or '.join(dict.fromkeys(map(one.written, right)))}"


def _weekday(values: Values) -> _Judged:
    date = values["date"]
    if date.year is None or date.year < GREGORIAN_SINCE:
        return None
    day = date.at(date.year)
    if day is None:
        return _missing_day(values)
    right = WEEKDAYS[day.weekday()]
    return "weekday", right == values["weekday"], f"computed: {date.written(day)} is a {right.capitalize()}"


def _missing_day(values: Values) -> _Judged:
    """Dates that no calendar has: 31 April, 29 February of a common year."""
    return ("calendar", False, "computed: there is no such day") if values["date"].at(LEAP_YEAR) is None else None


def _age(values: Values) -> _Judged:
    one, two, age = values["born"], values["then"], values["count"]
    if not one.year or not two.year or two.year < one.year or age.unit not in ("", "year") or not 0 < age.value < 130:
        return None
    years = two.year - one.year
    right = [years - (two[1:] < one[1:])] if one.month and two.month else [years - 1, years]
    return "age", age.value in right, f"computed: {' or '.join(map(str, right))} years, not {age.value}"


def _years_between(values: Values) -> _Judged:
    """From one year to another; where something lasted from one to the other, both may count, or neither."""
    counted, years = _count(values, "year", "decade"), values["two"].year - values["one"].year
    if not counted or years < 0:
        return None
    size = 10 if counted[1] == "decade" else 1
    is_right = abs(counted[0] * size - years) < size + bool(values.get("lasts"))
    return "date", is_right, f"computed: {years} years, not {counted[0] * size}"


def _leap_year(values: Values) -> _Judged:
    year = values["one"].year
    is_leap = calendar.isleap(year)
    reason = f"computed: {year} is {'a' if is_leap else 'no'} leap year"
    return "calendar", is_leap != bool(values["not"]), reason


def _time_between(values: Values) -> _Judged:
    (one, has_half), (two, _), count, more = values["one"], values["two"], values["count"], values.get("more")
    size = {"hour": 60, "minute": 1}.get(count.unit)
    if size is None or (more and more.unit != "minute"):
        return None
    stated = round(count.value * size) + int(more.value if more else 0)
    right = {(two - one) % 1440} | (set() if has_half else {(two - one) % 720})
    hours, minutes = divmod((two - one) % 1440, 60)
    return "date", stated in right, f"computed: {hours} hours {minutes} minutes"


# ---- the ways to state them

_COUNT = r"(?P<count>#)(?! (?:to|of|before|after|later|ago)\b)"
_IS = rf",? ?(?:[=∼≡]≈?|there ∼|spans|covers|gives) ?(?:also |an? (?:period|span|total|gap) of )?{_COUNT}"
_LASTS = (
    r"(?P<lasts> ?\)?,? ?(?:and |which |it )?(?:lasting|lasted|took|i\.e\.,?|a (?:period|span|gap|total) of) "
    r"(?:exactly |for )?| ?, ?(?=#(?: ?[.;)]|$| in (?:all|total)\b| altogether\b)))"
    rf"{_COUNT}"
)
"""What leads from a beginning and an end to the time between; the last: an apposition that ends the clause."""
_TO = r" ?,? ?(?:to|until|till|and|through|-) ?"
_ON = r"(?:W,? )?"
_GAP = r"[^.!?\n]{0,80}?"
_BORN = r"\bborn (?:(?:on|in) )?(?:[a-z.,]+ ){0,4}?(?:(?:on|in) )?(?P<born>[DY])"
_AGED = r"(?:aged|at (?:the )?age (?:of)?|turned|∼|being|reached) ?(?P<count>#)(?! ?[-%]| (?:people|of|percent)\b)"


def _fact(compute: Callable[[Values], _Judged], *patterns: str) -> list[tuple[Any, re.Pattern[str]]]:
    return [(compute, re.compile(pattern)) for pattern in patterns]


FACTS = [
    *_fact(
        _days_between,
        rf"\b(?:from|between) {_ON}(?P<one>D){_TO}{_ON}(?P<two>D){_IS}",
        rf"\b(?:from|between) {_ON}(?P<one>D){_TO}{_ON}(?P<two>D){_LASTS}",
        rf"\b(?:from|between) {_ON}(?P<one>D){_TO}{_ON}(?P<two>D) ?\((?:∼ )?(?P<count>#)",
        rf"\bthere ∼ (?P<count>#) (?:between|from) {_ON}(?P<one>D){_TO}{_ON}(?P<two>D)",
    ),
    *_fact(
        _day_after,
        rf"(?P<count>#) (?P<way>after|before|from|later than|prior to) {_ON}(?P<one>D),? ?[=∼≡] ?(?:on )?{_ON}"
        r"(?P<two>D)",
    ),
    *_fact(
        _weekday,
        r"(?P<date>D)\)?,? ?(?:∼|falls on|fell on) ?(?:on )?(?:an? |the )?(?P<weekday>W)(?! (?:before|after)\b)",
        r"(?P<weekday>W),? (?P<date>D)",
        r"(?P<date>D) ?(?:\(|, an? )(?P<weekday>W)",
    ),
    *_fact(_missing_day, r"\b(?:on|until|by|from|since|dated) (?P<date>D)"),
    *_fact(
        _age,
        rf"{_BORN}{_GAP}{_AGED}{_GAP}\b(?:in|on|by) (?P<then>[DY])",
        rf"{_BORN}{_GAP}\b(?:died|passed away|retired|married|in|on|by|∼ [a-z]+ed) (?:(?:in|on) )?(?P<then>[DY])"
        rf"{_GAP}{_AGED}",
        rf"\((?:born )?(?P<born>[DY]) ?- ?(?P<then>[DY])\){_GAP}\b(?:died|passed away){_GAP}"
        r"(?:aged|at (?:the )?age (?:of)?) ?(?P<count>#)",
    ),
    *_fact(
        _years_between,
        rf"\b(?:from|between) (?P<one>Y){_TO}(?P<two>Y){_IS}",
        rf"\b(?:from|between) (?P<one>Y){_TO}(?P<two>Y) ?\((?P<count>#)",
        rf"(?P<one>Y) ?(?:to|until|till|-) ?(?P<two>Y){_LASTS}",
        r"\b(?P<lasts>for|lasted|lasting|took) (?P<count>#),? ?\(?(?:[a-z]+ )?from (?P<one>Y) ?(?:to|until|till|-) ?"
        r"(?P<two>Y)(?= ?(?:[.;)]|$|, ?(?!and|from|then|again)))",
    ),
    *_fact(_leap_year, r"(?P<one>Y) (?:∼|(?P<isnt>isn't|wasn't)) (?P<not>not )?(?:also )?a leap year\b"),
    *_fact(
        _time_between,
        rf"\b(?:from|between) (?P<one>T){_TO}(?P<two>T){_IS}(?: and (?P<more>#))?",
        rf"\b(?:from|between) (?P<one>T){_TO}(?P<two>T){_LASTS}(?: and (?P<more>#))?",
    ),
]
_DATED = re.compile(rf"\b(?:{_MONTH.replace('?P<month>', '?:')})|\d{{4}}|\d:\d\d|\d\s?[ap]\.?m\b", re.IGNORECASE)
_INEXACT = re.compile(
    r"\b(?:inclusive\w*|including|both days|counting|about|approximately|roughly|around|nearly|almost|over|more than|"
    r"less than|at least|up to|business days?|working days?|weekdays?|nights?)\b",
    re.IGNORECASE,
)
_DURATIONS = (_days_between, _day_after, _years_between, _time_between, _age)
"""Facts that "about" and "both days included" leave open."""


def dates_and_times(text: str) -> Iterator[Statement]:
    """Every statement about dates of a masked text."""
    for start, end in sentences(text):
        if not _DATED.search(text, start, end):
            continue
        skeleton = Skeleton(text, start, end, special=(_SPECIAL, _special))
        for compute, pattern in FACTS:
            for match in pattern.finditer(skeleton.text):
                first, last = skeleton.span(*match.span())
                around = (first, last) if compute is _age else (start, end)
                if compute in _DURATIONS and _INEXACT.search(text, *around):
                    continue
                judged = compute(_values(skeleton, match))
                if judged is not None and is_asserted(text, first, last):
                    kind, is_right, reason = judged
                    if kind == "calendar" and "date" in match.groupdict():
                        first, last = skeleton.span(*match.span("date"))
                    yield Statement(kind, first, last, is_right, reason)


def _values(skeleton: Skeleton, match: re.Match[str]) -> Values:
    """The value of each group that is one character, the words of the others."""
    found = {name: match.start(name) for name, words in match.groupdict().items() if words}
    values = {name: skeleton.value(place) or match[name] for name, place in found.items()}
    return {"not": match.groupdict().get("isnt"), **values}
