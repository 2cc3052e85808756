"""The fields of an answer that is JSON, with their places in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from evidencerails.text.json_answers import items_of, members_of, skip_space

_FENCED = re.compile(r"\s*(?:```[\w+-]*[ \t]*\n)?(.*?)(?:```)?\s*", re.DOTALL)
_DECODER = json.JSONDecoder()


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
        return list(_walk(text, skip_space(text, body.start(1)), "", None))
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
    if text[place] == "{":
        for member in members_of(text, place):
            yield from _walk(text, member.value, f"{path}.{member.key}".lstrip("."), member.start)
    elif text[place] == "[":
        for number, item in enumerate(items_of(text, place)):
            yield from _walk(text, item, f"{path}[{number}]", None)
    else:
        value, end = _DECODER.raw_decode(text, place)
        yield Field(path, value, place if start is None else start, end)
