"""What a sentence states of its numbers in words: sums, percentages, totals, multiples, changes, conversions, primes.

In: the skeleton of a sentence. Out: a `Statement` for each. The ways to state them are the rows of `FORMS`: a pattern
of the skeleton, in which `_=_` stands for "is", "makes" or "=" and the result, and a function that computes what is
right.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from statistics import mean, median
from typing import NamedTuple

from evidencerails.checks.logic.skeleton import Number, Skeleton, fits, formatted
from evidencerails.checks.logic.statements import Kind, Statement
from evidencerails.text.same_values import DEGREES, Measure, measure_of
from evidencerails.text.values import Quantity

MAX_TOTAL_SHARE = Fraction(3, 2)
"""How far a stated total may be from the sum to be about the same things: "3 wins and 2 draws, 11 points in all"."""
MULTIPLE_SHARE = Fraction(1, 10)
"""How far "doubled" may be off."""
CONVERTED_SHARE, CONVERTED_DEGREES_SHARE = 0.12, 0.03
"""How far a converted measure may be off: "6 feet (2 metres)" and "400 °F (200 °C)" are usual."""
ANGLES_OF_A_TRIANGLE = 180
MAX_PRIME = 10**12


class Stated(NamedTuple):
    """One match of a form."""

    match: re.Match[str]
    numbers: Sequence[Number]
    """All numbers in it but the result."""
    result: Number
    name: str
    """What its group `name` matched."""

    @property
    def values(self) -> list[Fraction]:
        """Values of the numbers."""
        return [number.value for number in self.numbers]


# ---- what is right


def _of_list(stated: Stated) -> Sequence[Fraction]:
    """Sum, product, mean and the like of a list."""
    results: Mapping[str, Callable[[Sequence[Fraction]], Fraction]] = {
        **{"sum": sum, "total": sum, "adding": sum, "product": math.prod, "multiplying": math.prod},  # type: ignore[dict-item]
        **{"average": mean, "mean": mean, "median": median, "largest": max, "highest": max},
        **{"smallest": min, "lowest": min},
    }
    return [Fraction(results[stated.name](stated.values))] if len(stated.numbers) < 100 else []


def _of_pair(stated: Stated) -> Sequence[Fraction]:
    one, two = stated.values
    if stated.name == "dividing":
        return [one / two] if two else []
    return [abs(one - two), one - two] if stated.name == "difference" else [two - one]


_FACTORS = {"half": Fraction(1, 2), "third": Fraction(1, 3), "quarter": Fraction(1, 4), "tenth": Fraction(1, 10)}
_FACTORS |= {"twice": Fraction(2), "double": Fraction(2), "triple": Fraction(3)}


def _of_one(stated: Stated) -> Sequence[Fraction]:
    (value,) = stated.values
    if "root" in stated.name:
        return [Fraction(math.sqrt(value)).limit_denominator(10**12)] if 0 <= value < 10**15 else []
    powers = {"square of": 2, "cube of": 3}
    return [value ** powers[stated.name] if stated.name in powers else value * _FACTORS[stated.name]]


def _share(stated: Stated) -> Sequence[Fraction]:
    one, two = stated.values
    return [100 * one / two] if two else []


_AGAIN = re.compile(r"\b(?:another|again|then|further|later|additional|more|before|after)\b")
"""Words of a second change, whose percent is about something else."""


def _change(stated: Stated) -> Sequence[Fraction]:
    """Change in percent of what was before; from one year to another it would be about something else."""
    first, last = stated.values
    if _AGAIN.search(stated.match[0]) or _are_years(first, last) or not first:
        return []
    in_points = [abs(last - first)] if stated.match[0].count("%") > 2 else []  # "an increase of 5%" may mean points
    return [abs(100 * (last - first) / first), *in_points]


def _are_years(*values: Fraction) -> bool:
    return all(value.denominator == 1 and 1000 <= value < 2200 for value in values)


def _part(stated: Stated) -> Sequence[Fraction]:
    """A percentage of a number, or the number less or more that."""
    signs = re.sub(r"[^#%]", "", stated.match[0])
    one, two = stated.values
    percent, whole = (one, two) if signs[0] == "%" else (two, one)
    part, name = whole * percent / 100, stated.name
    if name in ("off", "less than", "decreased", "reduced", "lowered"):
        return [whole - part, *([whole - percent] if name == "reduced" else [])]
    return [whole + part] if name in ("more than", "increased", "raised") else [part]


def _total(stated: Stated) -> Sequence[Fraction]:
    """The sum of what a list counts, where a stated total is near enough to be about the same."""
    is_about = _ABOUT.search(stated.match[0]) is not None
    total = sum(stated.values, Fraction(0))
    is_near = total and 1 / MAX_TOTAL_SHARE <= stated.result.value / total <= MAX_TOTAL_SHARE
    is_game = re.search(r"# points?\b", stated.match[0])  # 3 wins and 1 draw are 10
    text = stated.match.string[stated.match.start() :]
    clause = re.split(r"[.;:!?]|, ", text[len(stated.match[0]) :])[0]
    others = _OTHERS_TOO.search(f"{stated.match[0]}{clause}")
    return [total] if is_near and not (is_about or is_game or others) else []


_ABOUT = re.compile(
    r"\b(?:about|around|roughly|approximately|nearly|almost|over|more than|at least|under|less than|up to|some|just) #"
)
_OTHERS_TOO = re.compile(r"\b(?:among|of the|includ\w+|plus|besides|others?|another|with\w*|except|counting)\b|⊕")


def _angles(stated: Stated) -> Sequence[Fraction]:
    """The third angle of a triangle."""
    is_about_one = re.search(r"\bangles?\b.*\btriangle\b|\btriangle\b.*\bangles?\b", stated.match.string)
    third = ANGLES_OF_A_TRIANGLE - sum(stated.values, Fraction(0))
    return [third] if is_about_one and stated.result.unit == "degree" else []


_TIMES = {"doubl": "2", "tripl": "3", "quadrupl": "4", "halv": "1/2", "twice": "2", "three ⊗": "3", "half": "1/2"}
_OTHER_CLAUSE = re.compile(
    r"\b(?:while|and|but|as|whereas|when|with|after|before|because|although|which|who|nearly|almost|roughly|"
    r"approximately|about|around|(?:more|less) than|over|at least)\b"
)


def _multiple(stated: Stated) -> Sequence[Fraction]:
    """What "doubled" from one number leads to; anything near the stated one will do."""
    (first,), groups = stated.numbers, stated.match.groupdict()
    before = stated.match.string[max(0, stated.match.start() - 16) : stated.match.start()]
    is_other = _OTHER_CLAUSE.search(groups.get("gap") or "") or _OTHER_CLAUSE.search(before)
    if is_other or _ABOUT.search(stated.match[0]) or _are_years(first.value, stated.result.value) or not first.value:
        return []
    factor = Fraction(_TIMES[stated.name])
    right = [factor * value for value in _readings(first, stated.result)]
    return [stated.result.value if abs(stated.result.value / one - 1) <= MULTIPLE_SHARE else one for one in right]


def _readings(first: Number, last: Number) -> list[Fraction]:
    """Values that the first may have: "from 10 to 20 million" leaves its magnitude to the second."""
    return [first.value, *([first.value * last.scale] if first.scale == 1 < last.scale else [])]


def _difference(stated: Stated) -> Sequence[Fraction]:
    """How far it is from one number to the other."""
    first, last = stated.numbers
    if _ABOUT.search(stated.match[0]) or len({n.unit for n in (first, last)}) > 1 or _are_years(*stated.values):
        return []
    if stated.result.unit not in (last.unit, "", "degree"):
        return []
    return [abs(last.value - value) for value in _readings(first, last)]


# ---- the ways to state it

_RESULT = (
    r",? ?(?P<equal>[=∼≡]≈?|≈) ?(?P<result>#)"
    r"(?!\w| ?[%#+*/^√?(⊕⊖⊗⊘]| ?- ?#| (?:more|less|fewer|remainder|points?|out of|of)\b)"
)
_LIST = r"#(?: [a-z]+)?(?:(?:, (?:and )?| and )#(?: [a-z]+)?)+"
_NOUN = r"(?: (?!and\b)[a-z-]{2,20}){1,2}"
_COUNTS = rf"#{_NOUN}(?:, #{_NOUN})*,? and #{_NOUN}"
_MOVED = (
    r"\b(?:rose|rises|risen|increased|increases|grew|grows|grown|climbed|jumped|surged|soared|expanded|advanced|fell|falls|"
    r"fallen|dropped|drops|decreased|decreases|declined|declines|shrank|sank|plunged|changed|moved|improved|reduced|"
    r"(?:went|gone)(?: up| down)?|∼ (?:reduced|raised|cut))\b"
)
_NAMED_CHANGE = (
    r"(?:increase|decrease|rise|drop|growth|decline|reduction|gain|jump|fall|change|difference|improvement|cut|higher|lower|"
    r"more|less)"
)
_GAP = r"[^.;!?#%]{0,60}?"
_VERB = r"\b(?P<name>doubl|tripl|quadrupl|halv)(?:ed|ing)\b"
_ENDS = r"(?=[,.;:!?)\n]|$| (?!of\b|from\b|to\b|per\b|an?\b|each\b|every\b|on\b|over\b|since\b|compared\b|points?\b))"


class Form(NamedTuple):
    """One way to state something."""

    pattern: re.Pattern[str]
    compute: Callable[[Stated], Sequence[Fraction]]
    kind: Kind


def _form(compute: Callable[[Stated], Sequence[Fraction]], *patterns: str, kind: Kind = "arithmetic") -> list[Form]:
    return [Form(re.compile(one.replace("_=_", _RESULT)), compute, kind) for one in patterns]


FORMS = [
    *_form(
        _of_list,
        r"\b(?P<name>sum|total|product|average|mean|median|largest|highest|smallest|lowest)(?: number)? (?:of|among) "
        rf"(?:the numbers )?{_LIST}_=_",
        rf"\b(?P<name>adding|multiplying)(?: up)? (?:{_LIST}|# (?:by|to) #)_=_",
    ),
    *_form(
        _of_pair,
        r"\b(?P<name>difference) between #(?: [a-z]+)? and #(?: [a-z]+)?_=_",
        r"\b(?P<name>dividing|subtracting|taking) # (?:away )?(?:by|from) #_=_",
    ),
    *_form(_of_one, rf"\b(?P<name>{'|'.join(_FACTORS)}|square of|cube of|square root of)(?: of)? #(?: [a-z]+)?_=_"),
    *_form(
        _part,
        r"% of #_=_",
        r"% of #, or (?P<result>#)(?! ?%)",
        r"# (?P<name>increased|raised|decreased|reduced|lowered) (?:by )?%_=_",
        r"% (?P<name>off|more than|less than|(?:discount|tip|tax|commission|fee|deposit) on) (?:of )?(?:an? |the )?"
        r"#(?: [a-z]+)?_=_",
        kind="percentage",
    ),
    *_form(
        _share,
        r"#,? ?[=∼] ?(?P<result>%) of #(?! ?[%+*/?])",
        r"# (?:out )?of (?:the |its |all )?#(?: [a-z]+){0,3} ?(?:\(|,? (?:or|i\.e\.,?|∼|=|≡) )"
        r"(?P<equal>(?:about|roughly|approximately|≈|~) ?)?(?P<result>%)(?! ?points?)",
        kind="percentage",
    ),
    *_form(
        _change,
        rf"{_MOVED} (?:[a-z]+ )?from [#%]{_GAP} to [#%](?:{_GAP}Y)?{_GAP}(?:,|\(|-|∼|representing|marking|or|\ban?|"
        rf"by){_GAP}(?P<result>%)(?! (?:of|from|to)\b)",
        rf"\bfrom [#%] to [#%] ?(?:,|\(|-|∼|≡|represents|means|marks)≈? ?(?:(?:an?|about|roughly|the|growth|increase|"
        rf"decrease|rise|drop|of|by) )*(?P<result>%) ?{_NAMED_CHANGE}",
        rf"(?:{_MOVED} (?:by )?)?(?P<result>%),? (?:{_NAMED_CHANGE} )?from [#%] to [#%]",
        kind="percentage",
    ),
    *_form(
        _total,
        rf"{_COUNTS},?[^.;!?#%]{{0,45}}?\b(?:a total of|totall?ing|making(?: up)?|altogether|in (?:all|total),?) "
        r"(?P<result>#)",
        rf"{_COUNTS},? ?≡ ?(?P<result>#)",
        rf"{_COUNTS}[^.;!?#%]{{0,45}}?(?P<result>#)(?: [a-z]{{2,20}}){{0,3}} (?:in (?:all|total)|altogether)\b",
        r"\b(?:a total of|in (?:all|total),?|altogether,?) (?P<result>#)(?: [a-z]{2,20}){0,4} ?[:(-] ?"
        rf"{_COUNTS}(?= ?[.)]|$)",
    ),
    *_form(_angles, r"#, #,? and (?P<result>#)"),
    *_form(
        _multiple,
        rf"{_VERB}(?P<gap>[^.;!?#%]{{0,40}}?),? ?\bfrom #{_GAP} to (?P<result>#)",
        rf"{_VERB}(?P<gap>[^.;!?#%]{{0,12}}?) to (?P<result>#) from #",
        rf"\bfrom #{_GAP} to (?P<result>#)(?: [a-z]+){{0,2}}(?: Y)?,? (?:(?:so|which means) (?:that )?(?:it|they) "
        rf"|having )?(?:has |have )?{_VERB}",
        r"# [^.;!?#%]{0,40}?\band (?:[a-z]+ )?(?P<name>doubl|tripl|quadrupl|halv)ed to (?P<result>#)",
        rf"\bfrom #{_GAP} to (?P<result>#)[^.;!?#%]{{0,12}}?\b(?P<name>twice|half|three ⊗) as (?:much|many|high)\b",
    ),
    *_form(
        _difference,
        rf"\bfrom #{_GAP} to #[^.;:!?#%]{{0,12}}\ban? (?:[a-z]+ )?{_NAMED_CHANGE} of (?P<result>#){_ENDS}",
        rf"{_MOVED} by (?P<result>#)(?: [a-z]+)?,? from #{_GAP} to #",
    ),
]


def sums_in_words(skeleton: Skeleton) -> Iterator[Statement]:
    """Every statement about numbers of a sentence, its places those of the skeleton."""
    if not re.search(r"[#%].*[#%]", skeleton.text) and "prime" not in skeleton.text:
        return
    for form in FORMS:
        for match in form.pattern.finditer(skeleton.text):
            if judged := _judged(skeleton, form, match):
                yield judged
    yield from _conversions(skeleton)
    yield from _properties(skeleton)
    yield from _comparisons(skeleton)


def _judged(skeleton: Skeleton, form: Form, match: re.Match[str]) -> Statement | None:
    groups, at = match.groupdict(), match.start("result")
    (result,) = skeleton.numbers(at, at + 1)
    numbers = [*skeleton.numbers(match.start(), at), *skeleton.numbers(at + 1, match.end())]
    right = form.compute(Stated(match, numbers, result, groups.get("name") or ""))
    if not right:
        return None
    rounded = sum((number.step / 2 for number in numbers if number.rounding), Fraction(0))
    is_about = "≈" in (groups.get("equal") or "") or bool(re.search("[a-z~]", groups.get("equal") or ""))
    is_right = any(fits(one, result, is_approximate=is_about) or abs(one - result.value) <= rounded for one in right)
    shown = " or ".join(dict.fromkeys(map(formatted, right)))
    return Statement(form.kind, *match.span(), is_right, f"computed: {shown}, not {formatted(result.value)}")


# ---- the same in another unit

_SAME = re.compile(
    r"# ?(?:(?!or\b)[a-z]+ ?)?(?P<open>\( ?)?(?P<or>(?:, |(?<=\()|(?<=\( ))or )?"
    r"(?:,? ?[=∼≡≈]+ ?|, i\.e\.,? |(?<=\()|(?<=\( )|(?<=or ))(?:i\.e\.,? |about |roughly |~)?#(?P<close> ?\))?"
    r"(?! (?:[a-z]+ )?(?:more|less|fewer|too|longer|higher|lower|further|percent|over|each|apiece|per|an?|from|of)\b"
    r"| ?[-+*/^⊕⊖⊗⊘])"
)


def _conversions(skeleton: Skeleton) -> Iterator[Statement]:
    """ "20 °C (68 °F)", "5 km, or 3 miles", "1 hour is 60 minutes", "two dozen eggs are 24"."""
    for match in re.finditer(rf"(?={_SAME.pattern})", skeleton.text):
        found = _SAME.match(skeleton.text, match.start())
        before = skeleton.text[: match.start()].rstrip(" ")[-1:]
        if found is None or before in (*"+-*/^⊕⊖⊗⊘√", "("):
            continue
        one, two = skeleton.numbers(*found.span())
        if one.unit == "dozen" and two.unit in ("", "dozen") and one.value < 2 * two.value < 4 * one.value:
            reason = f"computed: {formatted(one.value)}, not {formatted(two.value)}"
            yield Statement("arithmetic", *found.span(), one.value == two.value, reason)
        is_closed = not found["open"] or found["close"]
        first, second = _in_base(one), _in_base(two)
        if one.unit != two.unit and first and second and first.dimension == second.dimension and is_closed:
            is_about = "≈" in found[0] or "about" in found[0]
            is_right = _are_near(first, second, two, is_about)
            if first.is_imperial != second.is_imperial or not found["or"]:
                yield Statement("unit", *found.span(), is_right, "computed: the two differ")


def _in_base(number: Number) -> Measure | None:
    return measure_of(Quantity("measure", float(number.value), number.unit, False, 0, 0))


def _are_near(one: Measure, two: Measure, shown: Number, is_about: bool) -> bool:
    gap, largest = abs(one.value - two.value), max(abs(one.value), abs(two.value))
    if one.dimension == "temperature":
        return gap <= max(2 * DEGREES, CONVERTED_DEGREES_SHARE * largest)
    if one.is_imperial != two.is_imperial or is_about:
        return gap <= CONVERTED_SHARE * largest
    half_a_digit = float(shown.step / 2 / shown.value) * abs(two.value) if shown.value and shown.has_decimals else 0.0
    return gap <= max(1e-6 * largest, half_a_digit)


# ---- what is stated of numbers

_PROPERTY = re.compile(
    r"(?<![-+*/^⊕⊖⊗⊘%]) ?# ?(?:∼|isn't) (?:indeed |also |clearly )?(?P<neg>not )?(?:an? )?"
    r"(?:(?P<name>even|odd|prime)(?: number)?\b(?! (?:more|if|though|when|better|worse|as|than|for|so))"
    r"|(?:divisible by|(?:exact )?multiple of) #)"
)
_COMPARED = re.compile(
    r"# ?∼ (?:(?:much|slightly|clearly|actually) )?(?P<word>greater|larger|bigger|higher|more|less|smaller|lower)"
    r" than (?P<minus>-?)#(?! ?[-+*/^%?(⊕⊖⊗⊘]| [#%]| (?:percent|of)\b)"
)
_NO_PLAIN_NUMBER = re.compile(
    r"(?:\b(?:version|python|java|release|chapter|section|grade|size|node|php|ios|android|windows|v\.?|of|by|than)|"
    r"[-+*/^⊕⊖⊗⊘]) ?$"
)
"""Words before a number that make it a version, or part of a sum."""


def _properties(skeleton: Skeleton) -> Iterator[Statement]:
    """ "91 is prime", "17 is divisible by 3"."""
    for match in _PROPERTY.finditer(skeleton.text):
        number, *by = skeleton.numbers(*match.span())
        name, value = match["name"] or "", number.value
        divisor = int(by[0].value) if by else 2
        if value.denominator != 1 or value > MAX_PRIME or number.unit or divisor < 1:
            continue
        if name == "prime":
            has = value > 1 and all(int(value) % n for n in range(2, math.isqrt(int(value)) + 1))
        else:
            has = int(value) % divisor == (1 if name == "odd" else 0)
        reason = f"computed: {value} is {'' if has else 'not '}{name or f'divisible by {divisor}'}"
        is_denied = bool(match["neg"]) or "isn't" in match[0]
        yield Statement("number_property", *match.span(), has != is_denied, reason)


def _comparisons(skeleton: Skeleton) -> Iterator[Statement]:
    """ "9.11 is greater than 9.9"."""
    for match in _COMPARED.finditer(skeleton.text):
        one, two = skeleton.numbers(*match.span())
        is_negative = skeleton.text[max(0, match.start() - 1) : match.start()] == "-"
        if is_negative or match["minus"] or one.unit or two.unit:
            continue
        if not _NO_PLAIN_NUMBER.search(skeleton.text[max(0, match.start() - 20) : match.start()]):
            word = match["word"]
            is_right = one.value < two.value if word in ("less", "smaller", "lower") else one.value > two.value
            reason = f"computed: {formatted(one.value)} is not {word} than {formatted(two.value)}"
            yield Statement("number_property", *match.span(), is_right, reason)
