"""The exact value of an expression of tokens: no number may grow beyond `MAX_BITS`, nothing is evaluated as code."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction
from typing import Literal, NamedTuple

from evidencerails.checks.logic.numbers import UNITS, Convention, read_digits
from evidencerails.checks.logic.statements import Shown
from evidencerails.checks.logic.tokens import Token

MAX_BITS = 20_000
"""Size of the largest number that is computed, about 6,000 digits."""
MAX_NESTING = 40
"""Brackets and signs inside each other; a deeper formula is not computed."""

PercentMode = Literal["share", "plain", "relative"]
UnitMode = Literal["plain", "converted"]


class NotComputable(Exception):
    """The formula is none, or cannot be read in this way."""


class TooLarge(NotComputable):
    """A number in it grows beyond what is computed."""


class DividesByZero(NotComputable):
    """It divides by zero: it has no value, so none that is stated is right."""


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
        raise DividesByZero
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
