"""Word evidence: which content words, numbers, dates, names and word pairs of a claim the evidence lacks.

Every feature is a share in [0, 1] (0 = all there, or the claim has none of the kind), so that neither the length of the
answer nor that of the evidence is one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import NamedTuple

FEATURES = (
    *("missing_words", "missing_near", "missing_bigrams", "missing_numbers", "missing_dates", "missing_names"),
    *("dispersion", "negation"),
)
"""Names of the features in the order of `evidence_features`."""

ROUNDING = 0.05
"""A number said to be about right ("around 500") may be off by this share."""

_NEGATIONS = frozenset(
    """not no never none nobody nothing neither nor cannot without n't isn't aren't wasn't weren't don't doesn't didn't
    won't wouldn't can't couldn't shouldn't hasn't haven't hadn't""".split()  # noqa: SIM905
)
_STOP_WORDS = frozenset(
    """a an the this that these those it its he she they him his her them their we you i me my our your who whom which
    what when where why how is are was were be been being am do does did has have had having will would can could shall
    should may might must not no nor and or but if then than so as of at by for from in into on onto out over to up with
    about after before between during through under again there here all any both each more most other some such only
    own same too very just also s t yes yeah yep nope nah""".split()  # noqa: SIM905 - words read better than a list of strings
)
_SMALL_NUMBERS = {
    word: value
    for value, word in enumerate(
        """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
        seventeen eighteen nineteen twenty""".split()  # noqa: SIM905
    )
} | {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90, "hundred": 100}
_ORDINALS = {"second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9}
_SCALES = {"thousand": 1e3, "k": 1e3, "million": 1e6, "m": 1e6, "mn": 1e6, "billion": 1e9, "bn": 1e9, "trillion": 1e12}
_UNITS = {
    spelling: unit
    for unit, spellings in {
        "%": "% percent pct",
        "$": "$ dollar dollars usd",
        "€": "€ euro euros eur",
        "£": "£ pound pounds gbp",
        "km": "km kilometre kilometres kilometer kilometers kms",
        "m": "metre metres meter meters",
        "cm": "cm centimetre centimetres centimeter centimeters",
        "mile": "mile miles mi",
        "foot": "foot feet ft",
        "kg": "kg kilogram kilograms kilo kilos",
        "gram": "g gram grams",
        "mg": "mg milligram milligrams",
        "hour": "hour hours hr hrs h",
        "minute": "minute minutes min mins",
        "second": "second seconds sec secs",
        "day": "day days",
        "week": "week weeks",
        "month": "month months",
        "year": "year years yr yrs",
    }.items()
    for spelling in spellings.split()
}
_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            *("jan january", "feb february", "mar march", "apr april", "may", "jun june", "jul july"),
            *("aug august", "sep sept september", "oct october", "nov november", "dec december"),
        ),
        start=1,
    )
    for name in names.split()
}
_MONTH = r"(" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")\b\.?"
_DAY, _YEAR = r"(\d{1,2})(?:st|nd|rd|th)?", r"(\d{4})"
_DATE_SHAPES = (
    (re.compile(rf"\b{_DAY} (?:of )?{_MONTH}(?:,? {_YEAR})?\b", re.IGNORECASE), (2, 1, 0)),
    (re.compile(rf"\b{_MONTH} {_DAY}\b(?!\d)(?:,? {_YEAR}\b)?", re.IGNORECASE), (2, 0, 1)),
    (re.compile(rf"\b{_MONTH},? {_YEAR}\b", re.IGNORECASE), (1, 0, None)),
    (re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b"), (0, 1, 2)),
)
_NUMBER = re.compile(r"([$€£])?\s?(?<![\w.])(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(st|nd|rd|th|%)?")
_AFTER_NUMBER = re.compile(r"[\s-]{0,2}(%|[a-z]+)", re.IGNORECASE)
_AFTER_ADJECTIVE = re.compile(r"[\s-]([a-z]+)", re.IGNORECASE)
_NUMBER_WORD = re.compile(
    r"\b(" + "|".join([*_SMALL_NUMBERS, *_ORDINALS]) + r")\b(?:-(one|two|three|four|five|six|seven|eight|nine)\b)?"
)
_HEDGE = re.compile(
    r"\b(?:about|around|approximately|nearly|almost|roughly|some|over|more than|at least|up to|under|less than|"
    r"circa|ca)\.?\s*$"
)
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_COUNTED = frozenset(
    {*_SMALL_NUMBERS, *_ORDINALS, *_SCALES, *_UNITS, *_MONTHS} - {"second", "may", "mar", "min", "one"}
)
_RUNNING = re.compile(r"\w+(?:'\w+)?")
_SENTENCE_BOUNDARY = re.compile(r"(?<=[.!?])\s+|\n+")
_NAME = re.compile(r"[^\W\d_](?:[^\W\d_]|['’.&-](?=[^\W\d_]))*")


class Date(NamedTuple):
    """A calendar date; what was not said is None."""

    year: int | None
    month: int
    day: int | None

    def agrees(self, other: Date) -> bool:
        """True if nothing said in both differs."""
        return all(a is None or b is None or a == b for a, b in zip(self, other, strict=True))


class Number(NamedTuple):
    """A quantity: its value, its unit in one spelling (empty if none), and how it was said."""

    value: float
    unit: str = ""
    is_rough: bool = False
    is_grouped: bool = False
    """Written as "1,700", as no year is."""

    def agrees(self, other: Number) -> bool:
        """True if the values match, and the units where both have one."""
        if self.unit and other.unit and self.unit != other.unit:
            return False
        slack = ROUNDING * abs(other.value) if self.is_rough else 1e-9
        return abs(self.value - other.value) <= slack


class LexicalFeatures(NamedTuple):
    """What a text says, word by word."""

    content: tuple[str, ...]
    """Stems of its content words in order; numbers, units and months stand in the other fields."""
    numbers: tuple[Number, ...]
    dates: tuple[Date, ...]
    names: tuple[str, ...]
    """Lower-cased words written with a capital inside a sentence."""
    running: tuple[str, ...] = ()
    """All its words and numbers in order, lower-cased."""
    abbreviations: frozenset[str] = frozenset()
    """Those of its names that stand in capitals, "US" and "U.S"; "Al" is none."""

    @property
    def bigrams(self) -> list[tuple[str, str]]:
        """Neighbouring content words."""
        return list(pairwise(self.content))


_SPLIT_THOUSANDS = re.compile(r"(?<![\d.,])(\d{1,3}), (\d{3})(?![\d,])(?!, \d)")
_SPLIT_DECIMALS = re.compile(
    r"(?<![\d.,])(\d{1,3})\. (\d{1,2})(?= (?:thousand|million|billion|trillion|percent|per cent|%|miles?|km|feet|"
    r"kilomet(?:er|re)s?|met(?:er|re)s?|points?|inch(?:es)?|seconds?|minutes?|degrees?)\b)"
)


def _whole_numbers(text: str) -> str:
    """The text with numbers together that a tokeniser took apart: "1, 056 matches", "1. 3 billion"."""
    return _SPLIT_DECIMALS.sub(r"\1.\2", _SPLIT_THOUSANDS.sub(r"\1,\2", text))


def lexical_features(text: str, *, starts_sentence: bool = True) -> LexicalFeatures:
    """The words of one claim."""
    text = _whole_numbers(text)
    dates, rest = _dates(text)
    running = tuple(_RUNNING.findall(text.lower().replace("’", "'")))
    return LexicalFeatures(
        content=tuple(content_of(text)),
        numbers=tuple(_numbers(rest)),
        dates=tuple(dates),
        names=tuple(_names(text, starts_sentence)),
        running=running,
        abbreviations=frozenset(word.lower() for word in _NAME.findall(text) if len(word) > 1 and word.isupper()),
    )


def content_of(text: str) -> list[str]:
    """Stems of the content words of a text in order, as in `LexicalFeatures.content`."""
    return [stem for word in _WORD.findall(text.lower()) if word not in _COUNTED and (stem := stem_of(word))]


class WordIndex:
    """The words of some evidence, built once in linear time and asked for each claim.

    What only some claims ask for, as numbers and dates, is worked out when one does: it is most of the work.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self.content: set[str] = set()
        self.bigrams: set[tuple[str, str]] = set()
        self._sentences: list[tuple[frozenset[str], bool]] | None = None
        self._texts: list[str] = []
        for text in texts:
            self._add(text)

    def _add(self, text: str) -> None:
        content = content_of(text)
        self._texts.append(text)
        self.content.update(content)
        self.bigrams.update(pairwise(content))

    @cached_property
    def _plain(self) -> frozenset[str]:
        """Every word as it is written, in lower case."""
        return frozenset(word.lower() for text in self._texts for word in _NAME.findall(text))

    @cached_property
    def _initials(self) -> frozenset[str]:
        """Initials of names of several words, "us" for "United States", in lower case."""
        runs = (match[0] for text in self._texts for match in _NAME_RUN.finditer(text))
        return frozenset("".join(word[0] for word in run.split() if word[0].isupper()).lower() for run in runs)

    @cached_property
    def _dates(self) -> dict[int, list[Date]]:
        """Dates by their month."""
        found: dict[int, list[Date]] = {}
        for date in {date for text in self._texts for date in _dates(_whole_numbers(text))[0]}:
            found.setdefault(date.month, []).append(date)
        return found

    @cached_property
    def _numbers(self) -> dict[float, set[str]]:
        """Units by the value they stand behind."""
        found: dict[float, set[str]] = {}
        for text in self._texts:
            whole = _whole_numbers(text)
            # "5, 100 and 200" may be three numbers after all; as evidence it is read both ways.
            for reading in dict.fromkeys((whole, text)):
                dates, rest = _dates(reading)
                of_dates = (Number(float(part)) for date in dates for part in (date.year, date.day) if part)
                for number in (*_numbers(rest), *of_dates):
                    found.setdefault(number.value, set()).add(number.unit)
        return found

    @cached_property
    def _values(self) -> list[float]:
        return sorted(self._numbers)

    @property
    def sentences(self) -> list[tuple[frozenset[str], bool]]:
        """Stems of each sentence, and whether it denies something; worked out when first asked for."""
        if self._sentences is None:
            parts = (part for text in self._texts for part in _SENTENCE_BOUNDARY.split(text) if part.strip())
            self._sentences = [(frozenset(_stems(part)), _denies(part)) for part in parts]
        return self._sentences

    def has_run(self, words: tuple[str, str] | str) -> bool:
        """True if the evidence has the word, or the two words next to each other."""
        return words in self.content if isinstance(words, str) else words in self.bigrams

    def has_sentence(self, sentence: str) -> bool:
        """True if the evidence has this whole sentence, word by word; never for fewer than four words."""
        said = _plain_words(sentence)
        if said.count(" ") < 3:
            return False
        longest = max(said.split(), key=len)
        likely = (text for text in self._texts if longest in text.lower())
        parts = (part for text in likely for part in _SENTENCE_END.split(text) if longest in part.lower())
        return any(_plain_words(part) == said for part in parts)

    def has_number(self, number: Number) -> bool:
        """True if some number of the evidence agrees with it."""
        if not number.is_rough:
            units = self._numbers.get(number.value, set())
            return any(not unit or not number.unit or unit == number.unit for unit in units)
        return any(number.agrees(Number(v, u)) for v in self._near(number.value) for u in self._numbers[v])

    def _near(self, value: float) -> list[float]:
        from bisect import bisect_left, bisect_right

        slack = ROUNDING * abs(value) * 1.2
        return self._values[bisect_left(self._values, value - slack) : bisect_right(self._values, value + slack)]

    def has_date(self, date: Date) -> bool:
        """True if some date of the evidence agrees with it, or the evidence has its parts apart."""
        return any(date.agrees(other) for other in self._dates.get(date.month, ()))

    def has_name(self, name: str) -> bool:
        """True if the evidence has the word in any case, or a word of the same stem."""
        return stem_of(name) in self.content or name in self._plain

    def spells_out(self, abbreviation: str) -> bool:
        """True if the evidence has words in capitals with these initials: "United States" for "us"."""
        return abbreviation.replace(".", "") in self._initials


