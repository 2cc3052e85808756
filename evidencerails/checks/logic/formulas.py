"""Formulas: what stands on both sides of an equals sign is computed exactly.

In: a masked text. Out: a `Statement` for each formula. The tokens around a sign of equality are put together to an
expression of numbers and operators; Python's own parser gives its structure, and nothing is evaluated as code.

A formula is an error only if it is wrong in every way it can be read: with either convention for decimals, with percent
as a share, a plain number or "of what stands before", with units converted or not.
"""

from __future__ import annotations

import ast
import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Literal, NamedTuple

from evidencerails.checks.logic.numbers import (
    CONVENTIONS,
    CURRENCIES,
    DIGITS,
    IN_WORDS,
    LONG_UNITS,
    SCALE_SIGNS,
    SCALES,
    UNITS,
    Convention,
    Shown,
    fits,
    formatted,
    read_digits,
    read_words,
)
from evidencerails.checks.logic.statements import Kind, Statement, is_asserted, sentences

MAX_BITS = 20_000
"""Size of the largest number that is computed, about 6,000 digits."""
MAX_TOKENS = 200
"""Longer formulas are not computed."""


def formulas(text: str) -> Iterator[Statement]:
    """Every formula of a masked text that can be computed, right or wrong."""
    for start, end in sentences(text):
        if _MAY_BE_ONE.search(text, start, end):
            tokens = _tokens(_plain(text[start:end]), start)
            for place, token in enumerate(tokens):
                if token.kind == "equal":
                    found = _formula(text, tokens, place)
                    if found is not None:
                        yield found


_MAY_BE_ONE = re.compile(
    r"[=≈+*×⋅·∙÷^√/−–—-]|\\|\b(?:plus|minus|times|multiplied|divided|squared|cubed|power|\d\s?x\s?\d)"
    rf"|\b(?:{LONG_UNITS})\s+(?:is|are|equals?)\b",
    re.IGNORECASE,
)


def _formula(text: str, tokens: Sequence[Token], place: int) -> Statement | None:
    left, right = _left_side(tokens, place), _right_side(tokens, place)
    if not left or not right or not _is_formula(text, tokens, place, left, right):
        return None
    start, end = left[0].start, right[-1].end
    if not is_asserted(text, start, end):
        return None
    judged = _judged(left, right, tokens[place], start, end)
    if judged and judged.is_right is False and len(right) == 1 and all(token.scale == 1 for token in left):
        plain = _judged(left, [right[0]._replace(scale=1)], tokens[place], start, end)  # 5 + 3 = 8 million
        judged = plain if plain and plain.is_right else judged
    return judged


# ---- tokens

TokenKind = Literal["number", "sign", "open", "close", "equal", "root", "power", "word", "unknown", "break"]


class Token(NamedTuple):
    """One token; `text` of a sign is the operator that it means."""

    kind: TokenKind
    text: str
    start: int
    end: int
    scale: int = 1
    unit: str = ""
    is_percent: bool = False
    is_word: bool = False
    """True if words stand for it: "plus", "is"."""
    is_approximate: bool = False


