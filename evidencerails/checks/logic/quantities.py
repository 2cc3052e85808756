"""What the quantities of a sentence state of each other: totals, multiples, changes, and the same in another unit.

In: a masked text. Out: a `Statement` for each. Quantities are read by the one parser of values, so that digits, words,
dozens, currencies and units count alike; here stands only what has to lie between and around them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from evidencerails.checks.logic.statements import Statement, is_asserted, sentences
from evidencerails.text.measures import DEGREES, Measure, are_comparable, are_equal, measure_of
from evidencerails.text.values import Quantity, quantities_of

MAX_GAP = 60
"""Characters between quantities that belong to one statement."""
MAX_TOTAL_SHARE = 1.5
"""How far a stated total may be from the sum to be about the same things: "3 wins and 2 draws, 11 points in all"."""
MULTIPLE_SHARE = 0.1
"""How far "doubled" may be off."""
ROUNDED_SHARE = 0.005
"""How far a change may be off where numbers are rounded, as a share of the larger."""
CONVERTED_SHARE, CONVERTED_DEGREES_SHARE = 0.12, 0.03
"""How far a converted measure may be off: "6 feet (2 metres)" and "400 °F (200 °C)" are usual."""

_NOUN = r"(?:\s+(?!and\b)[a-z-]{2,20}){1,2}"
_JOINED = re.compile(rf"{_NOUN}(?:,|,?\s+and)\s+", re.IGNORECASE)
_LAST_JOINED = re.compile(r"\s+and\s+$")
_TOTAL_BEFORE = re.compile(
    r"\b(?:a total of|totall?ing|making(?: up)?|makes?|adding up to|altogether|in (?:all|total),?)\s*$", re.IGNORECASE
)
_TOTAL_AFTER = re.compile(r"(?:\s+[a-z]{2,20}){0,3}\s+(?:in (?:all|total)|altogether|all told)\b")
_OTHERS_TOO = re.compile(r"\b(?:among|of the|includ\w+|plus|besides|others?|another|with\w*|except|counting)\b")
_LISTS = re.compile(r"(?:\s+[a-z]{2,20}){0,4}\s*[:(–—]\s*")
_ENDS = re.compile(rf"{_NOUN}\s*(?:[.)]|$)")
ANGLES_OF_A_TRIANGLE = 180
_ANGLES = re.compile(r"\bangles?\b.*\btriangle\b|\btriangle\b.*\bangles?\b", re.IGNORECASE)

_VERBS = {"doubl": 2.0, "tripl": 3.0, "quadrupl": 4.0, "halv": 0.5}
_MULTIPLIED = re.compile(rf"\b(?P<verb>{'|'.join(_VERBS)})(?:ed|ing)\b", re.IGNORECASE)
_AS_MUCH = re.compile(r"[^.;!?\d]{0,12}\b(?P<verb>twice|three times|half) as (?:much|many|high|large|big|long)\b")
_TIMES = {"twice": 2.0, "three times": 3.0, "half": 0.5}
_FROM, _TO = re.compile(r"\bfrom\s+$", re.IGNORECASE), re.compile(r"\bto\s+$", re.IGNORECASE)
_OTHER_CLAUSE = re.compile(r"\b(?:while|and|but|as|whereas|when|with|after|before|because|although|which|who)\b")
_INEXACT = re.compile(
    r"\b(?:nearly|almost|about|around|roughly|approximately|(?:more|less) than|over|at least)\s[^.]{0,12}$",
    re.IGNORECASE,
)
_CONCLUDES = re.compile(
    r"(?:\s+[a-z$€£]+){0,2}(?:\s+\d{4})?,?\s+(?:so\s+(?:that\s+)?(?:it|they)\s+|which\s+means\s+(?:that\s+)?(?:it|they)\s+|having\s+)?"
    r"(?:has\s+|have\s+)?$"
)
_AND_THEN = re.compile(r"\sand\s(?:[a-z]+\s)?(?P<verb>doubl|tripl|quadrupl|halv)ed\s+to\s+$")

_CHANGE_OF = re.compile(
    r"[^.;:!?\d]{0,12}\ban?\s(?:[a-z]+\s)?(?:increase|decrease|rise|drop|growth|decline|reduction|gain|jump|fall|change|"
    r"difference)\sof\s+$"
)
_CHANGED_BY = re.compile(
    r"\b(?:rose|fell|grew|dropped|increased|decreased|declined|climbed|jumped|shrank|went (?:up|down)) by\s+$"
)
_PER = re.compile(r"\s+(?:on|over|since|per|a|an|each|every|compared|points?)\b")

_SAME = re.compile(
    r"\s*(?P<open>\()?\s*(?:(?:,\s*|(?<=\())(?P<or>or)\s+|,?\s*(?:which|that)\s+is,?\s+|,?\s*i\.e\.,?\s+"
    r"|(?:is|are|=|≈|equals?|makes?)\s+|(?<=\())\s*(?:exactly\s+|about\s+|roughly\s+|around\s+|approximately\s+|~\s?|≈\s?)?"
)
_NOT_THE_SAME = re.compile(
    r"\s+(?:[a-z]+\s+)?(?:more|less|fewer|too|longer|higher|lower|further|times|percent|over|each|apiece|per|an?|from|of|away)\b"
)
_COUNTING_WORD = re.compile(r"\bdozen|\bscore\b", re.IGNORECASE)


def quantity_relations(text: str) -> Iterator[Statement]:
    """Every statement of a masked text that its quantities make about each other."""
    for start, end in sentences(text):
        sentence = text[start:end]
        quantities = [q for q in quantities_of(sentence) if q.kind in ("count", "money", "measure")]
        if len(quantities) < 2:
            continue
        for found in (_totals, _angles, _multiples, _changes, _same_values):
            for one in found(sentence, quantities):
                if is_asserted(text, start + one.start, start + one.end):
                    yield one._replace(start=start + one.start, end=start + one.end)


def _shown(value: float) -> str:
    return f"{value:,.6g}".replace(",", "") if abs(value) < 1e6 else f"{value:g}"


# ---- totals


def _totals(text: str, quantities: Sequence[Quantity]) -> Iterator[Statement]:
    """ "40 men and 25 women, 65 people in all", "a total of 65: 40 men and 25 women"."""
    for first, last in _coordinations(text, quantities):
        parts = quantities[first : last + 1]
        before = quantities[first - 1] if first else None
        after = quantities[last + 1] if last + 1 < len(quantities) else None
        for total in (after, before):
            is_total = total is not None and (
                _follows(text, parts, total) if total is after else _is_listed(text, total, parts)
            )
            if total is None or not is_total or any(one.is_approximate for one in (*parts, total)):
                continue
            if total.unit == "point":  # of a game: 3 wins and 1 draw are 10
                continue
            computed = sum(one.value for one in parts)
            if 1 / MAX_TOTAL_SHARE <= total.value / computed <= MAX_TOTAL_SHARE:
                start, end = min(parts[0].start, total.start), max(parts[-1].end, total.end)
                reason = f"computed: {_shown(computed)}, not {_shown(total.value)}"
                yield Statement("arithmetic", start, end, computed == total.value, reason)


def _coordinations(text: str, quantities: Sequence[Quantity]) -> Iterator[tuple[int, int]]:
    """First and last places of the counts that a list joins: "3 officers, 10 sailors and 2 cooks"."""
    first = 0
    for place, (one, two) in enumerate([*pairwise(quantities), (quantities[-1], None)]):
        between = text[one.end : two.start] if two else ""
        is_joined = bool(two and one.kind == two.kind == "count" and _JOINED.fullmatch(between))
        if is_joined and not _LAST_JOINED.search(between):
            continue
        if is_joined:
            yield first, place + 1
        first = place + 1


def _follows(text: str, parts: Sequence[Quantity], total: Quantity) -> bool:
    between, after = text[parts[-1].end : total.start], text[total.end : total.end + MAX_GAP]
    called = _TOTAL_AFTER.match(after)
    if not called and not _TOTAL_BEFORE.search(between):
        return False
    rest = re.split(r"[.,;:!?]", after[called.end() if called else 0 :])[0]
    return len(between) <= MAX_GAP and not (_OTHERS_TOO.search(between) or _OTHERS_TOO.search(rest))


def _is_listed(text: str, total: Quantity, parts: Sequence[Quantity]) -> bool:
    before = text[max(0, total.start - 20) : total.start]
    return bool(
        _TOTAL_BEFORE.search(before)
        and _LISTS.fullmatch(text[total.end : parts[0].start])
        and _ENDS.match(text, parts[-1].end)
    )


def _angles(text: str, quantities: Sequence[Quantity]) -> Iterator[Statement]:
    """ "The angles of the triangle are 90, 60 and 30 degrees"."""
    for three in zip(quantities, quantities[1:], quantities[2:], strict=False):
        gaps = [text[one.end : two.start] for one, two in pairwise(three)]
        is_list = re.fullmatch(r"\s*,\s*", gaps[0]) and re.fullmatch(r",?\s*and\s*", gaps[1])
        if is_list and three[2].unit == "degree" and _ANGLES.search(text):
            total = sum(one.value for one in three)
            reason = f"computed: {_shown(total)} degrees, where a triangle has {ANGLES_OF_A_TRIANGLE}"
            is_right = abs(total - ANGLES_OF_A_TRIANGLE) <= 1
            yield Statement("arithmetic", three[0].start, three[2].end, is_right, reason)


# ---- multiples and changes


def _ranges(text: str, quantities: Sequence[Quantity]) -> Iterator[tuple[int, Quantity, Quantity]]:
    """Place of the first, start and end of what goes "from 40 to 80", or "to 80 from 40"."""
    for place, (one, two) in enumerate(pairwise(quantities)):
        before, between = text[: one.start], text[one.end : two.start]
        if len(between) > MAX_GAP or {one.kind, two.kind} not in ({one.kind}, {"count", two.kind}):
            continue
        if _FROM.search(before) and _TO.search(between):
            yield place, one, two
        elif _TO.search(before) and _FROM.search(between):
            yield place, two, one


def _readings(text: str, one: Quantity, two: Quantity) -> set[float]:
    """Values that the first may have: "from 10 to 20 million" leaves its magnitude to the second."""
    match = re.match(r"[$€£]?\s?([\d.,]*\d)", text[two.start : two.end])
    digits = float(match[1].replace(",", "")) if match else 0.0
    return {one.value, one.value * (two.value / digits if digits else 1.0)}


def _multiples(text: str, quantities: Sequence[Quantity]) -> Iterator[Statement]:
    """ "doubled from 40 to 80", "went from 10 to 30, tripling", "were 50 and doubled to 100"."""
    for place, one, two in _ranges(text, quantities):
        first, last = quantities[place], quantities[place + 1]
        if found := _multiple_around(text, first, last):
            stated, start, end = found
            yield from _ratio(text, one, two, stated, start, end)
    for one, two in pairwise(quantities):
        if match := _AND_THEN.search(text, one.end, two.start):
            yield from _ratio(text, one, two, _VERBS[match["verb"].lower()], one.start, two.end)


def _multiple_around(text: str, first: Quantity, last: Quantity) -> tuple[float, int, int] | None:
    """The multiple that is stated of a range, and where the statement begins and ends."""
    for match in _MULTIPLIED.finditer(text):
        stated = _VERBS[match["verb"].lower()]
        if match.end() <= first.start:
            gap = text[match.end() : first.start]
            if not _INEXACT.search(text[: match.start()]) and len(gap) <= 40 and not _OTHER_CLAUSE.search(gap):
                return stated, match.start(), last.end
        elif match.start() >= last.end and _CONCLUDES.fullmatch(text, last.end, match.start()):
            return stated, first.start, match.end()
    after = _AS_MUCH.match(text, last.end)
    return (_TIMES[after["verb"]], first.start, after.end()) if after else None


def _ratio(text: str, one: Quantity, two: Quantity, stated: float, start: int, end: int) -> Iterator[Statement]:
    if one.is_approximate or two.is_approximate or not one.value:
        return
    ratios = {two.value / value for value in _readings(text, one, two)}
    nearest = min(ratios, key=lambda ratio: abs(ratio - stated))
    is_right = abs(nearest / stated - 1) <= MULTIPLE_SHARE
    yield Statement("arithmetic", start, end, is_right, f"computed: {_shown(nearest)} times as much")


def _changes(text: str, quantities: Sequence[Quantity]) -> Iterator[Statement]:
    """ "from 10 °C to 25 °C, an increase of 15 degrees", "fell by 5 from 20 to 15"."""
    for place, one, two in _ranges(text, quantities):
        first, last = quantities[place], quantities[place + 1]
        after = quantities[place + 2] if place + 2 < len(quantities) else None
        before = quantities[place - 1] if place else None
        change = None
        if after and _CHANGE_OF.fullmatch(text[last.end : after.start]) and not _PER.match(text, after.end):
            change = after
        elif before and _CHANGED_BY.search(text[: before.start]) and len(text[before.end : first.start]) <= 16:
            change = before
        if (
            change is None
            or any(q.is_approximate for q in (one, two, change))
            or change.kind not in (two.kind, "count")
        ):
            continue
        stated = change.value
        nearest = min((abs(two.value - v) for v in _readings(text, one, two)), key=lambda value: abs(value - stated))
        is_right = abs(nearest - stated) <= ROUNDED_SHARE * max(abs(one.value), abs(two.value))
        reason = f"computed: {_shown(nearest)}, not {_shown(stated)}"
        yield Statement("arithmetic", min(first.start, change.start), max(last.end, change.end), is_right, reason)


# ---- the same in other words


def _same_values(text: str, quantities: Sequence[Quantity]) -> Iterator[Statement]:
    """ "20 °C (68 °F)", "5 km, or 3 miles", "two dozen eggs are 24 eggs"."""
    for one, two in pairwise(quantities):
        between = text[one.end : two.start]
        match = _SAME.fullmatch(re.sub(rf"^\s{one.unit}s?\b", "", between) if one.kind == "count" else between)
        if match is None or _NOT_THE_SAME.match(text, two.end):
            continue
        if one.unit != two.unit and are_comparable(one, two):
            first, second = measure_of(one), measure_of(two)
            is_closed = not match["open"] or text[two.end :].lstrip().startswith(")")
            if first and second and is_closed and (first.is_imperial != second.is_imperial or not match["or"]):
                written = (text[two.start : two.end], text[one.start : one.end])
                is_right = _are_near(first, second) or are_equal(two, one, *written)
                yield Statement("unit", one.start, two.end, is_right, "computed: the two differ")
        elif {one.kind, two.kind} == {"count"} and _COUNTING_WORD.search(text, one.start, one.end):
            reason = f"computed: {_shown(one.value)}, not {_shown(two.value)}"
            if two.unit in (one.unit, ""):
                yield Statement("arithmetic", one.start, two.end, one.value == two.value, reason)


def _are_near(one: Measure, two: Measure) -> bool:
    gap, largest = abs(one.value - two.value), max(abs(one.value), abs(two.value))
    if one.dimension == "temperature":
        return gap <= max(2 * DEGREES, CONVERTED_DEGREES_SHARE * largest)
    return one.is_imperial != two.is_imperial and gap <= CONVERTED_SHARE * largest
