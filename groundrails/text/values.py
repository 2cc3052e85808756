"""Numbers, points in time and names of a text, made comparable: what two texts can differ in and still sound alike."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

Stretch = tuple[int, int]
QuantityKind = Literal["count", "percent", "money", "measure", "ordinal", "score", "vague"]


class Quantity(NamedTuple):
    """One number. `value` is in base units of its kind: millions multiplied out, percent as a share of 1."""

    kind: QuantityKind
    value: float
    unit: str
    """Unit of a measure or currency, or the word that is counted (singular, lower case); empty if there is none."""
    is_approximate: bool
    start: int
    end: int


class Moment(NamedTuple):
    """One part of a point in time: the year, the month, the weekday, ..."""

    part: str
    value: str
    start: int
    end: int


class Name(NamedTuple):
    """A run of capitalised words; `is_initial` if a sentence begins with it, where a capital tells nothing."""

    text: str
    words: tuple[str, ...]
    is_initial: bool
    start: int
    end: int


class Values(NamedTuple):
    """All that was found in one text."""

    quantities: tuple[Quantity, ...]
    moments: tuple[Moment, ...]
    names: tuple[Name, ...]


def values_of(text: str) -> Values:
    """Quantities, moments and names of a text, in order; no stretch of text is in two of them."""
    moments = list(_moments(text))
    taken = [(moment.start, moment.end) for moment in moments]
    quantities = list(_quantities(_masked(text, taken)))
    taken += [(quantity.start, quantity.end) for quantity in quantities]
    return Values(tuple(quantities), tuple(moments), tuple(_names(text, taken)))


def moments_of(text: str) -> list[Moment]:
    """The points in time of a text alone."""
    return list(_moments(text))


def quantities_of(text: str) -> list[Quantity]:
    """The quantities of a text alone, in order, with "an hour and a half" and "half a mile" as one each."""
    mixed = list(_mixed(text))
    moments = [(moment.start, moment.end) for moment in _moments(text)]
    plain = _quantities(_masked(text, [*((q.start, q.end) for q in mixed), *moments]))
    return sorted([*mixed, *plain], key=lambda quantity: quantity.start)


def _masked(text: str, taken: list[Stretch]) -> str:
    """The text with the taken stretches blanked out, offsets unchanged."""
    pieces, last = [], 0
    for start, end in sorted(taken):
        if start >= last:
            pieces += [text[last:start], "\x00" * (end - start)]
            last = end
    return "".join([*pieces, text[last:]])


# ---- points in time

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_YEAR = r"(?P<year>1\d{3}|20\d{2})"
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
_CENTURY_WORDS = """first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth
    fourteenth
    fifteenth sixteenth seventeenth eighteenth nineteenth twentieth twenty-first""".split()  # noqa: SIM905
_DOUBTFUL_MONTHS = frozenset("may march mar jan dec oct sep sept nov jun jul apr aug feb".split())  # noqa: SIM905
_UNITS_OF_TIME = r"(?:second|minute|hour|day|night|week|weekend|month|quarter|season|year|decade|century)"
_NOT_A_YEAR = re.compile(
    r"\s?(?:%|per ?cent|km|m\b|mm|cm|kg|mg|ft|feet|metres?|meters?|miles?|people|men|women|children|staff|"
    r"million|billion|(?!was\b|is\b|its\b|as\b|has\b|his\b|us\b|this\b|olympics\b|games\b|finals\b|championships\b|"
    r"elections\b|"
    r"sees\b|does\b|awards\b|series\b|riots\b|protests\b|talks\b)[a-z]{2,}[^s\W]s\b)"
)
_DATES = re.compile(
    rf"\b(?P<iso>(?:1\d{{3}}|20\d{{2}})-[01]\d-[0-3]\d)\b"
    rf"|\b(?P<slashed>[0-3]?\d/[0-3]?\d/(?:\d{{4}}|\d{{2}}))\b"
    rf"|\b(?P<decade>(?:1\d|20)\d0)['’]?s\b"
    rf"|\b(?P<century>\d{{1,2}}(?:st|nd|rd|th)|{'|'.join(reversed(_CENTURY_WORDS))})[ -]centur(?:y|ies)\b"
    rf"|\b(?P<hour>[0-2]?\d)(?:[:.](?P<minute>[0-5]\d))?\s?(?P<half>[ap]\.?m\b\.?|o['’]clock)"
    rf"|\b(?P<clock>[0-2]?\d:[0-5]\d)\b(?!:)"
    rf"|\b(?P<noon>noon|midnight|midday)\b"
    rf"|\b(?P<weekday>(?:mon|tues|wednes|thurs|fri|satur|sun)day)s?\b"
    rf"|\b(?P<era_year>\d{{1,4}})\s?(?P<era>b\.?c\.?e?\b\.?|a\.?d\b\.?|c\.?e\b)"
    rf"|\b(?P<relative>yesterday|today|tomorrow|tonight|nowadays|(?:last|next|previous|following|"
    rf"coming)\s{_UNITS_OF_TIME}"
    rf"|(?:\d+|a|an|one|two|three|four|five|six|seven|eight|nine|ten)\s{_UNITS_OF_TIME}s?\s(?:ago|later|earlier|"
    rf"from now))\b"
    rf"|\b(?P<season>(?:(?:this|last|next|early|late|in|in the|of|the|during|every)\s)(?:spring|summer|autumn|"
    rf"winter))\b"
    rf"|\b(?P<pace>hourly|daily|weekly|fortnightly|monthly|quarterly|yearly|annual(?:ly)?|every\s{_UNITS_OF_TIME})\b",
    re.IGNORECASE,
)
_CALENDAR = re.compile(
    rf"\b(?:{_DAY}\s(?:of\s)?)?{_MONTH}(?:\s(?P<day2>[0-3]?\d)(?:st|nd|rd|th)?(?!\d|:))?(?:,?\s(?:of\s)?{_YEAR}\b)?",
    re.IGNORECASE,
)
_YEARS = re.compile(
    r"(?<![\d,.$£€¥-])\b(?P<first>1\d{3}|20\d{2})(?:\s?[-–/]\s?(?P<second>\d{4}|\d{2}))?\b(?![,.]\d|-\w)"
)


def _moments(text: str) -> Iterator[Moment]:
    taken: list[Stretch] = []
    for match in _DATES.finditer(text):
        found = list(_dated(match))
        taken += [(m.start, m.end) for m in found]
        yield from found
    rest = _masked(text, taken)
    for match in _CALENDAR.finditer(rest):
        if _is_month(rest, match):
            found = list(_calendar(match))
            taken += [match.span()]
            yield from found
    rest = _masked(rest, taken)
    for match in _YEARS.finditer(rest):
        if not _NOT_A_YEAR.match(rest, match.end()):
            yield from _years(match)


def _dated(match: re.Match[str]) -> Iterator[Moment]:
    kind = match.lastgroup or ""
    start, end = match.span()
    groups = {name: value.lower() for name, value in match.groupdict().items() if value is not None}
    if "iso" in groups:
        year, month, day = groups["iso"].split("-")
        for part, value in (("year", year), ("month", _MONTHS[(int(month) - 1) % 12]), ("day", str(int(day)))):
            yield Moment(part, value, start, end)
        yield Moment("date", f"{year}|{_MONTHS[(int(month) - 1) % 12]}|{int(day)}", start, end)
    elif "hour" in groups:
        hour = int(groups["hour"]) % 12 + (12 if groups["half"].startswith("p") else 0)
        yield Moment("time", f"{hour}:{groups.get('minute') or '00'}", start, end)
    elif "clock" in groups:
        hour_text, minute = groups["clock"].split(":")
        yield Moment("time", f"{int(hour_text)}:{minute}", start, end)
    elif "noon" in groups:
        yield Moment("time", "0:00" if groups["noon"] == "midnight" else "12:00", start, end)
    elif "century" in groups:
        word = groups["century"]
        number = _CENTURY_WORDS.index(word) + 1 if word in _CENTURY_WORDS else int(re.sub(r"\D", "", word))
        yield Moment("century", str(number), start, end)
    elif "era" in groups:
        yield Moment("year", groups["era_year"] + ("bc" if groups["era"].startswith("b") else ""), start, end)
    elif "season" in groups:
        yield Moment("season", groups["season"].split()[-1], start, end)
    else:
        yield Moment(kind, re.sub(r"ly$", "", groups[kind]) if kind == "pace" else groups[kind], start, end)


def _is_month(text: str, match: re.Match[str]) -> bool:
    """False for the words "may", "march" and "mar" as verbs and the like."""
    month = match["month"]
    if match["day"] or match["day2"] or match["year"]:
        return True
    before = text[max(0, match.start() - 14) : match.start()].lower()
    follows = bool(
        re.search(
            r"\b(?:in|of|since|until|till|from|by|to|and|during|before|after|last|next|early|late|mid|this|"
            r"through)[\s-]$",
            before,
        )
    )
    if month.lower() in _DOUBTFUL_MONTHS:
        return follows and (month[0].isupper() or month.lower() in ("may", "march"))
    return month[0].isupper() or follows


def _calendar(match: re.Match[str]) -> Iterator[Moment]:
    start, end = match.span()
    yield Moment("month", match["month"][:3].lower(), start, end)
    day = match["day"] or match["day2"]
    if day and 1 <= int(day) <= 31:
        yield Moment("day", str(int(day)), start, end)
    if match["year"]:
        yield Moment("year", match["year"], start, end)
    if day or match["year"]:
        yield Moment(
            "date", f"{match['year'] or ''}|{match['month'][:3].lower()}|{str(int(day)) if day else ''}", start, end
        )


def _years(match: re.Match[str]) -> Iterator[Moment]:
    first, second = match["first"], match["second"]
    yield Moment("year", first, match.start(), match.end())
    if second:
        yield Moment("year", second if len(second) == 4 else first[:2] + second, match.start(), match.end())


# ---- quantities

_ONES = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen
    eighteen nineteen""".split()  # noqa: SIM905
