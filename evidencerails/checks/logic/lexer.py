"""A text as tokens of arithmetic: numbers, signs, words that mean a sign, and everything that ends an expression."""

from __future__ import annotations

import re
from collections.abc import Iterator

from evidencerails.checks.logic.numbers import (
    CURRENCIES,
    DIGITS,
    LONG_UNITS,
    NUMBER_WORDS,
    SCALE_SIGNS,
    SCALES,
    UNITS,
    read_words,
)
from evidencerails.checks.logic.token_units import with_units
from evidencerails.checks.logic.tokens import Token

_SIGN_WORDS = {
    "plus": "+",
    "minus": "-",
    "times": "*",
    "multiplied by": "*",
    "divided by": "/",
    "to the power of": "^",
    "raised to the power of": "^",
    "raised to": "^",
}

_POWER_WORDS = {"squared": "2", "cubed": "3"}

_EQUAL_WORDS = (
    "is equal to|are equal to|is exactly|is therefore|is also|comes out to|comes to|adds up to|add up to|amounts to|"
    "results in|works out to|would be|will be|should be|must be|equals|equal|makes|make|gives|give|"
    "yields|totals|which is|is|are|was|were"
)

_APPROXIMATELY = r"(?:about|approximately|approx\.?|roughly|around|nearly|almost|close to|some|~|≈|circa)"

_EXACTLY = r"(?:exactly|only|just|simply|precisely|a total of|then|thus|therefore)"

_SUPERSCRIPTS = {"²": "2", "³": "3"}

_TOKEN = re.compile(
    rf"""
      (?P<frac>\\[dt]?frac\s*\{{(?P<top>[^{{}}]*)\}}\s*\{{(?P<bottom>[^{{}}]*)\}})
    | (?P<skip>\\(?:left|right|quad|qquad|text|mathrm|mathbf|boxed|displaystyle|,|;|!|\(|\)|\[|\]|\s)
        |&|\*\*(?=\s|\W|$)(?![\d(]))
    | (?P<texpercent>\\%)
    | (?P<textimes>\\times|\\cdot|\\ast)
    | (?P<texdiv>\\div)
    | (?P<texapprox>\\approx|\\simeq|\\sim)
    | (?P<texrel>\\leq?|\\geq?|\\neq?|\\lt|\\gt)
    | (?P<texroot>\\sqrt)
    | (?P<power_words>\b(?:squared|cubed)\b)
    | (?P<sign_words>\b(?:plus|minus|times|multiplied\s+by|divided\s+by|(?:raised\s+)?to\s+the\s+power\s+of)\b)
    | (?P<equal_words>\b(?:{_EQUAL_WORDS})\b)
    | (?P<number_words>\b{NUMBER_WORDS}\b)
    | (?P<currency>[{re.escape(CURRENCIES)}]|\\\$|\b(?:USD|EUR|GBP)\b)
    | (?P<coded>(?<![\w.])0[xbo][0-9a-f]+\b)
    | (?P<times_x>(?<![^\W\d])x(?=\s*[\d(√{re.escape(CURRENCIES)}]))
    | (?P<digits>(?:(?<![\w.])|(?<=\dx))(?:{DIGITS}))
    | (?P<relation><=|>=|!=|≤|≥|≠|<|>)
    | (?P<equal>==?|≈|≃|≅)
    | (?P<double>\*\*)
    | (?P<sign>[+*/×⋅·∙÷−–—^-])
    | (?P<superscript>[²³])
    | (?P<percent>%|\bper\s?cent\b)
    | (?P<open>[({{])
    | (?P<close>[)}}])
    | (?P<root>√|\bsqrt\b)
    | (?P<word>[^\W\d_][\w'’]*)
    | (?P<line>\n)
    | (?P<blank>[^\S\n]+)
    | (?P<other>.)
    """,
    re.VERBOSE | re.IGNORECASE,
)