_NAME_RUN = re.compile(r"\b[A-Z]\w+(?: (?:of |the |and |de )?[A-Z]\w+){1,4}")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_TOKEN = re.compile(r"\w+")


def _plain_words(text: str) -> str:
    return " ".join(_TOKEN.findall(text.lower()))


def evidence_features(claim: LexicalFeatures, evidence: WordIndex, near: WordIndex) -> dict[str, float]:
    """The features of one claim, by name.

    Args:
        evidence: all that could support the claim.
        near: the window nearest to the claim; a long document holds most words somewhere.
    """
    return {
        "missing_words": _missing(claim.content, evidence.content.__contains__),
        "missing_near": _missing(claim.content, near.content.__contains__),
        # One word has no pairs. It counts for itself, or a short answer would be right for being short.
        "missing_bigrams": _missing(claim.bigrams or claim.content, evidence.has_run),
        "missing_numbers": _missing(claim.numbers, near.has_number),
        "missing_dates": _missing(claim.dates, evidence.has_date),
        "missing_names": _missing(claim.names, lambda name: _knows(evidence, name, claim)),
        **_nearest_sentence(claim, near),
    }


def _knows(evidence: WordIndex, name: str, claim: LexicalFeatures) -> bool:
    return evidence.has_name(name) or (name in claim.abbreviations and evidence.spells_out(name))