_TENS = dict(
    zip(["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], range(20, 100, 10), strict=True)
)
_SMALL = {**{word: float(n) for n, word in enumerate(_ONES)}, **{word: float(n) for word, n in _TENS.items()}}
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
_ORDINALS = """first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth
    fifteenth sixteenth seventeenth eighteenth nineteenth twentieth""".split()  # noqa: SIM905
_PARTS = {"half": 0.5, "halves": 0.5, "third": 1 / 3, "quarter": 0.25, "fifth": 0.2, "sixth": 1 / 6, "tenth": 0.1}
_NUMBER_WORD = "|".join(sorted(_SMALL, key=len, reverse=True))
_WORD_NUMBER = (
    rf"(?:{_NUMBER_WORD})"
    rf"(?:[\s-](?:(?:{_NUMBER_WORD}|hundred|thousand|million|billion)\b|and(?=\s(?:{_NUMBER_WORD})\b)))*"
)
_QUANTITY = re.compile(
    rf"(?P<score>(?<![\w.,$£€-])\d{{1,3}}\s?[-–]\s?\d{{1,3}}(?![\w-]|[.,]\d))"
    rf"|\b(?P<vague>dozens|scores|hundreds|thousands|millions|billions)\s(?:of\b|more\b)"
    rf"|\b(?P<ordinal>\d{{1,3}}(?:st|nd|rd|th)|{'|'.join(_ORDINALS)})\b(?!\s(?:of\sthe\s\w+\s(?:people|residents|"
    rf"voters)))"
    rf"|(?:(?P<currency>[$£€¥]|(?:US|A|C|HK|NZ)\$)\s?)?(?P<digits>(?<![\w.])(?:\d{{1,3}}(?:,\d{{3}})+|\d+)(?:\.\d+)?)"
    rf"(?:[\s-]?(?P<scale>hundred|thousand|million|billion|trillion|dozen|lakh|crore|mn|bn|tn|[mkb](?=[\s.,;)]|$))\b)?"
    rf"|\b(?P<words>(?:a\s)?(?:dozen|hundred|thousand|million|billion)\b|{_WORD_NUMBER}\b(?:[\s-](?:dozen|"
    rf"trillion)\b)?)"
    rf"|\b(?P<times>twice|thrice)\b|\b(?P<pair>couple|pair)\sof\b",
    re.IGNORECASE,
)
_FRACTION = re.compile(
    r"\b(?:(?P<top>an?|one|two|three|four|five|\d)[\s-])?(?P<bottom>half|third|quarter|fifth|sixth|tenth)s?\s(?:of\b|"
    r"as\b|the\b)"
    r"|\b(?P<half>half|halves)\b",
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
_UNITS = {name: unit for unit, names in _UNIT_NAMES.items() for name in names.split()}
_CURRENCIES = {"dollar": "$", "dollars": "$", "euro": "€", "euros": "€", "pound": "£", "pounds": "£", "yen": "¥"}
_PLURALS = frozenset(
    """people men women children staff aircraft sheep fish police""".split()  # noqa: SIM905
)
_NO_PLURALS = frozenset(
    """is was has as its his this us times does yes""".split()  # noqa: SIM905
)
_UNIT_AFTER = re.compile(r"[\s-]?(°?[a-zA-Z][a-zA-Z/]*|°)")
_ABOUT = re.compile(
    r"(?:about|around|roughly|approximately|approx\.?|nearly|almost|over|more than|at least|under|less than|up to|some|"
    r"circa|an estimated|close to|fewer than|just)\s(?:a\s)?[$£€]?$",
    re.IGNORECASE,
)


def _quantities(text: str) -> Iterator[Quantity]:
    taken: list[Stretch] = []
    for match in _FRACTION.finditer(text):
        share = _fraction(match)
        taken.append(match.span())
        yield Quantity("percent", share, "", _is_about(text, match.start()), *match.span())
    rest = _masked(text, taken)
    for match in _QUANTITY.finditer(rest):
        quantity = _quantity(rest, match)
        if quantity is not None:
            yield quantity


def _mixed(text: str) -> Iterator[Quantity]:
    """Measures with a fraction in words: "an hour and a half", "two and a half years", "half a mile"."""
    for match in _MIXED.finditer(text):
        whole = (match["whole"] or match["whole2"] or "").lower()
        count = 0.0 if not whole else 1.0 if whole in ("a", "an") else _SMALL.get(whole) or float(whole)
        share = {"half": 0.5, "quarter": 0.25}[(match["part"] or "half").lower()]
        unit = (match["unit"] or match["unit2"] or match["unit3"]).lower()
        if unit in _UNITS and len(unit) > 2:
            about = _is_about(text, match.start())
            yield Quantity("measure", count + share, _UNITS[unit], about, *match.span())


def _fraction(match: re.Match[str]) -> float:
    if match["half"]:
        return 0.5
    top = (match["top"] or "one").lower()
    count = float(top) if top.isdigit() else _SMALL.get(top, 1.0)
    return count * _PARTS[match["bottom"].lower()]


def _is_about(text: str, start: int) -> bool:
    return bool(_ABOUT.search(text[max(0, start - 20) : start]))


def _quantity(text: str, match: re.Match[str]) -> Quantity | None:
    about = _is_about(text, match.start())
    start, end = match.span()
    if match["score"]:
        first, second = (float(part) for part in re.split(r"\s?[-–]\s?", match["score"]))
        return Quantity("score", first * 1000 + second, "", about, start, end)
    if match["vague"]:
        return Quantity("vague", float(len(match["vague"])), match["vague"].lower(), about, start, end)
    if match["ordinal"]:
        return _ordinal(text, match)
    if match["times"] or match["pair"]:
        value = 3.0 if (match["times"] or "").lower() == "thrice" else 2.0
        return Quantity("count", value, "", about, start, end)
    if match["words"]:
        value = _word_value(match["words"].lower())
        if value == 1.0 and not _counts(text, match):
            return None
        return _with_unit(text, value, None, about, start, end)
    value, scale = float(match["digits"].replace(",", "")), (match["scale"] or "").lower()
    if scale == "m" and not match["currency"] and _is_metres(text, match):
        return Quantity("measure", value, "metre", about, start, end)
    return _with_unit(text, value * _SCALE.get(scale, 1.0), match["currency"], about, start, end)


_MEASURED = re.compile(
    r"\s(?:long|high|tall|wide|deep|thick|away|from|above|below|race|sprint|dash|pool|run|freestyle)\b"
)


def _is_metres(text: str, match: re.Match[str]) -> bool:
    """True for "1,500 m" and "100m sprint"; "3m people" are millions."""
    return text[match.end() - 2].isspace() or _MEASURED.match(text, match.end()) is not None


def _ordinal(text: str, match: re.Match[str]) -> Quantity | None:
    word = match["ordinal"].lower()
    value = float(_ORDINALS.index(word) + 1) if word in _ORDINALS else float(re.sub(r"\D", "", word))
    return Quantity("ordinal", value, "", False, *match.span())


_AFTER_PRONOUN = frozenset("of should can must is was another and or day that".split())  # noqa: SIM905


def _counts(text: str, match: re.Match[str]) -> bool:
    """False for "one" as a pronoun: "one of the", "this one", "one should"."""
    after = re.match(r"\s([a-z]+)", text[match.end() : match.end() + 20])
    before = re.search(r"(\w+)\s$", text[max(0, match.start() - 12) : match.start()])
    if before and before[1].lower() in ("no", "this", "that", "any", "every", "which", "the", "each", "another", "new"):
        return False
    return after is not None and after[1] not in _AFTER_PRONOUN


def _word_value(words: str) -> float:
    """Value of a number in words: "three hundred and twelve thousand"."""
    total, group = 0.0, 0.0
    for word in re.split(r"[\s-]+", words):
        if word in _SMALL:
            group += _SMALL[word]
        elif word in ("hundred", "dozen"):
            group = (group or 1.0) * _SCALE[word]
        elif word in _SCALE:
            total, group = total + (group or 1.0) * _SCALE[word], 0.0
    return total + group


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
    if word in _UNITS and (len(word) > 1 or word in "°gmlsw"):
        return Quantity("measure", value, _UNITS[word], about, start, after.end() if after else end)
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
_TITLES = frozenset(
    """mr mrs ms miss dr prof professor sir dame lord lady president prime minister chancellor king queen prince
    princess captain capt colonel col general gen major sergeant sgt lieutenant lt senator sen governor gov mayor
    judge justice ceo chairman director coach manager saint st rev reverend pope bishop cardinal""".split()  # noqa: SIM905
)


def _names(text: str, taken: list[Stretch]) -> Iterator[Name]:
    masked = _masked(text, taken)
    run: list[re.Match[str]] = []
    for token in _TOKEN.finditer(masked):
        gap = masked[run[-1].end() : token.start()] if run else ""
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


def is_title(word: str) -> bool:
    """True for words such as "president" that stand before a person's name."""
    return word in _TITLES


def is_function_word(word: str) -> bool:
    """True for words that carry no content of their own."""
    return word in _FUNCTION_WORDS
