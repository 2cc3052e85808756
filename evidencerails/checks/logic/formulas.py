"""Formulas: what stands on both sides of an equals sign is computed exactly.

In: the skeleton of a sentence. Out: a `Statement` for each equation. Python's own parser gives the structure of a side,
and nothing is evaluated as code. An equation is an error only if it is wrong in every way it can be read: percent as a
share, a plain number or "of what stands before", units converted or not, "5 + 3 = 8 million".
"""

from __future__ import annotations

import ast
import itertools
import math
import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Literal, NamedTuple

from evidencerails.checks.logic.skeleton import Number, Skeleton, fits, formatted
from evidencerails.checks.logic.statements import Kind, Statement
from evidencerails.text.same_values import FACTORS

MAX_BITS = 20_000
"""Size of the largest number that is computed, about 6,000 digits."""
MAX_SIDE = 400
"""Characters of the skeleton of a longer side, which is not computed."""

_NOT_COUNTED = (
    "of|and|or|the|that|than|this|which|who|so|then|if|because|since|but|to|from|by|with|in|on|at|for|as|not|more|less|"
    "fewer|remainder|rem|mod|modulo|o'clock|am|pm|point|points|out|off|we|you|it|they|he|she|can|there|have|has|had|do|"
    "does|did|when|while|where|after|before|until|between|into|over|under|up"
)
_NOUN = rf"(?: (?!(?:{_NOT_COUNTED})\b)[a-z][a-z'’-]+){{0,4}}"
"""What a number counts: "3 red apples + 4"."""
_TERM = rf"(?:[(√-] ?)*[#%]{_NOUN}(?: ?\))*"
_SIDE = rf"{_TERM}(?:(?: ?[-+*/^⊕⊖⊗⊘] ?|(?=[(√])){_TERM})*"
_EQUAL = r"(?:[=∼≡]≈?|≈)"
_EQUATION = re.compile(rf"{_SIDE}(?: ?{_EQUAL} ?{_SIDE})+")
_NOT_BEFORE = re.compile(
    r"(?:[+*/^√?%#)⊕⊖⊗⊘]|[-] ?|\b(?:versions?|python|java|sections?|chapters?|figures?|tables?|pages?|lines?|verses?|"
    r"articles?|paragraph|no|number|room|route)) ?$|\w$"
)
"""What makes the number behind it a part of something else: an unknown's operator, a label, a function's name."""
_NOT_BEHIND = re.compile(
    r" ?[+*/^√?#%(⊕⊖⊗⊘]| ?-[#\w(]|\w| (?:remainder|rem|mod|modulo|o'clock|am|pm|more|less|fewer|higher|lower|greater|"
    r"bigger|larger|smaller|points?|out|off|of|or|longer|shorter|faster|slower|away|late|early|before|after|over|under|too|ago|"
    r"old|r)\b"
)


def formulas(skeleton: Skeleton) -> Iterator[Statement]:
    """Every equation of a sentence that can be computed, right or wrong, its places those of the skeleton."""
    for match in _EQUATION.finditer(skeleton.text):
        is_computed = False
        for left, right in itertools.pairwise(_sides(skeleton, match)):
            is_formula = _is_formula(skeleton, left, right)
            is_computed |= is_formula
            if (is_formula or (is_computed and _is_repeated(skeleton, left, right))) and (
                judged := _judged(skeleton, left, right)
            ):
                yield judged


class _Side(NamedTuple):
    """One side of an equation, and the sign before it."""

    text: str
    start: int
    end: int
    equal: str = ""


def _sides(skeleton: Skeleton, match: re.Match[str]) -> list[_Side]:
    """The sides of an equation, without a first or last one that goes on in what cannot be computed."""
    text, found = skeleton.text, []
    signs = [None, *re.compile(_EQUAL).finditer(text, *match.span())]
    ends = [*(sign.start() for sign in signs if sign), match.end()]
    for sign, end in zip(signs, ends, strict=True):
        start = sign.end() if sign else match.start()
        found.append(_Side(text[start:end], start, end, sign[0] if sign else ""))
    found = [side for side in map(_bare, found) if side]
    first, last = found[0], found[-1]
    is_bullet = first.text.startswith("- ") and text[: first.start].rstrip(" ")[-1:] in ("", "\n")
    if is_bullet:
        found[0] = first = first._replace(text=first.text[2:], start=first.start + 2)
    is_unary = first.text.startswith("-") and not first.text.startswith("- ")
    before = text[: first.start]
    if not is_bullet and (
        (first.text[0] == "-" and not (is_unary and re.search(r"(?:^|[\n=(]|\w\w )$", before)))
        or (_NOT_BEFORE.search(before) and not re.search(r"\) $", before))
    ):
        found = found[1:]
    if _NOT_BEHIND.match(text, last.end):
        found = found[:-1]
    return found


