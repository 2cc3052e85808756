"""The pieces that formulas are made of."""

from __future__ import annotations

from typing import Literal, NamedTuple

TokenKind = Literal["number", "sign", "open", "close", "equal", "relation", "root", "power", "word", "unknown", "break"]


class Token(NamedTuple):
    """One token; `text` is normalised: `*` for every sign of multiplication."""

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