def _nearest_sentence(claim: LexicalFeatures, near: WordIndex) -> dict[str, float]:
    """`dispersion`: words that the window has, but not its best sentence; `negation`: only one of the two denies."""
    there = {word for word in claim.content if word in near.content}
    best, denies = 0, False
    for stems, is_denial in near.sentences:
        shared = len(there & stems)
        if shared > best:
            best, denies = shared, is_denial
    differs = best > 0 and denies != any(word in _NEGATIONS for word in claim.running)
    return {"dispersion": 1.0 - best / len(there) if there else 0.0, "negation": float(differs)}


def _stems(text: str) -> Iterable[str]:
    return filter(None, (stem_of(word) for word in _WORD.findall(text.lower())))


def _denies(text: str) -> bool:
    return any(word in _NEGATIONS for word in _RUNNING.findall(text.lower().replace("’", "'")))


def lexical_overlap(claim: LexicalFeatures, near: WordIndex) -> float:
    """How far a text speaks of the same thing as a claim: share of the claim's words that it has, in [0, 1].

    Numbers are left out (a contradiction often lies in them), names count twice.
    """
    stems = dict.fromkeys(claim.content)
    weights = dict.fromkeys(stems, 1.0) | {stem_of(name) or name: 2.0 for name in claim.names}
    shared = sum(weight for word, weight in weights.items() if word in near.content)
    return shared / sum(weights.values()) if weights else 0.0


