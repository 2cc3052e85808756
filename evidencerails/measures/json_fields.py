"""The fields of an answer that is JSON, with their places in it."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from evidencerails.text.json_places import Path, walk, whole_json


class Field(NamedTuple):
    """One value that is neither object nor list, and where its text (with its key) is."""

    path: str
    """As in `order.items[0].price`."""
    value: Any
    start: int
    value_start: int
    end: int


def json_fields(text: str) -> list[Field] | None:
    """The fields of a JSON object or array, alone or in a code fence; None if the text is something else."""
    found = whole_json(text)
    if found is None:
        return None
    parts = ((path, place, text[place.start : place.end]) for path, place in walk(text, found[0]))
    return [
        Field(_dotted(path), json.loads(written), place.first, place.start, place.end)
        for path, place, written in parts
        if written[0] not in "{["
    ]


def _dotted(path: Path) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")


def same_value(value: Any) -> str:
    """A text that is equal for equal values: case and white space of strings do not count, 1 and 1.0 are one number."""
    if isinstance(value, str):
        return json.dumps(" ".join(value.casefold().split()))
    if isinstance(value, float) and value.is_integer():
        return json.dumps(int(value))
    return json.dumps(value)
