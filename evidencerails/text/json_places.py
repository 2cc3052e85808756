"""Where each part of a JSON text stands: for spans of fields, citations and violations.

In: a text that is known to be JSON. Out: paths and offsets. Linear in the length of the text, and nothing recurses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

Path = tuple["str | int", ...]
"""Keys and indexes from the root of a value to one part of it."""
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+|"', re.DOTALL)


_FENCED = re.compile(r"\s*(?:```[\w+-]*[ \t]*\n)?(.*?)(?:```)?\s*", re.DOTALL)


def whole_json(text: str) -> tuple[int, Any] | None:
    """Where the JSON object or list begins that a text is, alone or in a code fence, and its value; None for any other
    text."""
    body = _FENCED.fullmatch(text)
    if body is None or not body[1].lstrip().startswith(("{", "[")):
        return None
    try:
        return body.start(1), json.loads(body[1])
    except (ValueError, RecursionError):
        return None


class Place(NamedTuple):
    """Where a part of the JSON stands: its value, and the beginning of its key if it has one."""

    first: int
    start: int
    end: int


class _Open:
    """An object or list whose closing bracket has not come yet."""

    def __init__(self, path: Path, is_object: bool, first: int, start: int) -> None:
        self.path, self.is_object, self.first, self.start = path, is_object, first, start
        self.index = 0
        self.key: str | None = None
        self.key_start = 0

    def child(self, start: int) -> tuple[Path, int]:
        """Path and first character of the value that begins at `start`."""
        if self.is_object:
            return (*self.path, self.key or ""), self.key_start
        return (*self.path, self.index), start


def walk(text: str, start: int) -> Iterator[tuple[Path, Place]]:
    """Path and place of every part of a value that is known to be JSON, inner ones first."""
    stack: list[_Open] = []
    for token in _TOKEN.finditer(text, start):
        sign, at = token[0], token.start()
        top = stack[-1] if stack else None
        if sign in "{[":
            path, first = top.child(at) if top else ((), at)
            stack.append(_Open(path, sign == "{", first, at))
        elif sign in "}]":
            if top is None:
                return
            yield top.path, Place(top.first, top.start, token.end())
            stack.pop()
            if not stack:
                return
        elif sign == ",":
            if top is not None:
                top.index, top.key = top.index + 1, None
        elif sign == ":":
            continue
        elif top is not None and top.is_object and top.key is None:
            top.key, top.key_start = json.loads(sign), at
        else:
            path, first = top.child(at) if top else ((), at)
            yield path, Place(first, at, token.end())
            if top is None:
                return