def _missing(items: Sequence[object], is_there: object) -> float:
    different = list(dict.fromkeys(items))
    if not different:
        return 0.0
    return sum(not is_there(item) for item in different) / len(different)  # type: ignore[operator]


@lru_cache(maxsize=50_000)
def stem_of(word: str) -> str:
    """The lower-cased word without the commonest English endings; empty for stop words."""
    word = re.sub(r"['’]\w{1,2}$", "", word)
    if word in _STOP_WORDS or not word:
        return ""
    for ending, least, put in (
        ("ies", 5, "y"),
        ("ing", 6, ""),
        ("ed", 5, ""),
        ("es", 5, ""),
        ("s", 4, ""),
        ("ly", 6, ""),
    ):
        if word.endswith(ending) and len(word) >= least and not word.endswith("ss"):
            word = word[: -len(ending)] + put
            break
    return word[:-1] if len(word) > 4 and word.endswith("e") else word


def _dates(text: str) -> tuple[list[Date], str]:
    """The dates of a text, and the text with them blanked."""
    found: list[Date] = []
    for shape, (year, month, day) in _DATE_SHAPES:
        for match in shape.finditer(text):
            parts = match.groups()
            of_day = parts[day] if day is not None else None
            found.append(Date(_whole(parts[year]), _month(parts[month]), _whole(of_day)))
        text = shape.sub(lambda m: " " * len(m[0]), text)
    return [date for date in found if 1 <= date.month <= 12], text


def _whole(text: str | None) -> int | None:
    return int(text) if text else None


def _month(text: str) -> int:
    return int(text) if text.isdigit() else _MONTHS.get(text.lower(), 0)


def _numbers(text: str) -> Iterable[Number]:
    low = text.lower()
    for match in _NUMBER.finditer(low):
        yield _number(low, match.start(), match.end(), float(match[2].replace(",", "")), match[1] or match[3] or "")
    for match in _NUMBER_WORD.finditer(low):
        if match[1] == "one" or (match[1] == "second" and not match[2]):
            continue  # pronoun, unit of time or rank: too many meanings
        value = float(_SMALL_NUMBERS.get(match[1]) or _ORDINALS.get(match[1]) or 0) + _SMALL_NUMBERS.get(
            match[2] or "", 0
        )
        yield _number(low, match.start(), match.end(), value, "")


def _number(text: str, start: int, end: int, value: float, sign: str) -> Number:
    """The number with the scale and unit that follow it ("3.5 million dollars") and the hedge before it."""
    after = _AFTER_NUMBER.match(text, end)
    if after and after[1] in _SCALES and (after[1] != "m" or sign in ("$", "€", "£")):
        value *= _SCALES[after[1]]
        after = _AFTER_NUMBER.match(text, after.end())
    unit = _UNITS.get(sign, "") or (_unit(text, after) if after else "")
    is_rough = bool(_HEDGE.search(text[max(0, start - 16) : start]))
    return Number(value, unit, is_rough, "," in text[start:end])


def _unit(text: str, after: re.Match[str]) -> str:
    """The unit behind a number, perhaps with one word between: "5 business days"."""
    if after[1] in _UNITS or after[1] in _STOP_WORDS:
        return _UNITS.get(after[1], "")
    following = _AFTER_ADJECTIVE.match(text, after.end())
    return _UNITS.get(following[1], "") if following else ""


def _names(text: str, starts_sentence: bool) -> Iterable[str]:
    first = len(text) - len(text.lstrip(" \"'“‘(")) if starts_sentence else -1
    for match in _NAME.finditer(text):
        word = match[0]
        if not word[0].isupper() or len(word) < 2 or word.lower() in _STOP_WORDS or word.lower() in _MONTHS:
            continue
        if match.start() == first and not word.isupper():
            continue  # every sentence begins with a capital
        yield re.sub(r"['’]s$", "", word.lower())