_UNIT_BEHIND = re.compile(r"(?:°\s?[CF]|µ?[A-Za-z]{1,12}(?:/[A-Za-z]{1,5})?[²³]?)(?![\w])")

_SPELLED_UNIT = re.compile(rf"[ \u00a0]({'|'.join(sorted(LONG_UNITS, key=len, reverse=True))})\b(?!/)")

_NEXT_OPERAND = re.compile(rf"\s*[\d(√\\.{re.escape(CURRENCIES)}-]|\s*[A-Za-z]")

_TIMES_X = re.compile(r"\s*[xX]\s*(?=[\d($€£])")

_AFTER_EQUAL = re.compile(rf"(?:\s*(?:(?P<about>{_APPROXIMATELY})|{_EXACTLY}))*", re.IGNORECASE)

_OPERATORS = {"×": "*", "⋅": "*", "·": "*", "∙": "*", "÷": "/", "−": "-", "–": "-", "—": "-"}


def tokens_of(text: str, start: int, end: int) -> list[Token]:
    """The tokens of a range of a masked text, in order; blanks, emphasis and currency signs are left out."""
    return with_units(list(_raw_tokens(text, start, end)))


def _raw_tokens(text: str, start: int, stop: int) -> Iterator[Token]:
    place = start
    while place < stop:
        match = _TOKEN.match(text, place, stop)
        if match is None:
            place += 1
            continue
        kind = str(match.lastgroup)
        if match["frac"] is not None:
            yield from _fraction(text, match)
            place = match.end()
            continue
        for token in _token(text, match, kind):
            yield token
            place = token.end
        place = max(place, match.end())


def _fraction(text: str, match: re.Match[str]) -> Iterator[Token]:
    """A LaTeX fraction as ((top)/(bottom))."""
    start, end = match.span()
    yield Token("open", "(", start, start)
    yield Token("open", "(", start, start)
    yield from _raw_tokens(text, *match.span("top"))
    yield Token("close", ")", match.end("top"), match.end("top"))
    yield Token("sign", "/", match.end("top"), match.end("top"))
    yield Token("open", "(", match.start("bottom"), match.start("bottom"))
    yield from _raw_tokens(text, *match.span("bottom"))
    yield Token("close", ")", end, end)
    yield Token("close", ")", end, end)


def _token(text: str, match: re.Match[str], kind: str) -> Iterator[Token]:
    start, end = match.span()
    found = match[0]
    lower = " ".join(found.lower().split())
    if kind in ("skip", "blank", "currency"):
        return
    if kind == "digits":
        yield _number(text, match)
    elif kind == "number_words":
        yield _number_in_words(text, match)
    elif kind in ("equal", "texapprox", "equal_words"):
        yield _equal(text, match, kind)
    elif kind == "sign_words":
        yield Token("sign", _SIGN_WORDS[lower], start, end, is_word=True)
    elif kind == "power_words":
        yield Token("power", _POWER_WORDS[lower], start, end, is_word=True)
    elif kind == "superscript":
        yield Token("power", _SUPERSCRIPTS[found], start, end)
    elif kind in ("relation", "texrel"):
        yield Token("relation", _relation(found), start, end)
    elif kind in ("textimes", "texdiv"):
        yield Token("sign", "*" if kind == "textimes" else "/", start, end)
    elif kind == "double":
        yield from _double_star(text, start, end)
    elif kind == "sign":
        yield from _sign(text, found, start, end)
    elif kind in ("root", "texroot"):
        yield Token("root", "sqrt", start, end)
    elif kind in ("open", "close"):
        yield Token("open" if kind == "open" else "close", "(" if kind == "open" else ")", start, end)
    elif kind in ("percent", "texpercent"):
        yield Token("unknown", "%", start, end)
    elif kind == "coded":
        yield Token("unknown", match[0], match.start(), match.end())  # 0x10 is sixteen
    elif kind in ("word", "times_x"):
        yield Token("word", lower, start, end)
    elif kind == "line":
        yield Token("break", "\n", start, end)
    elif found != "_":
        yield Token("break", found, start, end)


