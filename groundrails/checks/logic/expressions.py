"""Formulas: what stands on both sides of an equals sign is parsed by hand and computed exactly.

A formula is an error only if it is wrong in every way it can be read: with either convention for decimals, with percent
as a share, a plain number or "of what stands before", with units converted or not. Nothing is ever evaluated as code,
and no number may grow beyond `MAX_BITS`.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from typing import Literal, NamedTuple

from groundrails.checks.logic.lexer import Token, tokens_of
from groundrails.checks.logic.numbers import CONVENTIONS, LONG_UNITS, UNITS, Convention, read_digits
from groundrails.checks.logic.statements import Shown, Statement, fits, in_words, is_asserted, pieces

MAX_BITS = 20_000
"""Size of the largest number that is computed, about 6,000 digits."""
MAX_TOKENS = 400
"""Longer formulas are not computed."""
MAX_NESTING = 40
MAX_FACTORIAL = 300

PercentMode = Literal["share", "plain", "relative"]
UnitMode = Literal["plain", "converted"]


class NotComputable(Exception):
    """The formula is none, or cannot be read in this way."""


class TooLarge(NotComputable):
    """A number in it grows beyond what is computed."""


class Mode(NamedTuple):
    """One way to read a formula."""

    convention: Convention
    percent: PercentMode
    units: UnitMode


class Value(NamedTuple):
    """A computed value."""

    number: Fraction
    is_exact: bool = True
    rounding: Fraction = Fraction(0)
    """How far it may be off because its operands were rounded ones, as 33.33."""


def formulas(text: str) -> Iterator[Statement]:
    """Every formula of a masked text that can be computed, right or wrong."""
    for start, end in pieces(text):
        if _MAY_BE_ONE.search(text, start, end):
            tokens = tokens_of(text, start, end)
            for place, token in enumerate(tokens):
                if token.kind in ("equal", "relation"):
                    found = _formula(text, tokens, place)
                    if found is not None:
                        yield found


_MAY_BE_ONE = re.compile(
    r"[=≈≃≅<>≤≥≠+*×⋅·∙÷^√/−–—-]|\\|\b(?:plus|minus|times|multiplied|divided|squared|cubed|power|\d\s?x\s?\d)"
    rf"|\b(?:{'|'.join(sorted(LONG_UNITS, key=len, reverse=True))})\s+(?:is|are|equals?)\b",
    re.IGNORECASE,
)


def _formula(text: str, tokens: Sequence[Token], place: int) -> Statement | None:
    left = _left_run(tokens, place)
    right = _right_run(tokens, place)
    if not left or not right or not _says_something(left, right, tokens[place]):
        return None
    start, end = left[0].start, right[-1].end
    if not _is_plain_here(text, tokens, place, left, right) or not is_asserted(text, start, end):
        return None
    return _judged(left, right, tokens[place], start, end)


# ---- which tokens belong to it

_LABELS = frozenset(
    """version versions python java section sections chapter chapters figure figures table tables page pages line lines
    verse verses article articles paragraph no number room route""".split()  # noqa: SIM905
)
"""Words that make the number behind them a name."""
_OPERANDS = frozenset({"number", "sign", "open", "close", "root", "power"})
_LEADS_IN = frozenset(
    """so that then since because and thus hence therefore but we get gets have has know now means e.g is are was
    compute calculate calculating total first next finally also finding as with where answer here is result gives
    this""".split()  # noqa: SIM905
)


def _left_run(tokens: Sequence[Token], place: int) -> list[Token]:
    """The expression that ends at an equals sign; empty if an unknown takes part in it."""
    first, depth = place, 0
    while first > 0 and tokens[first - 1].kind in _OPERANDS and place - first < MAX_TOKENS:
        token = tokens[first - 1]
        depth += {"close": 1, "open": -1}.get(token.kind, 0)
        if depth < 0:
            break
        if (
            token.kind == "number"
            and tokens[first].kind in ("number", "root")
            and not _is_root_of(token, tokens[first])
        ):
            break  # two numbers side by side: the formula begins with the second
        if (
            token.kind in ("number", "close", "power")
            and tokens[first].kind == "open"
            and not _touch(token, tokens[first])
        ):
            break
        first -= 1
    run = list(tokens[first:place])
    before = tokens[first - 1] if first else None
    if not run or place - first >= MAX_TOKENS:
        return []
    if run[0].kind == "sign" and not run[0].is_word:
        return _without_leading_sign(run, before)
    if run[0].kind == "sign" or run[0].kind == "power":
        return []
    if before is not None and before.kind in ("word", "unknown") and run[0].kind == "open" and _touch(before, run[0]):
        return []  # f(2)
    if before is not None and (before.kind == "unknown" or before.text in _LABELS):
        return []
    return run


def _without_leading_sign(run: list[Token], before: Token | None) -> list[Token]:
    """A sign at the beginning is a bullet, belongs to the first number, or has an unknown before it."""
    if run[0].text not in "+-*" or len(run) < 2:
        return []
    is_adjacent = _touch(run[0], run[1])
    if before is None or before.kind == "break":
        return run if is_adjacent and run[0].text == "-" else [] if is_adjacent else run[1:]
    if before.kind in ("equal", "relation", "open"):
        return run if run[0].text == "-" else []
    is_apart = before.end < run[0].start
    is_word = before.kind == "word" and (len(before.text) > 1 or before.text == "a")
    return run if run[0].text == "-" and is_adjacent and is_apart and is_word else []


def _right_run(tokens: Sequence[Token], place: int) -> list[Token]:
    """The expression that begins behind an equals sign; empty if an unknown takes part in it."""
    last, depth = place + 1, 0
    while last < len(tokens) and tokens[last].kind in _OPERANDS and last - place < MAX_TOKENS:
        token = tokens[last]
        depth += {"open": 1, "close": -1}.get(token.kind, 0)
        if depth < 0:
            break
        if last > place + 1 and tokens[last - 1].kind in ("number", "close", "power"):
            if token.kind in ("number", "root") and not _is_root_of(tokens[last - 1], token):
                return []
            if token.kind == "open" and not _touch(tokens[last - 1], token):
                depth -= 1
                break
        last += 1
    run = list(tokens[place + 1 : last])
    while run and run[-1].kind == "sign" and run[-1].text == "-" and not run[-1].is_word:
        if last < len(tokens) and tokens[last].kind in ("word", "unknown") and _touch(run[-1], tokens[last]):
            return []
        run.pop()
    if not run or run[-1].kind in ("sign", "open", "root") or run[0].kind == "power":
        return []
    after = tokens[last] if last < len(tokens) else None
    if after is not None and after.kind in ("unknown", "open") and _touch(run[-1], after):
        return []
    return run if depth == 0 else []


def _is_root_of(one: Token, two: Token) -> bool:
    """5√2 is a product."""
    return two.kind == "root" and _touch(one, two)


def _touch(one: Token, two: Token) -> bool:
    return one.end >= two.start


def _says_something(left: Sequence[Token], right: Sequence[Token], equal: Token) -> bool:
    """True if there is anything to compute: a sign, a power, a root, or two units of one dimension."""
    if _has_operation(left):
        return True
    if _has_operation(right):
        return left[0].kind in ("number", "sign") and (not equal.is_word or any(t.is_word for t in right))
    return equal.kind == "equal" and _is_conversion(left, right)


def _has_operation(run: Sequence[Token]) -> bool:
    return any(t.kind in ("power", "root") for t in run) or any(t.kind == "sign" for t in run[1:])


def _is_conversion(left: Sequence[Token], right: Sequence[Token]) -> bool:
    if len(left) != 1 or len(right) != 1 or left[0].kind != "number" or right[0].kind != "number":
        return False
    if left[0].is_percent != right[0].is_percent:
        return not left[0].unit and not right[0].unit and "." in left[0].text + right[0].text
    one, two = UNITS.get(left[0].unit), UNITS.get(right[0].unit)
    return one is not None and two is not None and one.dimension == two.dimension and one.factor != two.factor


_NO_RESULT = frozenset(
    """remainder rem mod modulo o'clock am pm times more less fewer higher lower greater bigger larger smaller percent
    percentage point points out off of or longer shorter faster slower away late early before after over under too ago
    old""".split()  # noqa: SIM905
)


def _is_plain_here(
    text: str, tokens: Sequence[Token], place: int, left: Sequence[Token], right: Sequence[Token]
) -> bool:
    """False where the words around say that this is no sum: a remainder, a clock, a range, a score."""
    behind = next((token for token in tokens[place + 1 + len(right) :][:1]), None)
    if behind is not None and behind.kind == "word" and (behind.text in _NO_RESULT or behind.text == "r"):
        return False
    if behind is not None and behind.kind == "relation":
        return tokens[place].kind == "equal"
    if tokens[place].kind == "relation":
        return True
    if tokens[place].is_word and _is_conversion(left, right) and not _follows_lead(tokens, left[0]):
        return False
    signs = [token for token in left if token.kind == "sign"]
    is_dash_only = bool(signs) and all(token.text in "-/" and not token.is_word for token in signs)
    if tokens[place].is_word and is_dash_only:
        return _is_spaced(text, signs) and _follows_lead(tokens, left[0])
    units = {token.unit for token in right if token.unit}
    is_range = is_dash_only and not _is_spaced(text, signs) and bool(units & {"hours", "hour", "h", "years", "days"})
    return not is_range


def _is_spaced(text: str, signs: Sequence[Token]) -> bool:
    return all(text[s.start - 1 : s.start].isspace() and text[s.end : s.end + 1].isspace() for s in signs)


def _follows_lead(tokens: Sequence[Token], first: Token) -> bool:
    place = next(i for i, token in enumerate(tokens) if token is first)
    before = tokens[place - 1] if place else None
    return before is None or before.kind in ("break", "equal") or before.text in _LEADS_IN


# ---- judging


def _judged(left: Sequence[Token], right: Sequence[Token], sign: Token, start: int, end: int) -> Statement | None:
    kind: Literal["arithmetic", "percentage", "unit"] = "arithmetic"
    if any(token.is_percent for token in (*left, *right)):
        kind = "percentage"
    elif _is_conversion(left, right):
        kind = "unit"
    shown: str | None = None
    is_too_large = False
    for mode in _modes(left, right):
        try:
            one, two = compute(left, mode), compute(right, mode)
            if sign.kind == "relation":
                holds = _holds(one.number, two.number, sign.text)
            else:
                holds = _is_equal(one, left, two, right, mode, sign.is_approximate)
        except TooLarge:
            is_too_large = True
            continue
        except NotComputable:
            continue
        if holds:
            return Statement(kind, start, end, True)
        shown = shown or _told(one, two, left, right, sign)
    if is_too_large:
        return Statement(kind, start, end, None, "too_large: its numbers grow beyond what is computed")
    return None if shown is None else Statement(kind, start, end, False, shown)


def _modes(left: Sequence[Token], right: Sequence[Token]) -> Iterator[Mode]:
    both = (*left, *right)
    percents: tuple[PercentMode, ...] = (
        ("share", "relative", "plain") if any(t.is_percent for t in both) else ("plain",)
    )
    units = [UNITS[token.unit] for token in both if token.unit in UNITS]
    conversions: tuple[UnitMode, ...] = ("plain",)
    if len({unit.dimension for unit in units}) == 1 and len({unit.factor for unit in units}) > 1:
        only = _is_conversion(left, right) or all(t.unit in UNITS for t in both if t.kind == "number")
        conversions = ("converted",) if only else ("converted", "plain")
    elif len({unit.factor for unit in units}) > 1 and any(t.text in "*/" for t in both if t.kind == "sign"):
        conversions = () if _mixes_one_dimension(units) else ("plain",)
    yield from (Mode(*parts) for parts in itertools.product(CONVENTIONS, percents, conversions))


def _mixes_one_dimension(units: Sequence[object]) -> bool:
    """Speeds and rates over another unit of time cannot be told from plain factors."""
    found: dict[str, set[Fraction]] = {}
    for unit in units:
        found.setdefault(unit.dimension, set()).add(unit.factor)  # type: ignore[attr-defined]
    return any(len(factors) > 1 for factors in found.values())


def _holds(one: Fraction, two: Fraction, sign: str) -> bool:
    return {
        "<": one < two,
        ">": one > two,
        "<=": one <= two,
        ">=": one >= two,
        "!=": one != two,
    }[sign]


def _is_equal(
    one: Value, left: Sequence[Token], two: Value, right: Sequence[Token], mode: Mode, is_approximate: bool
) -> bool:
    is_exact = one.is_exact and two.is_exact
    slack = one.rounding + two.rounding
    if _is_conversion(left, right) and not is_approximate:
        return _is_converted(one, two, right[0], mode)
    if abs(one.number - two.number) <= slack:
        return True
    for computed, side, value in ((one, right, two), (two, left, one)):
        number = _single(side)
        shown = shown_of(number, mode) if number is not None else None
        if shown is not None:
            shown = shown._replace(value=value.number)
            if fits(computed.number, shown, is_exact=is_exact, is_approximate=is_approximate):
                return True
            if _single(left) is None or _single(right) is None:
                continue
    if _single(left) is not None or _single(right) is not None:
        return False
    off, size = abs(one.number - two.number), max(abs(one.number), abs(two.number))
    allowed = Fraction(1, 20) if is_approximate else Fraction(1, 10**9) if is_exact else Fraction(1, 10**6)
    return off <= size * allowed


def _is_converted(one: Value, two: Value, right: Token, mode: Mode) -> bool:
    """Conversions are rounded to the digits shown, but a whole number is no excuse for 90 minutes = 2 hours."""
    shown = shown_of(right, mode)
    if shown is None:
        return False
    off = abs(one.number - two.number)
    return off <= shown.unit / 2 and (shown.has_decimals or off <= abs(one.number) / 20)


def _single(tokens: Sequence[Token]) -> Token | None:
    """The number that an expression consists of, also with its sign; None for a sum of several."""
    bare = [token for token in tokens if token.kind not in ("open", "close")]
    if len(bare) == 2 and bare[0].kind == "sign" and bare[0].text == "-":
        bare = bare[1:]
    return bare[0] if len(bare) == 1 and bare[0].kind == "number" else None


def _told(one: Value, two: Value, left: Sequence[Token], right: Sequence[Token], sign: Token) -> str:
    if sign.kind == "relation":
        return f"computed: {in_words(one.number)} {sign.text} {in_words(two.number)} does not hold"
    if _single(left) is not None and _single(right) is None:
        one, two = two, one
    return f"computed: {in_words(one.number)}, not {in_words(two.number)}"


# ---- computing


def shown_of(token: Token, mode: Mode) -> Shown | None:
    """The number of a token, in base units where the mode says so."""
    shown = read_digits(token.text, mode.convention)
    if shown is None:
        return None
    factor = Fraction(token.scale)
    if token.is_percent and mode.percent != "plain":
        factor /= 100
    if mode.units == "converted" and token.unit in UNITS:
        factor *= UNITS[token.unit].factor
    return shown._replace(value=shown.value * factor, unit=shown.unit * factor)


def compute(tokens: Sequence[Token], mode: Mode) -> Value:
    """The value of an expression.

    Raises:
        TooLarge: a number grows beyond `MAX_BITS`.
        NotComputable: the tokens are no expression, or have no value.
    """
    parser = _Parser(tokens, mode)
    value = parser.sum(0)
    if parser.place != len(tokens):
        raise NotComputable
    return value


class _Parser:
    """Recursive descent: sum, product, sign, power, operand."""

    def __init__(self, tokens: Sequence[Token], mode: Mode) -> None:
        self.tokens, self.mode, self.place = tokens, mode, 0

    @property
    def token(self) -> Token | None:
        return self.tokens[self.place] if self.place < len(self.tokens) else None

    def _is_sign(self, signs: str) -> bool:
        token = self.token
        return token is not None and token.kind == "sign" and token.text in signs

    def _take(self) -> Token:
        token = self.token
        if token is None:
            raise NotComputable
        self.place += 1
        return token

    def sum(self, depth: int) -> Value:
        if depth > MAX_NESTING:
            raise NotComputable
        value = self._product(depth)
        while self._is_sign("+-"):
            sign, percent = self._take().text, self._next_is_percent()
            other = self._product(depth)
            if percent and self.mode.percent == "relative":
                other = Value(value.number * other.number, other.is_exact)
            number = value.number + other.number if sign == "+" else value.number - other.number
            value = _checked(number, value, other, value.rounding + other.rounding)
        return value

    def _next_is_percent(self) -> bool:
        token = self.token
        return token is not None and token.kind == "number" and token.is_percent

    def _product(self, depth: int) -> Value:
        value = self._signed(depth)
        while True:
            token = self.token
            if self._is_sign("*/"):
                sign = self._take().text
            elif token is not None and token.kind in ("open", "root"):
                sign = "*"  # 2(3 + 4), 5√2
            else:
                return value
            value = _multiplied(value, self._signed(depth), sign)

    def _signed(self, depth: int) -> Value:
        if depth > MAX_NESTING:
            raise NotComputable
        if self._is_sign("-"):
            self._take()
            value = self._signed(depth + 1)
            return value._replace(number=-value.number)
        return self._power(depth)

    def _power(self, depth: int) -> Value:
        base = self._operand(depth)
        token = self.token
        if token is not None and token.kind == "power":
            self._take()
            return _raised(base, Value(Fraction(int(token.text))))
        if self._is_sign("^"):
            self._take()
            return _raised(base, self._signed(depth + 1))  # right to left
        return base

    def _operand(self, depth: int) -> Value:
        token = self._take()
        if token.kind == "number":
            shown = shown_of(token, self.mode)
            if shown is None:
                raise NotComputable
            return Value(shown.value, True, shown.unit / 2 if shown.is_rounded else Fraction(0))
        if token.kind == "open":
            value = self.sum(depth + 1)
            if self._take().kind != "close":
                raise NotComputable
            return value
        if token.kind == "root":
            return _root(self._operand(depth + 1))
        raise NotComputable


def _checked(number: Fraction, one: Value, two: Value, rounding: Fraction) -> Value:
    if number.numerator.bit_length() > MAX_BITS or number.denominator.bit_length() > MAX_BITS:
        raise TooLarge
    return Value(number, one.is_exact and two.is_exact, rounding)


def _multiplied(one: Value, two: Value, sign: str) -> Value:
    if sign == "*":
        rounding = abs(one.number) * two.rounding + abs(two.number) * one.rounding
        return _checked(one.number * two.number, one, two, rounding)
    if two.number == 0:
        raise NotComputable
    size = abs(one.number / two.number)
    rounding = one.rounding / abs(two.number) + size * two.rounding / abs(two.number)
    return _checked(one.number / two.number, one, two, rounding)


def _raised(base: Value, exponent: Value) -> Value:
    power = exponent.number
    if power.denominator == 2 and power.numerator == 1:
        return _root(base)
    if power.denominator != 1:
        raise NotComputable
    bits = max(base.number.numerator.bit_length(), base.number.denominator.bit_length())
    if abs(power.numerator) > MAX_BITS or bits * abs(power.numerator) > MAX_BITS:
        raise TooLarge
    if base.number == 0 and power <= 0:
        raise NotComputable
    return Value(base.number ** int(power), base.is_exact and exponent.is_exact)


def _root(value: Value) -> Value:
    number = value.number
    if number < 0 or number.numerator.bit_length() > 2_000 or number.denominator.bit_length() > 2_000:
        raise NotComputable
    top, bottom = math.isqrt(number.numerator), math.isqrt(number.denominator)
    if top * top == number.numerator and bottom * bottom == number.denominator:
        return Value(Fraction(top, bottom), value.is_exact)
    context = Context(prec=60)
    quotient = context.divide(Decimal(number.numerator), Decimal(number.denominator))
    return Value(Fraction(context.sqrt(quotient)), False)
