"""Formulas: what stands on both sides of an equals sign is parsed by hand and computed exactly.

A formula is an error only if it is wrong in every way it can be read: with either convention for decimals, with percent
as a share, a plain number or "of what stands before", with units converted or not.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Literal

from evidencerails.checks.logic.arithmetic import (
    DividesByZero,
    Mode,
    NotComputable,
    PercentMode,
    TooLarge,
    UnitMode,
    Value,
    compute,
    shown_of,
)
from evidencerails.checks.logic.lexer import tokens_of
from evidencerails.checks.logic.numbers import CONVENTIONS, LONG_UNITS, UNITS
from evidencerails.checks.logic.runs import goes_on, is_conversion, is_plain_here, left_run, right_run, says_something
from evidencerails.checks.logic.statements import Statement, fits, in_words, is_asserted, pieces
from evidencerails.checks.logic.tokens import Token


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
    left = left_run(tokens, place)
    right = right_run(tokens, place)
    if not left or not right:
        return None
    if not says_something(left, right, tokens[place]) and not goes_on(tokens, place, left, right):
        return None
    start, end = left[0].start, right[-1].end
    if not is_plain_here(text, tokens, place, left, right) or not is_asserted(text, start, end):
        return None
    return _judged(left, right, tokens[place], start, end)


# ---- judging


def _judged(left: Sequence[Token], right: Sequence[Token], sign: Token, start: int, end: int) -> Statement | None:
    kind: Literal["arithmetic", "percentage", "unit"] = "arithmetic"
    if any(token.is_percent for token in (*left, *right)):
        kind = "percentage"
    elif is_conversion(left, right):
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
        except DividesByZero:
            shown = shown or "computed: a division by zero has no value"
            continue
        except NotComputable:
            continue
        if holds:
            return Statement(kind, start, end, True)
        shown = shown or _mismatch(one, two, left, right, sign)
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
        only = is_conversion(left, right) or all(t.unit in UNITS for t in both if t.kind == "number")
        conversions = ("converted",) if only else ("converted", "plain")
    elif len({unit.factor for unit in units}) > 1 and any(t.text in "*/" for t in both if t.kind == "sign"):
        conversions = () if _mixes_one_dimension(units) else ("plain",)
    yield from (Mode(*parts) for parts in itertools.product(CONVENTIONS, percents, conversions))


def _mixes_one_dimension(units: Sequence[object]) -> bool:
    """Speeds and rates over another unit of time cannot be distinguished from plain factors."""
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
    if is_conversion(left, right) and not is_approximate:
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


def _mismatch(one: Value, two: Value, left: Sequence[Token], right: Sequence[Token], sign: Token) -> str:
    if sign.kind == "relation":
        return f"computed: {in_words(one.number)} {sign.text} {in_words(two.number)} does not hold"
    if _single(left) is not None and _single(right) is None:
        one, two = two, one
    return f"computed: {in_words(one.number)}, not {in_words(two.number)}"