def _relation(found: str) -> str:
    names = {"≤": "<=", "≥": ">=", "≠": "!=", "\\le": "<=", "\\leq": "<=", "\\ge": ">=", "\\geq": ">="}
    return {**names, "\\ne": "!=", "\\neq": "!=", "\\lt": "<", "\\gt": ">"}.get(found, found)


def _number(text: str, match: re.Match[str]) -> Token:
    """Digits with what belongs to them: a magnitude, a unit, a percent sign."""
    start, end, raw = match.start(), match.end(), match[0]
    if raw[-1:] in ",.":
        raw, end = raw[:-1], end - 1
    percent = re.compile(r"\s?(?:%|\\%|per\s?cent\b)").match(text, end)
    if percent:
        return Token("number", raw, start, percent.end(), is_percent=True)
    scale_word = re.compile(r"\s?(thousand|million|billion|trillion)\b", re.IGNORECASE).match(text, end)
    if scale_word:
        return Token("number", raw, start, scale_word.end(), scale=SCALES[scale_word[1].lower()])
    if _TIMES_X.match(text, end) or end >= len(text):
        return Token("number", raw, start, end)
    behind = _UNIT_BEHIND.match(text, end)
    if behind:
        name = behind[0]
        if name in SCALE_SIGNS:
            return Token("number", raw, start, behind.end(), scale=SCALE_SIGNS[name])
        if name in UNITS or name.startswith("°"):
            return Token("number", raw, start, behind.end(), unit=name)
        return Token("unknown", raw + name, start, behind.end())  # 3rd, 5G, 2x
    spelled = _SPELLED_UNIT.match(text, end)
    if spelled:
        return Token("number", raw, start, spelled.end(), unit=spelled[1])
    if text[end].isalpha() or text[end] == "_" or (text[end] == "." and text[end + 1 : end + 2].isdigit()):
        return Token("unknown", raw, start, end)
    return Token("number", raw, start, end)


def _number_in_words(text: str, match: re.Match[str]) -> Token:
    """Number words as digits; of words that make several numbers, the first."""
    words = match[0]
    while (shown := read_words(words)) is None and re.search(r"[\s-]", words):
        words = re.sub(r"(?:\s+and)?[\s-]+\S+$", "", words)
    if shown is None:
        return Token("word", match[0].lower(), match.start(), match.end())
    end = match.start() + len(words)
    percent = re.compile(r"\s?per\s?cent\b", re.IGNORECASE).match(text, end)
    return Token(
        "number",
        str(shown.value),
        match.start(),
        percent.end() if percent else end,
        is_percent=percent is not None,
        is_word=True,
    )


def _equal(text: str, match: re.Match[str], kind: str) -> Token:
    behind = _AFTER_EQUAL.match(text, match.end())
    end = behind.end() if behind else match.end()
    is_about = match[0] in ("≈", "≃", "≅") or kind == "texapprox" or bool(behind and behind["about"])
    return Token("equal", "=", match.start(), end, is_word=kind == "equal_words", is_approximate=is_about)


def _double_star(text: str, start: int, end: int) -> Iterator[Token]:
    """`2**3` is a power; beside a blank `**` is emphasis."""
    before, after = text[start - 1 : start], text[end : end + 1]
    if (before.isdigit() or before == ")") and (after.isdigit() or after in "(-"):
        yield Token("sign", "^", start, end)


def _sign(text: str, found: str, start: int, end: int) -> Iterator[Token]:
    if found in "*·" and not _NEXT_OPERAND.match(text, end):
        return  # emphasis, a bullet, a footnote mark
    if found == "*" and text[end : end + 1].isalpha() and not text[start - 1 : start].isspace():
        return
    yield Token("sign", _OPERATORS.get(found, found), start, end)
