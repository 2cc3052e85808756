"""What the words behind a number are: its unit, or a sign."""

from __future__ import annotations

from evidencerails.checks.logic.numbers import (
    UNITS,
)
from evidencerails.checks.logic.tokens import Token


def with_units(tokens: list[Token]) -> list[Token]:
    """`x` between two numbers is a sign; words behind a number are its unit."""
    settled: list[Token] = []
    place = 0
    while place < len(tokens):
        token = tokens[place]
        last = settled[-1] if settled else None
        if token.kind == "word" and token.text == "x" and last is not None and last.kind in ("number", "close"):
            following = tokens[place + 1] if place + 1 < len(tokens) else None
            is_times = following is not None and following.kind in ("number", "open", "root")
            settled.append(token._replace(kind="sign", text="*") if is_times else token._replace(kind="unknown"))
        elif token.kind == "word" and last is not None and last.kind in ("number", "power", "close"):
            place = _take_unit(tokens, place, settled)
            continue
        else:
            settled.append(token)
        place += 1
    return settled


MAX_UNIT_WORDS = 4

_NO_UNIT = frozenset(
    """of and or the a an than that this which who so then if because since but to from by with in
    on at for as not more less fewer times remainder rem mod modulo o'clock am pm percent percentage
    point points we you it they he she can there have has had do does did when while where after
    before until between into over under out off up""".split()  # noqa: SIM905 - words read better than a list
)


def _take_unit(tokens: list[Token], place: int, settled: list[Token]) -> int:
    """Join the words behind a number to it if a sign or an end follows; gives the place behind them."""
    end = place
    while end < len(tokens) and tokens[end].kind == "word" and end - place < MAX_UNIT_WORDS + 1:
        end += 1
    words = tokens[place:end]
    following = tokens[end] if end < len(tokens) else None
    joins = (
        len(words) <= MAX_UNIT_WORDS
        and not any(len(word.text) == 1 and word.text not in UNITS and word.text != "a" for word in words)
        and not any(word.text in _NO_UNIT for word in words[:-1] if word.text not in ("of", "per", "a", "an", "each"))
        and words[0].text not in _NO_UNIT
        and (
            following.kind in ("sign", "equal", "close", "relation")
            if following is not None and following.kind != "break"
            else len(words) == 1 and words[0].text in UNITS
        )
    )
    if joins and settled[-1].kind == "number":
        name = words[0].text
        settled[-1] = settled[-1]._replace(end=words[-1].end, unit=settled[-1].unit or name)
        return end
    settled.append(tokens[place])
    return place + 1