def _bare(side: _Side) -> _Side:
    """The side without blanks and nouns at its end, and without brackets that the rest of the sentence shares."""
    text, start = side.text, side.start
    text = re.sub(r"[^#%)]+$", "", text)
    while text.count(")") > text.count("(") and text.endswith(")"):
        text = text[:-1].rstrip(" ")
        text = re.sub(r"[^#%)]+$", "", text)
    while text[:1] == " " or (text.count("(") > text.count(")") and text.startswith("(")):
        text, start = text[1:], start + 1
    return side._replace(text=text, start=start, end=start + len(text))


def _is_formula(skeleton: Skeleton, left: _Side, right: _Side) -> bool:
    """True if there is anything to compute, and the words around make it no clock, range or score."""
    if max(len(left.text), len(right.text)) > MAX_SIDE:
        return False
    signs = _OPERATION.findall(left.text[1:])
    is_word = right.equal[0] in "∼≡"
    if not signs and "√" not in left.text:
        return not is_word and bool(_OPERATION.search(right.text[1:]) or "√" in right.text or _is_share(left, right))
    if set(signs) - set("-/"):
        return True
    is_spaced = len(re.findall(r" [-/] ", left.text)) == len(signs)
    units = {number.unit for number in skeleton.numbers(right.start, right.end)}
    return is_spaced or not (is_word or units & {"hour", "year", "day"})


def _is_repeated(skeleton: Skeleton, left: _Side, right: _Side) -> bool:
    """True for two plain numbers of one unit: behind a computed side they are its result, said twice."""
    units = {number.unit for side in (left, right) for number in skeleton.numbers(side.start, side.end)}
    return right.equal[0] not in "∼≡" and left.text == right.text == "#" and len(units) == 1


_OPERATION = re.compile(r"[-+*/^⊕⊖⊗⊘]|(?<=[#%)])(?=[(√])")


def _is_share(left: _Side, right: _Side) -> bool:
    return {left.text, right.text} == {"#", "%"}


# ---- computing


class NotComputable(Exception):
    """The side is no expression, or has no value."""


class TooLarge(NotComputable):
    """A number in it grows beyond what is computed."""


Percent = Literal["share", "relative", "plain"]


def _judged(skeleton: Skeleton, left: _Side, right: _Side) -> Statement | None:
    own, other = (skeleton.numbers(side.start, side.end) for side in (left, right))
    if _is_share(left, right) and not any(number.has_decimals for number in (*own, *other)):
        return None
    has_percent = "%" in left.text + right.text
    kind: Kind = "percentage" if has_percent else "arithmetic"
    place = (left.start, right.end)
    mismatch = ""
    percents: Sequence[Percent] = ("share", "relative", "plain") if has_percent else ("plain",)
    for values, percent in itertools.product(_in_units(own, other, left.text + right.text), percents):
        try:
            one, two = (_value(side.text, used, percent) for side, used in zip((left, right), values, strict=True))
        except TooLarge:
            return Statement(kind, *place, None, "too_large: its numbers grow beyond what is computed")
        except NotComputable:
            continue
        if _agree(left, values[0], one, right, values[1], two, percent):
            return Statement(kind, *place, True)
        first, second = (two, one) if _is_single(left) and not _is_single(right) else (one, two)
        mismatch = mismatch or f"computed: {formatted(first)}, not {formatted(second)}"
    return Statement(kind, *place, False, mismatch) if mismatch else None


Numbers = Sequence[Number]


