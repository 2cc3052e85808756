"""The fields of an answer that is JSON, with their places in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

_FENCED = re.compile(r"\s*(?:```[\w+-]*[ \t]*\n)?(.*?)(?:```)?\s*", re.DOTALL)
_SPACE = re.compile(r"[ \t\r\n]*")
_decoder = json.JSONDecoder()


class Field(NamedTuple):
    """One value that is neither object nor list, and where its text (with its key) is."""

    path: str
    """As in `order.items[0].price`."""
    value: Any
    start: int
    end: int


def json_fields(text: str) -> list[Field] | None:
    """The fields of a JSON object or array, alone or in a code fence; None if the text is something else."""
    body = _FENCED.fullmatch(text)
    if body is None or not body[1].lstrip().startswith(("{", "[")):
        return None
    try:
        json.loads(body[1])
        return list(_walk(text, _skip(text, body.start(1)), "", None))
    except (ValueError, RecursionError):
        return None


def same_value(value: Any) -> str:
    """A text that is equal for equal values: case and white space of strings do not count, 1 and 1.0 are one number."""
    if isinstance(value, str):
        return json.dumps(" ".join(value.casefold().split()))
    if isinstance(value, float) and value.is_integer():
        return json.dumps(int(value))
    return json.dumps(value)


def _walk(text: str, place: int, path: str, start: int | None) -> Iterator[Field]:
    """Fields of the value at `place`; the text was read by `json` before, so its grammar needs no checking."""
    if text[place] in "{[":
        yield from _members(text, place, path)
    else:
        value, end = _decoder.raw_decode(text, place)
        yield Field(path, value, place if start is None else start, end)


def _members(text: str, place: int, path: str) -> Iterator[Field]:
    is_object = text[place] == "{"
    place, index = _skip(text, place + 1), 0
    while text[place] not in "}]":
        start, name = place, f"{path}[{index}]"
        if is_object:
            key, place = _decoder.raw_decode(text, place)
            name = f"{path}.{key}".lstrip(".")
            place = _skip(text, _skip(text, place) + 1)
        yield from _walk(text, place, name, start if is_object else None)
        place = _skip(text, _decoder.raw_decode(text, place)[1])
        place = _skip(text, place + 1) if text[place] == "," else place
        index += 1


def _skip(text: str, place: int) -> int:
    match = _SPACE.match(text, place)
    return match.end() if match else place
