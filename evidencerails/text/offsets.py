"""Parts of a text as (start, end) character offsets, and a text with such parts masked."""

from __future__ import annotations

from collections.abc import Iterable

Offsets = tuple[int, int]


def masked(text: str, taken: Iterable[Offsets]) -> str:
    """The text with the taken parts blanked out, offsets unchanged."""
    pieces, last = [], 0
    for start, end in sorted(taken):
        if start >= last:
            pieces += [text[last:start], "\x00" * (end - start)]
            last = end
    return "".join([*pieces, text[last:]])
