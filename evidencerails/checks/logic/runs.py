"""Which tokens around an equals sign belong to a formula, and whether the words beside them make it none."""

from __future__ import annotations

from collections.abc import Sequence

from evidencerails.checks.logic.numbers import UNITS
from evidencerails.checks.logic.tokens import Token

MAX_TOKENS = 400
"""Longer formulas are not computed."""
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


def left_run(tokens: Sequence[Token], place: int) -> list[Token]:
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


def right_run(tokens: Sequence[Token], place: int) -> list[Token]:
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


def says_something(left: Sequence[Token], right: Sequence[Token], equal: Token) -> bool:
    """True if there is anything to compute: a sign, a power, a root, or two units of one dimension."""
    if _has_operation(left):
        return True
    if _has_operation(right):
        return left[0].kind in ("number", "sign") and (not equal.is_word or any(t.is_word for t in right))
    return equal.kind == "equal" and is_conversion(left, right)


def goes_on(tokens: Sequence[Token], place: int, left: Sequence[Token], right: Sequence[Token]) -> bool:
    """True behind the result of a sum, `2 + 2 = 4 = 5`, where two bare numbers are said to be equal."""
    before = place - len(left) - 1
    is_chain = before > 0 and all(t.kind == "equal" and not t.is_word for t in (tokens[before], tokens[place]))
    numbers = [token for token in (*left, *right) if token.kind != "sign"]
    return (
        is_chain and len(numbers) == 2 and all(t.kind == "number" and not t.unit and not t.is_percent for t in numbers)
    )


def _has_operation(run: Sequence[Token]) -> bool:
    return any(t.kind in ("power", "root") for t in run) or any(t.kind == "sign" for t in run[1:])


def is_conversion(left: Sequence[Token], right: Sequence[Token]) -> bool:
    """True if both sides are one number each, of two units of one dimension, or a percentage and its share."""
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


def is_plain_here(
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
    if tokens[place].is_word and is_conversion(left, right) and not _follows_lead(tokens, left[0]):
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
