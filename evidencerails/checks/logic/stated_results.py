"""Results that a sentence names beside their numbers: years that something lasted, "doubled", "75 people in all"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from evidencerails.checks.logic.statements import Statement, is_asserted
from evidencerails.checks.logic.written_dates import COUNT, NOT_EXACT, count_of

_YEAR = r"(?:1[0-9]|20)\d\d"
_LASTED = re.compile(
    rf"\b(?:from\s+|between\s+)?(?P<one>{_YEAR})\s*(?:to|until|till|and|–|-)\s*(?P<two>{_YEAR})\s*,?\s*(?:and\s+)?"
    rf"(?:lasting|lasted|which\s+lasted|a\s+(?:period|span|total)\s+of|which\s+is|that\s+is)\s+(?:exactly\s+|for\s+)?{COUNT}\s+years\b",
    re.IGNORECASE,
)
_NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
_UNIT = r"(?:\s*(?:%|percent|per\s+cent|million|billion|thousand|[a-z]{3,12}))?"
_FACTORS = {"double": Fraction(2), "triple": Fraction(3), "quadruple": Fraction(4), "halve": Fraction(1, 2)}
_MULTIPLE = re.compile(
    rf"\b(?P<verb>double|triple|quadruple|halve)[ds]\s+from\s+[$£€]?(?P<one>{_NUMBER})(?P<unit>{_UNIT})(?:\s+in\s+{_YEAR})?\s+to\s+[$£€]?(?P<two>{_NUMBER})(?P<unit2>{_UNIT})(?![\d,.]*\d)"
    rf"|\bfrom\s+[$£€]?(?P<one_>{_NUMBER})(?P<unit_>{_UNIT})(?:\s+in\s+{_YEAR})?\s+to\s+[$£€]?(?P<two_>{_NUMBER})(?P<unit2_>{_UNIT})(?:\s+in\s+{_YEAR})?,?\s+(?:so\s+it\s+(?:has\s+)?|(?:it\s+)?has\s+|having\s+|which\s+means\s+(?:that\s+)?it\s+)?(?P<verb_>double|triple|quadruple|halve)d\b",
    re.IGNORECASE,
)
_NOT_SURE = re.compile(
    r"\b(?:more than|less than|nearly|almost|about|around|roughly|approximately|over|at least)\b", re.I
)
_IN_ALL = re.compile(
    r"(?<![\w,.$£€%-])(?P<parts>\d{1,6}\s+(?P<first>[a-z]{3,15})(?:,\s+\d{1,6}\s+[a-z]{3,15}){0,4},?\s+and\s+\d{1,6}\s+[a-z]{3,15}),\s+"
    r"(?:or\s+|for\s+)?(?:a\s+total\s+of\s+(?P<total>\d{1,7})|(?P<total_>\d{1,7})(?:\s+[a-z]{3,15})?\s+(?:in\s+(?:all|total)|altogether))\b"
)


def results_beside_numbers(text: str) -> Iterator[Statement]:
    """Multiples and totals that are named beside the numbers they come from."""
    yield from _multiples(text)
    yield from _totals(text)


def years_lasted(text: str, start: int, end: int) -> Iterator[Statement]:
    """How many years something lasted, beside the years; the first and the last may both count, or not."""
    for match in _LASTED.finditer(text, start, end):
        count, years = count_of(match["count"]), int(match["two"]) - int(match["one"])
        if count is None or years < 0 or NOT_EXACT.search(text, start, end) or not is_asserted(text, *match.span()):
            continue
        reason = f"computed: {years} years, not {count}"
        yield Statement("date", *match.span(), count in (years - 1, years, years + 1), reason)


def _multiples(text: str) -> Iterator[Statement]:
    for match in _MULTIPLE.finditer(text):
        end = "" if match["verb"] else "_"
        first, second = (Fraction(match[f"{name}{end}"].replace(",", "")) for name in ("one", "two"))
        units = [match[f"{name}{end}"].strip().lower() for name in ("unit", "unit2")]
        before = text[max(0, match.start() - 24) : match.start("verb" + end)]
        if first == 0 or (units[0] and units[0] != units[1]) or _NOT_SURE.search(before):
            continue
        if not is_asserted(text, *match.span()):
            continue
        is_right = abs(second / first / _FACTORS[match[f"verb{end}"].lower()] - 1) <= Fraction(1, 10)
        reason = f"computed: {float(second / first):g} times as much"
        yield Statement("arithmetic", *match.span(), is_right, reason)


def _totals(text: str) -> Iterator[Statement]:
    for match in _IN_ALL.finditer(text):
        total = int(match["total"] or match["total_"])
        computed = sum(map(int, re.findall(r"\d+", match["parts"])))
        if is_asserted(text, *match.span()) and not _NOT_SURE.search(text[max(0, match.start() - 16) : match.end()]):
            yield Statement("arithmetic", *match.span(), computed == total, f"computed: {computed}, not {total}")