_LATEX = {
    **{r"\times": "*", r"\cdot": "*", r"\ast": "*", r"\div": "/", r"\approx": "≈", r"\simeq": "≈", r"\sim": "≈"},
    **{r"\sqrt": "√", r"\%": "%", r"\$": "$", "\\\n": "\n"},
    **dict.fromkeys(r"\left \right \quad \qquad \text \mathrm \mathbf \boxed \displaystyle".split(), ""),  # noqa: SIM905
    **{rf"\{sign}": "" for sign in ",;!()[] "},
}
_TYPOGRAPHY = str.maketrans("×⋅·∙÷−–—≃≅", "****/---≈≈")
_FRACTION = re.compile(r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_REWRITES = (
    (re.compile(r"(?<=[\d)])\*\*(?=[\d(-])"), "^ "),  # beside blanks, ** is emphasis
    (re.compile(r"\*\*"), "  "),
    (re.compile(rf"\*(?!\s*[\d(√⟦\\.{CURRENCIES}A-Za-z-])|(?<=\S)\*(?=[A-Za-z])"), " "),  # emphasis, footnote marks
    (
        re.compile(rf"(?<=\d)(?<!\b0)x(?=\s*[\d(√{CURRENCIES}])|(?<=[\d)] )x(?=\s*[\d(√{CURRENCIES}])", re.IGNORECASE),
        "*",
    ),
)
_EQUAL_WORDS = (
    "is equal to|are equal to|is exactly|is therefore|is also|comes out to|comes to|adds up to|add up to|amounts to|"
    "results in|works out to|would be|will be|should be|must be|equals|equal|makes|make|gives|give|"
    "yields|totals|which is|is|are|was|were"
)
_APPROXIMATELY = r"(?P<about>about|approximately|approx\.?|roughly|around|nearly|almost|close to|some|~|≈|circa)"
_EXACTLY = r"(?:exactly|only|just|simply|precisely|a total of|then|thus|therefore)"
_TOKEN = re.compile(
    rf"""
      (?P<blank>[^\S\n]+|[{CURRENCIES}&_]|\b(?:USD|EUR|GBP)\b)
    | (?P<coded>(?<![\w.])0[xbo][0-9a-f]+\b)
    | (?P<number>(?<![\w.])(?:{DIGITS}))
    | (?P<number_words>\b{IN_WORDS}\b)
    | (?P<power>\b(?:squared|cubed)\b|[²³])
    | (?P<sign>\b(?:plus|minus|times|multiplied\s+by|divided\s+by|(?:raised\s+)?to\s+the\s+power\s+of)\b|[+*/^-])
    | (?P<equal>(?:(?<![<>!])==?|≈|\b(?:{_EQUAL_WORDS})\b)(?:\s*(?:{_APPROXIMATELY}|{_EXACTLY}))*)
    | (?P<open>[({{⟦])
    | (?P<close>[)}}⟧])
    | (?P<middle>⟋)
    | (?P<root>√|\bsqrt\b)
    | (?P<unknown>%)
    | (?P<word>[^\W\d_][\w'’]*)
    | (?P<break>(?s:.))
    """,
    re.VERBOSE | re.IGNORECASE,
)
_BEHIND = re.compile(
    rf"(?P<percent>\s?(?:%|per\s?cent\b))|\s?(?P<scale>thousand|million|billion|trillion)\b"
    rf"|[ \u00a0](?P<unit>(?-i:{LONG_UNITS}))\b(?!/)"
    r"|(?P<glued>°\s?[CF]\b|µ?[A-Za-z]{1,12}(?:/[A-Za-z]{1,5})?[²³]?(?!\w)|[^\W\d²³]+|_|\.(?=\d))",
    re.IGNORECASE,
)
"""What belongs to the number before it."""
_OPERATORS = {"plus": "+", "minus": "-", "times": "*", "multiplied by": "*", "divided by": "/"}
_POWERS = {"squared": "2", "cubed": "3", "²": "2", "³": "3"}


def _plain(text: str) -> str:
    """The text with LaTeX and typographic signs as plain ones, as long as before; a fraction as ⟦top⟋bottom⟧."""
    text = _FRACTION.sub(lambda m: f"⟦{' ' * (len(m[0]) - len(m[1] + m[2]) - 3)}{m[1]}⟋{m[2]}⟧", text)
    text = re.sub(r"\\(?:[A-Za-z]+|(?s:.))", lambda m: _LATEX.get(m[0], m[0]).ljust(len(m[0])), text)
    text = text.translate(_TYPOGRAPHY)
    for pattern, sign in _REWRITES:
        text = pattern.sub(sign, text)
    return text


def _tokens(text: str, offset: int) -> list[Token]:
    """The tokens of a sentence without blanks and currency signs, words behind a number joined to it."""
    found: list[Token] = []
    place = 0
    while match := _TOKEN.match(text, place):
        token = _token(text, match)
        place = max(match.end(), token.end if token else 0)
        if token is not None:
            found.append(token._replace(start=token.start + offset, end=token.end + offset))
    return _with_units(found)


def _token(text: str, match: re.Match[str]) -> Token | None:
    kind, (start, end), lower = str(match.lastgroup), match.span(), " ".join(match[0].lower().split())
    is_word = lower[:1].isalpha()
    if kind == "blank":
        return None
    if kind == "number":
        return _number(text, match)
    if kind == "number_words":
        percent = re.compile(r"\s?per\s?cent\b", re.IGNORECASE).match(text, end)
        value = read_words(match[0])
        end = percent.end() if percent else end
        digits = str(value.value) if value else ""
        return Token("number", digits, start, end, is_percent=percent is not None, is_word=True)
    if kind == "equal":
        about = match["about"] is not None or "≈" in lower
        return Token("equal", "=", start, end, is_word=is_word, is_approximate=about)
    if kind == "sign":
        return Token("sign", _OPERATORS.get(lower, "^" if is_word else lower), start, end, is_word=is_word)
    if kind == "middle":
        return Token("sign", ")/(", start, end)
    if kind == "power":
        return Token("power", _POWERS[lower], start, end)
    if kind in ("open", "close"):
        symbol = {"⟦": "((", "⟧": "))"}.get(lower, "(" if kind == "open" else ")")
        return Token("open" if kind == "open" else "close", symbol, start, end)
    names: Mapping[str, TokenKind] = {"root": "root", "word": "word", "break": "break"}
    return Token(names.get(kind, "unknown"), lower or "\n", start, end)


def _number(text: str, match: re.Match[str]) -> Token:
    """Digits with what belongs to them: a magnitude, a unit, a percent sign."""
    start, end, raw = match.start(), match.end(), match[0]
    behind = _BEHIND.match(text, end)
    if behind is None:
        return Token("number", raw, start, end)
    name = behind["glued"]
    if behind["percent"]:
        return Token("number", raw, start, behind.end(), is_percent=True)
    if behind["scale"] or name in SCALE_SIGNS:
        scale = SCALES[behind["scale"].lower()] if behind["scale"] else SCALE_SIGNS[name]
        return Token("number", raw, start, behind.end(), scale=scale)
    if name is None or name in UNITS or name.startswith("°"):
        return Token("number", raw, start, behind.end(), unit=name or behind["unit"])
    return Token("unknown", raw + name, start, behind.end())  # 3rd, 5G, 2x


MAX_UNIT_WORDS = 4
_NO_UNIT = frozenset(
    """of and or the a an than that this which who so then if because since but to from by with in on at for as not more
    less fewer times remainder rem mod modulo o'clock am pm percent percentage point points we you it they he she can
    there have has had do does did when while where after before until between into over under out off up""".split()  # noqa: SIM905
)


def _with_units(tokens: Sequence[Token]) -> list[Token]:
    """The tokens; words behind a number, up to a sign, joined to it: "3 red apples + 4"."""
    settled: list[Token] = []
    place = 0
    while place < len(tokens):
        token = tokens[place]
        if token.kind == "word" and settled and settled[-1].kind == "number":
            end = next((n for n in range(place, len(tokens)) if tokens[n].kind != "word"), len(tokens))
            words = [word.text for word in tokens[place:end]]
            if _are_unit(words, tokens[end].kind if end < len(tokens) else "break"):
                settled[-1] = settled[-1]._replace(end=tokens[end - 1].end, unit=settled[-1].unit or words[0])
                place = end
                continue
        settled.append(token)
        place += 1
    return settled


def _are_unit(words: Sequence[str], following: TokenKind) -> bool:
    if following == "break":
        return len(words) == 1 and words[0] in UNITS
    return (
        following in ("sign", "equal", "close")
        and len(words) <= MAX_UNIT_WORDS
        and words[0] not in _NO_UNIT
        and not any(len(word) == 1 and word not in UNITS and word != "a" for word in words)
        and not any(word in _NO_UNIT - {"of", "a", "an"} for word in words[:-1])
    )


# ---- which tokens are a formula

_OPERANDS = frozenset({"number", "sign", "open", "close", "root", "power"})
_LABELS = frozenset(
    """version versions python java section sections chapter chapters figure figures table tables page pages line lines
    verse verses article articles paragraph no number room route""".split()  # noqa: SIM905
)
"""Words that make the number behind them a name."""
_LEADS_IN = frozenset(
    """so that then since because and thus hence therefore but we get gets have has know now means e.g is are was
    compute calculate calculating total first next finally also finding as with where answer here is result gives
    this""".split()  # noqa: SIM905
)
_NO_RESULT = frozenset(
    """remainder rem mod modulo o'clock am pm times more less fewer higher lower greater bigger larger smaller percent
    percentage point points out off of or longer shorter faster slower away late early before after over under too ago
    old r""".split()  # noqa: SIM905
)
"""Words behind a number that make it another thing than a result."""


def _left_side(tokens: Sequence[Token], place: int) -> list[Token]:
    """The expression that ends at an equals sign; empty if an unknown takes part in it."""
    first, depth = place, 0
    while first > 0 and tokens[first - 1].kind in _OPERANDS and place - first < MAX_TOKENS:
        depth += {"close": 1, "open": -1}.get(tokens[first - 1].kind, 0)
        if depth < 0 or (first < place and not _are_joint(tokens[first - 1], tokens[first])):
            break
        first -= 1
    side, before = list(tokens[first:place]), tokens[first - 1] if first else None
    if not side or place - first >= MAX_TOKENS or side[0].kind == "power":
        return []
    if side[0].kind == "sign":
        return _without_leading_sign(side, before)
    is_call = before is not None and before.kind == "word" and side[0].kind == "open" and _touch(before, side[0])
    is_name = before is not None and (before.kind == "unknown" or before.text in _LABELS)
    return [] if is_call or is_name else side


def _without_leading_sign(side: list[Token], before: Token | None) -> list[Token]:
    """A sign at the beginning is a bullet, belongs to the first number, or has an unknown before it."""
    sign, is_first = side[0], before is None or before.kind == "break"
    if sign.is_word or sign.text not in "+-*" or len(side) < 2:
        return []
    if is_first and not _touch(sign, side[1]):
        return side[1:]
    if before is None or is_first or before.kind in ("equal", "open"):
        return side if sign.text == "-" else []
    is_word = before.kind == "word" and len(before.text) > 1 and before.end < sign.start
    return side if sign.text == "-" and _touch(sign, side[1]) and is_word else []


def _right_side(tokens: Sequence[Token], place: int) -> list[Token]:
    """The expression that begins behind an equals sign; empty if an unknown takes part in it."""
    last, depth = place + 1, 0
    while last < len(tokens) and tokens[last].kind in _OPERANDS and last - place < MAX_TOKENS:
        is_apart = last > place + 1 and not _are_joint(tokens[last - 1], tokens[last])
        depth += 0 if is_apart else {"open": 1, "close": -1}.get(tokens[last].kind, 0)
        if depth < 0 or is_apart:
            break
        last += 1
    side, after = list(tokens[place + 1 : last]), tokens[last] if last < len(tokens) else None
    while side and side[-1].kind == "sign" and side[-1].text == "-" and not side[-1].is_word:
        if after is not None and after.kind in ("word", "unknown") and _touch(side[-1], after):
            return []
        side.pop()  # a dash
    if not side or side[-1].kind in ("sign", "open", "root") or side[0].kind == "power" or depth > 0:
        return []
    if after is not None and (
        after.kind in ("number", "root") or (after.kind == "unknown" and _touch(side[-1], after))
    ):
        return []
    return side


def _are_joint(one: Token, two: Token) -> bool:
    """False for two tokens that cannot stand beside each other in one expression: `3 4`, `3 (`."""
    ends, begins = one.kind in ("number", "close", "power"), two.kind in ("number", "open", "root")
    return not (ends and begins) or (two.kind != "number" and _touch(one, two))


def _touch(one: Token, two: Token) -> bool:
    return one.end >= two.start


def _is_formula(text: str, tokens: Sequence[Token], place: int, left: Sequence[Token], right: Sequence[Token]) -> bool:
    """True if there is anything to compute, and the words around make it no remainder, clock, range or score."""
    equal = tokens[place]
    behind = tokens[place + 1 + len(right)] if place + 1 + len(right) < len(tokens) else None
    if behind is not None and behind.kind == "word" and behind.text in _NO_RESULT:
        return False
    is_lead = _follows_lead(tokens, left[0])
    if not _has_operation(left):
        if not _has_operation(right):
            return _is_conversion(left, right) and (not equal.is_word or is_lead)
        return not equal.is_word or any(token.is_word for token in right)
    signs = [token for token in left if token.kind == "sign"]
    if not signs or any(token.is_word or token.text not in "-/" for token in signs):
        return True
    is_spaced = all(text[s.start - 1 : s.start].isspace() and text[s.end : s.end + 1].isspace() for s in signs)
    if equal.is_word:
        return is_spaced and is_lead
    return is_spaced or not {token.unit for token in right} & {"hours", "hour", "h", "years", "days"}


def _follows_lead(tokens: Sequence[Token], first: Token) -> bool:
    place = tokens.index(first)
    before = tokens[place - 1] if place else None
    return before is None or before.kind in ("break", "equal") or before.text in _LEADS_IN


def _has_operation(side: Sequence[Token]) -> bool:
    return any(t.kind in ("power", "root") for t in side) or any(t.kind == "sign" for t in side[1:])


def _is_conversion(left: Sequence[Token], right: Sequence[Token]) -> bool:
    """True if both sides are one number each, of two units of one dimension, or a percentage and its share."""
    if len(left) != 1 or len(right) != 1 or left[0].kind != "number" or right[0].kind != "number":
        return False
    if left[0].is_percent != right[0].is_percent:
        return not left[0].unit and not right[0].unit and "." in left[0].text + right[0].text
    one, two = UNITS.get(left[0].unit), UNITS.get(right[0].unit)
    return one is not None and two is not None and one.dimension == two.dimension and one.factor != two.factor


# ---- computing


class NotComputable(Exception):
    """The tokens are no expression, or have no value."""


class TooLarge(NotComputable):
    """A number in it grows beyond what is computed."""


class Mode(NamedTuple):
    """One way to read a formula."""

    convention: Convention
    percent: Literal["share", "plain", "relative"]
    converts_units: bool


def _judged(left: Sequence[Token], right: Sequence[Token], equal: Token, start: int, end: int) -> Statement | None:
    both = (*left, *right)
    kind: Kind = "unit" if _is_conversion(left, right) else "arithmetic"
    kind = "percentage" if any(token.is_percent for token in both) else kind
    mismatch = ""
    for mode in _modes(left, right):
        try:
            one, two = _value(left, mode), _value(right, mode)
        except TooLarge:
            return Statement(kind, start, end, None, "too_large: its numbers grow beyond what is computed")
        except NotComputable:
            continue
        if _agree(left, one, right, two, mode, is_approximate=equal.is_approximate):
            return Statement(kind, start, end, True)
        if not mismatch:
            first, second = (two, one) if _single(left) is not None and _single(right) is None else (one, two)
            mismatch = f"computed: {formatted(first)}, not {formatted(second)}"
    return Statement(kind, start, end, False, mismatch) if mismatch else None


def _modes(left: Sequence[Token], right: Sequence[Token]) -> Iterator[Mode]:
    both = (*left, *right)
    percents: Sequence[Literal["share", "plain", "relative"]] = ("plain",)
    if any(token.is_percent for token in both):
        percents = ("share", "relative", "plain")
    units = {UNITS[token.unit] for token in both if token.unit in UNITS}
    dimensions = {unit.dimension for unit in units}
    conversions: Sequence[bool] = (False,)
    if len(units) > 1 and len(dimensions) == 1:
        are_all = all(token.unit in UNITS for token in both if token.kind == "number")
        conversions = (True,) if are_all else (True, False)
    elif len(units) > len(dimensions) and any(token.kind == "sign" and token.text in "*/" for token in both):
        conversions = ()  # speeds and rates over another unit of time
    yield from itertools.starmap(Mode, itertools.product(CONVENTIONS, percents, conversions))


def _shown(token: Token, mode: Mode) -> Shown:
    """The number of a token, in base units where the mode says so."""
    shown = read_digits(token.text, mode.convention)
    if shown is None:
        raise NotComputable
    factor = Fraction(token.scale)
    if token.is_percent and mode.percent != "plain":
        factor /= 100
    if mode.converts_units and token.unit in UNITS:
        factor *= UNITS[token.unit].factor
    return shown._replace(value=shown.value * factor, unit=shown.unit * factor)


def _value(tokens: Sequence[Token], mode: Mode) -> Fraction:
    """The exact value of an expression.

    Raises:
        TooLarge: a number grows beyond `MAX_BITS`.
        NotComputable: the tokens are no expression, or have no value.
    """
    numbers: dict[str, tuple[Fraction, bool]] = {}
    source = ""
    for place, token in enumerate(tokens):
        if place and token.kind in ("open", "root") and tokens[place - 1].kind in ("number", "close", "power"):
            source += "*"  # 2(3 + 4), 5√2
        if token.kind == "number":
            name = f"n{place}"
            numbers[name] = _shown(token, mode).value, token.is_percent and mode.percent == "relative"
            source += f"({name})" if place and tokens[place - 1].kind == "root" else name
        else:
            source += {"power": f"**{token.text}", "root": "root"}.get(token.kind, token.text.replace("^", "**"))
    try:
        return _evaluated(ast.parse(source, mode="eval").body, numbers)
    except (SyntaxError, RecursionError, MemoryError, ZeroDivisionError):
        raise NotComputable from None


def _evaluated(node: ast.expr, numbers: Mapping[str, tuple[Fraction, bool]]) -> Fraction:
    if isinstance(node, ast.Name):
        return numbers[node.id][0]
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return Fraction(node.value)
    if isinstance(node, ast.UnaryOp):
        value = _evaluated(node.operand, numbers)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.Call) and len(node.args) == 1:
        return _root(_evaluated(node.args[0], numbers))
    if not isinstance(node, ast.BinOp):
        raise NotComputable
    one, two = _evaluated(node.left, numbers), _evaluated(node.right, numbers)
    if isinstance(node.op, ast.Pow):
        return _power(one, two)
    if isinstance(node.op, ast.Add | ast.Sub) and isinstance(node.right, ast.Name) and numbers[node.right.id][1]:
        two *= one  # 100 + 10%
    if isinstance(node.op, ast.Add):
        value = one + two
    elif isinstance(node.op, ast.Sub):
        value = one - two
    else:
        value = one * two if isinstance(node.op, ast.Mult) else one / two
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
        raise TooLarge
    return value


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    if exponent == Fraction(1, 2):
        return _root(base)
    if exponent.denominator != 1:
        raise NotComputable
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    if bits * abs(exponent.numerator) > MAX_BITS:
        raise TooLarge
    return base**exponent.numerator


