"""Answers that are JSON, bare or in a code fence: one claim for each field that has a value.

A field is read with the name that its object gives itself, as a table's cell is with its row; `null` and an empty text
say that nothing is known, and claim nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from evidencerails.exchange import Span
from evidencerails.text.json_places import Path, walk

MAX_DEPTH = 40
"""Deeper JSON is no answer that anyone reads; it is left to the rules for text."""
MAX_FIELDS = 200
"""Fields of a longer answer are read some at a time: each claim takes a reading of the evidence."""
MAX_NAME_WORDS = 8
_FENCED = re.compile(r"```[ \t]*(?:json\w*)?[ \t]*\n(?P<body>\s*[\[{].*?)\n?[ \t]*```", re.DOTALL | re.IGNORECASE)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_\-.]+")
_UNIT = re.compile(r" (mm|cm|m|km|mg|g|kg|ml|l|mph|percent|usd|eur|gbp|seconds|minutes|hours|days|years)$")
"""Unit at the end of a key: "length_m"."""


class Field(NamedTuple):
    """One value of a JSON answer."""

    text: str
    """Standalone wording: "Halden Bridge opened: 1932"."""
    start: int
    end: int
    """Where key and value stand, in the text that was given."""


def json_parts(text: str) -> list[Span]:
    """The parts of a text that are JSON objects or lists of them: what is in fences, and what is all that stands
    before, between or behind these."""
    fences = list(_FENCED.finditer(text))
    places = [fence.span("body") for fence in fences]
    starts, ends = [0, *(fence.end() for fence in fences)], [*(fence.start() for fence in fences), len(text)]
    for start, end in zip(starts, ends, strict=True):
        bare = text[start:end].strip()
        if bare[:1] in ("{", "[") and bare[-1:] in ("}", "]"):
            first = text.index(bare[0], start)
            places.append((first, first + len(bare)))
    return [Span.of(text, start, end) for start, end in sorted(places) if _objects(text[start:end]) is not None]


def _objects(text: str) -> Any:
    """The object, or the list that has one; None for any other text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    is_list_of_some = isinstance(value, list) and any(isinstance(item, dict) for item in value)
    return value if isinstance(value, dict) or is_list_of_some else None


def fields_of(text: str) -> list[Field]:
    """The fields of a JSON text that have a value, in order; empty for anything but an object or a list of objects."""
    value = _objects(text)
    if value is None:
        return []
    places = dict(walk(text, 0))
    if max(map(len, places)) > MAX_DEPTH:
        return []
    fields = [Field(words, places[path].first, places[path].end) for words, path in _fields(value, (), "")]
    size = -(-len(fields) // MAX_FIELDS) or 1
    groups = (fields[first : first + size] for first in range(0, len(fields), size))
    return [Field("; ".join(field.text for field in group), group[0].start, group[-1].end) for group in groups]


def _fields(value: Any, path: Path, owner: str) -> Iterator[tuple[str, Path]]:
    """Wording and place of each value of an object, or of the objects of a list."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            if isinstance(item, (dict, list)):
                yield from _fields(item, (*path, index), owner)
        return
    name = next((own for key, own in value.items() if _NAMING.search(key) and _is_name(own)), owner)
    for key, member in value.items():
        yield from _values(member, (*path, key), _words(key), name)


def _values(value: Any, path: Path, key: str, name: str) -> Iterator[tuple[str, Path]]:
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _values(item, (*path, index), key, name)
    elif isinstance(value, dict):
        yield from _fields(value, path, f"{name} {key}".strip())
    elif value is not None and (not isinstance(value, str) or any(map(str.isalnum, value))):
        shown = value if isinstance(value, str) else json.dumps(value)
        if isinstance(value, (int, float)) and (unit := _UNIT.search(key)):
            key, shown = key[: unit.start()], f"{shown} {unit[1]}"
        yield f"{'' if shown == name else name} {key}: {shown}".strip(), path


_NAMING = re.compile(r"(?:name|title|subject|entity|label)$|^(?:product|person|company|city|country)$", re.IGNORECASE)
"""Keys under which an object says what it is called."""


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value.split()) <= MAX_NAME_WORDS


def _words(key: str) -> str:
    """A key as words: "openedIn" and "opened_in" as "opened in"."""
    return " ".join(part.lower() if not part.isupper() else part for part in _CAMEL.split(key) if part)
