"""Numbers, points in time and names of a text, made comparable: what two texts can differ in and still sound alike."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, NamedTuple

from evidencerails.text.temporal import (
    NUMBER_WORDS,
    ONES,
    ORDINALS,
    TENS,
    Offsets,
    TemporalExpression,
    masked,
    temporal_expressions,
)

QuantityKind = Literal["count", "percent", "money", "measure", "ordinal", "score"]


class Quantity(NamedTuple):
    """One number. `value` is in base units of its kind: millions multiplied out, percent as a share of 1."""

    kind: QuantityKind
    value: float
    unit: str
    """Unit of a measure or currency, or the word that is counted (singular, lower case); empty if there is none."""
    is_approximate: bool
    start: int
    end: int


class Name(NamedTuple):
    """A run of capitalised words; `is_initial` if a sentence begins with it, where a capital says nothing."""

    text: str
    words: tuple[str, ...]
    is_initial: bool
    start: int
    end: int


class Values(NamedTuple):
    """All that was found in one text."""

    quantities: tuple[Quantity, ...]
    temporal: tuple[TemporalExpression, ...]
    names: tuple[Name, ...]


@lru_cache(maxsize=2_000)
def values_of(text: str) -> Values:
    """Quantities, temporal expressions and names of a text, in order; no part of the text is in two of them."""
    temporal = temporal_expressions(text)
    taken = [(expression.start, expression.end) for expression in temporal]
    quantities = _quantities(masked(text, taken))
    taken += [(quantity.start, quantity.end) for quantity in quantities]
    return Values(tuple(quantities), temporal, tuple(_names(text, taken)))


# ---- quantities

_SCALE = {
    "hundred": 1e2,
    "thousand": 1e3,
    "k": 1e3,
    "million": 1e6,
    "mn": 1e6,
    "m": 1e6,
    "billion": 1e9,
    "bn": 1e9,
    "b": 1e9,
}
_SCALE |= {"trillion": 1e12, "tn": 1e12, "dozen": 12.0, "lakh": 1e5, "crore": 1e7}
_PARTS = {"half": 0.5, "halves": 0.5, "third": 1 / 3, "quarter": 0.25, "fifth": 0.2, "sixth": 1 / 6, "tenth": 0.1}
_NUMBER_WORD = "|".join(sorted(NUMBER_WORDS, key=len, reverse=True))
_UNDER_100 = rf"(?:(?:{'|'.join(TENS)})(?:[\s-](?:{'|'.join(ONES)})\b)?|{_NUMBER_WORD})"
_UNDER_1000 = rf"(?:(?:{_UNDER_100}[\s-])?hundred(?:\s(?:and\s)?{_UNDER_100})?|{_UNDER_100})"
IN_WORDS = rf"(?:{_UNDER_1000}(?:[\s-](?:thousand|million|billion|trillion)(?:\s(?:and\s)?{_UNDER_1000})?)*)"
"""One number in words: "seventy-two", "one hundred and five", "two million"."""
_QUANTITY = re.compile(
    rf"(?P<score>(?<![\w.,$£€-])\d{{1,3}}\s?[-–]\s?\d{{1,3}}(?![\w-]|[.,]\d))"
    rf"|\b(?P<ordinal>\d{{1,3}}(?:st|nd|rd|th)|{'|'.join(ORDINALS)})\b"
    rf"|(?:(?P<currency>[$£€¥]|(?:US|A|C|HK|NZ)\$)\s?)?(?P<digits>(?<![\w.])(?:\d{{1,3}}(?:,\d{{3}})+|\d+)(?:\.\d+)?)"
    rf"(?:[\s-]?(?P<scale>hundred|thousand|million|billion|trillion|dozen|lakh|crore|mn|bn|tn|[mkb](?=[\s.,;)]|$))\b)?"
    rf"|\b(?P<words>(?:(?:half\s)?a\s)?(?:dozen|hundred|thousand|million|billion)\b|{IN_WORDS}\b(?:[\s-]dozen\b)?)",
    re.IGNORECASE,
)
_FRACTION = re.compile(
    r"\b(?:(?P<top>an?|one|two|three|four|five|\d)[\s-])?(?P<bottom>half|third|quarter|fifth|sixth|tenth)s?\s(?:of\b|"
    r"as\b|the\b)"
    r"|\b(?P<half>half|halves)\b(?!\sa\s(?:dozen|hundred|thousand|million|billion)\b)",
    re.IGNORECASE,
)
_MIXED = re.compile(
    rf"\b(?P<whole>an?|\d{{1,3}}|{_NUMBER_WORD})\s(?P<unit>[a-z]+)\sand\sa\s(?:half|quarter)\b"
    rf"|\b(?P<whole2>\d{{1,3}}|{_NUMBER_WORD})\sand\sa\shalf\s(?P<unit2>[a-z]+)\b"
    r"|\b(?P<part>half|quarter)\s(?:of\s)?an?\s(?P<unit3>[a-z]+)\b",
    re.IGNORECASE,
)
_PERCENT = re.compile(r"\s?(?:%|per\s?cent\b|percent(?:age\spoints?)?\b|pc\b)", re.IGNORECASE)
_UNIT_NAMES = {
    "metre": "metre metres meter meters m",
    "kilometre": "kilometre kilometres kilometer kilometers km",
    "mile": "mile miles mi",
    "foot": "foot feet ft",
    "inch": "inch inches",
    "yard": "yard yards yds",
    "centimetre": "cm centimetre centimetres centimeters centimeter",
    "millimetre": "mm millimetre millimetres millimeters",
    "gram": "g gram grams",
    "kilogram": "kg kilo kilos kilogram kilograms",
    "milligram": "mg milligram milligrams",
    "microgram": "mcg microgram micrograms",
    "pound_weight": "lb lbs",
    "ounce": "oz ounce ounces",
    "tonne": "tonne tonnes ton tons",
    "litre": "litre litres liter liters l",
    "millilitre": "ml millilitre millilitres",
    "gallon": "gallon gallons",
    "acre": "acre acres",
    "hectare": "hectare hectares ha",
    "celsius": "°c celsius",
    "fahrenheit": "°f fahrenheit",
    "degree": "degree degrees °",
    "mph": "mph",
    "kph": "kph km/h",
    "watt": "w watt watts",
    "kilowatt": "kw kilowatts",
    "megawatt": "mw megawatts",
    "second": "second seconds s",
    "minute": "minute minutes min mins",
    "hour": "hour hours hr hrs",
    "day": "day days",
    "week": "week weeks",
    "month": "month months",
    "year": "year years",
    "decade": "decade decades",
    "byte": "bytes byte",
    "megabyte": "mb megabytes",
    "gigabyte": "gb gigabytes",
    "terabyte": "tb terabytes",
}
UNITS = {name: unit for unit, names in _UNIT_NAMES.items() for name in names.split()}
"""Unit by each of its names, in lower case."""
_CURRENCIES = {"dollar": "$", "dollars": "$", "euro": "€", "euros": "€", "pound": "£", "pounds": "£", "yen": "¥"}
_PLURALS = frozenset(
    """people men women children staff aircraft sheep fish police""".split()  # noqa: SIM905
)
_NO_PLURALS = frozenset(
    """is was has as its his this us times does yes""".split()  # noqa: SIM905
)
_UNIT_AFTER = re.compile(r"[\s-]?(°?[a-zA-Z][a-zA-Z/]*|°)")
_SCALE_OF_DEGREES = re.compile(r"\s(celsius|fahrenheit|centigrade|[CF](?![\w.]\w))\b", re.IGNORECASE)
_ABOUT = re.compile(
    r"(?:about|around|roughly|approximately|approx\.?|nearly|almost|over|more than|at least|under|less than|up to|some|"
    r"circa|an estimated|close to|fewer than|just)\s(?:a\s)?[$£€]?$",
    re.IGNORECASE,
)


def _quantities(text: str) -> list[Quantity]:
    """The quantities in order, with "an hour and a half", "two and a half years" and "half a mile" as one each."""
    found: list[Quantity] = []
    for match in _MIXED.finditer(text):
        whole = (match["whole"] or match["whole2"] or "").lower()
        count = 0.0 if not whole else 1.0 if whole in ("a", "an") else NUMBER_WORDS.get(whole) or float(whole)
        share = {"half": 0.5, "quarter": 0.25}[(match["part"] or "half").lower()]
        unit = (match["unit"] or match["unit2"] or match["unit3"]).lower()
        if unit in UNITS and len(unit) > 2:
            about = _is_about(text, match.start())
            found.append(Quantity("measure", count + share, UNITS[unit], about, *match.span()))
    rest = masked(text, [(one.start, one.end) for one in found])
    for match in _FRACTION.finditer(rest):
        share = _fraction(match)
        found.append(Quantity("percent", share, "", _is_about(rest, match.start()), *match.span()))
    rest = masked(rest, [(one.start, one.end) for one in found])
    found += (quantity for match in _QUANTITY.finditer(rest) if (quantity := _quantity(rest, match)) is not None)
    return sorted(found, key=lambda quantity: quantity.start)


def _fraction(match: re.Match[str]) -> float:
    if match["half"]:
        return 0.5
    top = (match["top"] or "one").lower()
    count = float(top) if top.isdigit() else NUMBER_WORDS.get(top, 1.0)
    return count * _PARTS[match["bottom"].lower()]


def _is_about(text: str, start: int) -> bool:
    return bool(_ABOUT.search(text[max(0, start - 20) : start]))


def _quantity(text: str, match: re.Match[str]) -> Quantity | None:
    about = _is_about(text, match.start())
    start, end = match.span()
    if match["score"]:
        first, second = (float(part) for part in re.split(r"\s?[-–]\s?", match["score"]))
        return Quantity("score", first * 1000 + second, "", about, start, end)
    if match["ordinal"]:
        return _ordinal(text, match)
    if match["words"]:
        value = number_in_words(match["words"])
        # "One" is a pronoun or an article as often as a number.
        return None if value == 1.0 else _with_unit(text, value, None, about, start, end)
    value, scale = float(match["digits"].replace(",", "")), (match["scale"] or "").lower()
    if scale == "m" and not match["currency"] and text[match.end() - 2].isspace():  # "3m people" are millions
        return Quantity("measure", value, "metre", about, start, end)
    return _with_unit(text, value * _SCALE.get(scale, 1.0), match["currency"], about, start, end)


def _ordinal(text: str, match: re.Match[str]) -> Quantity | None:
    word = match["ordinal"].lower()
    value = float(ORDINALS.index(word) + 1) if word in ORDINALS else float(re.sub(r"\D", "", word))
    return Quantity("ordinal", value, "", False, *match.span())


def number_in_words(words: str) -> float:
    """Value of a number in words: "three hundred and twelve thousand"."""
    words, total, group = words.lower(), 0.0, 0.0
    for word in re.split(r"[\s-]+", words):
        if word in NUMBER_WORDS:
            group += NUMBER_WORDS[word]
        elif word in ("hundred", "dozen"):
            group = (group or 1.0) * _SCALE[word]
        elif word in _SCALE:
            total, group = total + (group or 1.0) * _SCALE[word], 0.0
    return (total + group) * (0.5 if words.startswith("half ") else 1.0)


def _with_unit(text: str, value: float, currency: str | None, about: bool, start: int, end: int) -> Quantity:
    percent = _PERCENT.match(text, end)
    if percent:
        return Quantity("percent", value / 100, "", about, start, percent.end())
    if currency:
        return Quantity("money", value, currency[-1], about, start, end)
    after = _UNIT_AFTER.match(text, end)
    word = after[1].lower() if after else ""
    if word in _CURRENCIES:
        return Quantity("money", value, _CURRENCIES[word], about, start, after.end() if after else end)
    if word in ("degree", "degrees") and after and (scale := _SCALE_OF_DEGREES.match(text, after.end())):
        name = "celsius" if scale[1][0] in "cC" else "fahrenheit"
        return Quantity("measure", value, name, about, start, scale.end())
    if word in UNITS and (len(word) > 1 or word in "°gmlsw"):
        return Quantity("measure", value, UNITS[word], about, start, after.end() if after else end)
    is_plural = word.endswith("s") and not word.endswith("ss") and word not in _NO_PLURALS
    counted = word[:-1] if is_plural and word != "s" else word if word in _PLURALS else ""
    return Quantity("count", value, counted, about, start, end)


# ---- names

_TOKEN = re.compile(r"[^\W_](?:[\w&'’.-]*\w)?")
_JOINERS = frozenset(
    """of the de la le du van von der den bin ibn al el da di dos and & for""".split()  # noqa: SIM905
)
_FUNCTION_WORDS = frozenset(
    """the a an this that these those it its he she they we you i his her their our my your in on at for from by with
    as to of after before when while although though if since because however but and so then there here also both
    many most some several all each every everyone everybody no none nobody nothing not never always according
    during despite until under over what who where why how which more less few only even just still about among
    between into once later meanwhile moreover furthermore additionally finally first second third yes no overall
    today yesterday tomorrow is are was were has have had do does did can could will would may might must should mr
    mrs ms dr sir one two three four five six seven eight nine ten another such neither either nor yet again instead
    thus hence therefore""".split()  # noqa: SIM905
)


def _names(text: str, taken: list[Offsets]) -> Iterator[Name]:
    rest = masked(text, taken)
    run: list[re.Match[str]] = []
    for token in _TOKEN.finditer(rest):
        gap = rest[run[-1].end() : token.start()] if run else ""
        is_apart = not re.fullmatch(r"[\s/]{1,2}|\.\s", gap) or (run[-1:] and run[-1][0].endswith(("'s", "’s")))
        if run and is_apart:
            yield from _name(text, run)
            run = []
        if _is_capital(token[0]) or (run and token[0].lower() in _JOINERS):
            run.append(token)
        elif run:
            yield from _name(text, run)
            run = []
    if run:
        yield from _name(text, run)


def _is_capital(word: str) -> bool:
    return any(c.isupper() for c in word) and word != "I" and not word.startswith(("I'", "I’"))


def _name(text: str, run: list[re.Match[str]]) -> Iterator[Name]:
    """The name in a run of tokens, without joiners at its end and without an ordinary word at its beginning."""
    while run and run[-1][0].lower() in _JOINERS:
        run = run[:-1]
    is_initial = bool(run) and _begins_sentence(text, run[0].start())
    if is_initial and run[0][0].lower() in _FUNCTION_WORDS:
        run, is_initial = run[1:], False
        while run and run[0][0].lower() in _JOINERS:
            run = run[1:]
    if not run or not any(_is_capital(token[0]) for token in run):
        return
    parts, start = [], 0
    for place, token in enumerate(
        run
    ):  # "Paris and Lyon" are two names, "Marks and Spencer" is rarely worth the trouble
        if token[0] == "and":
            parts.append(run[start:place])
            start = place + 1
    parts.append(run[start:])
    for place, part in enumerate(part for part in parts if part):
        words = tuple(bare_word(token[0]) for token in part if token[0].lower() not in _JOINERS)
        if words and any(_is_capital(token[0]) for token in part):
            begin, end = part[0].start(), part[-1].end()
            yield Name(text[begin:end], words, is_initial and place == 0, begin, end)


def _begins_sentence(text: str, start: int) -> bool:
    before = text[max(0, start - 12) : start].rstrip(" \t\"'“‘(«*_-–—•")
    return not before or before[-1] in ".!?:\n;|"


def bare_word(word: str) -> str:
    """The word in lower case without a possessive ending and inner full stops: "U.S." and "US" agree."""
    return re.sub(r"['’]s?$", "", word.lower()).replace(".", "").replace("’", "'")


def is_function_word(word: str) -> bool:
    """True for words that carry no content of their own."""
    return word in _FUNCTION_WORDS
