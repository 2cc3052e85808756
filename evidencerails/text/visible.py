"""Text of others made harmless: nothing in it may move a cursor, change colours, or reorder what is read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_HOSTILE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 (without tab and newline), DEL and C1: ANSI escapes begin here
    "\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0"
    "\ufff9-\ufffb"  # invisible characters and the bidirectional controls ("Trojan Source")
    "\ud800-\udfff"  # lone surrogates cannot be written to any stream
    "\U000e0000-\U000e0fff"  # tags
    "]"
)


def visible(text: str, *, one_line: bool = False) -> str:
    """The text with every control, invisible and bidirectional character spelled out, as in `\\x1b` or `\\u202e`.

    Tabs and newlines stay, unless `one_line` turns each run of white space into one blank.
    """
    if one_line:
        text = re.sub(r"[ \t\r\n]+", " ", text)
    return _HOSTILE.sub(_spelled, text)


def _spelled(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def all_visible(value: Any) -> Any:
    """Plain data with every text made visible: HTML escaping alone lets bidirectional controls through."""
    if hasattr(value, "__html__"):
        return value
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, Mapping):
        return {key: all_visible(item) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(all_visible, value))
    return [all_visible(item) for item in value] if isinstance(value, (list, tuple)) else value