def _in_units(left: Numbers, right: Numbers, text: str) -> Iterator[tuple[Numbers, Numbers]]:
    """The numbers of both sides in each way that their units allow: converted to one, or as they stand."""
    both = [*left, *right]
    units = {number.unit for number in both if number.unit in FACTORS}
    dimensions = {FACTORS[unit][0] for unit in units}
    is_rate = len(dimensions) > 1 and set("*/⊗⊘") & set(text)
    if is_rate and (len(units) > len(dimensions) or "speed" in dimensions):
        return
    if len(units) > 1 and len(dimensions) == 1:
        factors = {unit: Fraction(str(FACTORS[unit][1])) for unit in units}
        yield tuple([n.times(factors.get(n.unit, 1)) for n in side] for side in (left, right))  # type: ignore[misc]
        if all(number.unit in FACTORS for number in both):
            return
    yield left, right
    if len(right) == 1 and right[0].scale > 1 and all(number.scale == 1 for number in left):
        yield left, [right[0].times(Fraction(1, right[0].scale))]  # 5 + 3 = 8 million


def _value(text: str, numbers: Numbers, percent: Percent) -> Fraction:
    """The exact value of an expression."""
    values: dict[str, tuple[Fraction, bool]] = {}
    source = ""
    rest = iter(numbers)
    for char in re.sub(_NOUN_BEHIND, "", text):
        if char in "#%":
            name, value = f"n{len(values)}", next(rest).value
            is_share = char == "%" and percent != "plain"
            values[name] = value / 100 if is_share else value, is_share and percent == "relative"
            source += f"({name})" if source.endswith("root") else name
        else:
            source += "*" if char in "(√" and re.search(r"[\d)] ?$", source) else ""  # 2(3 + 4), 5√2
            source += {"^": "**", "√": "root", "⊕": "+", "⊖": "-", "⊗": "*", "⊘": "/"}.get(char, char)
    try:
        return _evaluated(ast.parse(source.strip(), mode="eval").body, values)
    except (SyntaxError, RecursionError, MemoryError, ZeroDivisionError):
        raise NotComputable from None


_NOUN_BEHIND = re.compile(r"(?<=[#%]) [a-z][a-z'’ -]*(?=[^a-z])")


def _evaluated(node: ast.expr, values: dict[str, tuple[Fraction, bool]]) -> Fraction:
    if isinstance(node, ast.Name):
        return values[node.id][0]
    if isinstance(node, ast.UnaryOp):
        value = _evaluated(node.operand, values)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.Call) and len(node.args) == 1:
        return _root(_evaluated(node.args[0], values))
    if not isinstance(node, ast.BinOp):
        raise NotComputable
    one, two = _evaluated(node.left, values), _evaluated(node.right, values)
    if isinstance(node.op, ast.Pow):
        return _power(one, two)
    if isinstance(node.op, ast.Add | ast.Sub):
        if isinstance(node.right, ast.Name) and values[node.right.id][1]:
            two *= one  # 100 + 10%
        value = one + two if isinstance(node.op, ast.Add) else one - two
    else:
        value = one * two if isinstance(node.op, ast.Mult) else one / two
    if _bits(value) > MAX_BITS:
        raise TooLarge
    return value


def _bits(value: Fraction) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    if exponent == Fraction(1, 2):
        return _root(base)
    if exponent.denominator != 1:
        raise NotComputable
    if _bits(base) * abs(exponent.numerator) > MAX_BITS:
        raise TooLarge
    return base**exponent.numerator


_ROOT_SCALE = 3**125


def _root(value: Fraction) -> Fraction:
    """The square root; one that does not end to 59 digits, with a denominator that does not let it end."""
    if value < 0 or _bits(value) > 2_000:
        raise NotComputable
    product = value.numerator * value.denominator
    return Fraction(math.isqrt(product * _ROOT_SCALE**2), value.denominator * _ROOT_SCALE)


# ---- comparing


def _is_single(side: _Side) -> bool:
    """True for one number, also with its sign; False for a sum of several."""
    return re.fullmatch(r"[( ]*-?[#%][) ]*", side.text) is not None


def _agree(
    left: _Side, own: Numbers, one: Fraction, right: _Side, other: Numbers, two: Fraction, percent: Percent
) -> bool:
    off, size, is_about = abs(one - two), max(abs(one), abs(two)), "≈" in right.equal
    if off <= size * sum((number.rounding for number in (*own, *other)), Fraction(0)):
        return True
    singles = [(s, n[0], v, c) for s, n, v, c in ((right, other, two, one), (left, own, one, two)) if _is_single(s)]
    for side, number, value, computed in singles:
        share = Fraction(1, 100) if "%" in side.text and percent != "plain" else Fraction(1)
        if fits(computed, number.times(share)._replace(value=value), is_approximate=is_about):
            return True
    return not singles and off <= size * (Fraction(1, 20) if is_about else Fraction(1, 10**9))