_ROOT_SCALE = 3**125


def _root(value: Fraction) -> Fraction:
    """The square root; one that does not end to 59 digits, with a denominator that does not let it end."""
    if value < 0 or max(value.numerator.bit_length(), value.denominator.bit_length()) > 2_000:
        raise NotComputable
    product = value.numerator * value.denominator
    return Fraction(math.isqrt(product * _ROOT_SCALE**2), value.denominator * _ROOT_SCALE)


# ---- comparing


def _agree(
    left: Sequence[Token], one: Fraction, right: Sequence[Token], two: Fraction, mode: Mode, *, is_approximate: bool
) -> bool:
    off, size = abs(one - two), max(abs(one), abs(two))
    if _is_conversion(left, right) and not is_approximate:  # a whole number is no excuse for 90 minutes = 2 hours
        shown = _shown(right[0], mode)
        return off <= shown.unit / 2 and (shown.has_decimals or off <= abs(one) / 20)
    if off <= size * _rounding((*left, *right), mode):
        return True
    singles = [(_single(right), two, one), (_single(left), one, two)]
    if any(single for single, *_ in singles):
        return any(
            fits(computed, _shown(single, mode)._replace(value=value), is_approximate=is_approximate)
            for single, value, computed in singles
            if single
        )
    return off <= size * (Fraction(1, 20) if is_approximate else Fraction(1, 10**9))


def _rounding(tokens: Sequence[Token], mode: Mode) -> Fraction:
    """Share by which a result may be off because its operands were rounded ones, as 33.33."""
    shown = [_shown(token, mode) for token in tokens if token.kind == "number"]
    return sum((abs(one.unit / 2 / one.value) for one in shown if one.is_rounded), Fraction(0))


def _single(tokens: Sequence[Token]) -> Token | None:
    """The number that an expression consists of, also with its sign; None for a sum of several."""
    bare = [token for token in tokens if token.kind not in ("open", "close")]
    if len(bare) == 2 and bare[0].kind == "sign" and bare[0].text == "-":
        bare = bare[1:]
    return bare[0] if len(bare) == 1 and bare[0].kind == "number" else None
