"""Answers that are JSON, bare or in a code fence: one claim for each field that has a value.

A field is read with the name that its object gives itself, as a table's cell is with its row; `null` and an empty text
say that nothing is known, and claim nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from evidencerails.exchange import Span

MAX_DEPTH = 40
"""Deeper JSON is no answer that anyone reads; it is left to the rules for text."""
MAX_FIELDS = 200
"""Fields of a longer answer are read some at a time: each claim takes a reading of the evidence."""
MAX_NAME_WORDS = 8
_FENCED = re.compile(r"```[ \t]*(?:json\w*)?[ \t]*\n(?P<body>\s*[\[{].*?)\n?[ \t]*```", re.DOTALL | re.IGNORECASE)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_\-.]+")
_UNIT = re.compile(r" (mm|cm|m|km|mg|g|kg|ml|l|mph|percent|usd|eur|gbp|seconds|minutes|hours|days|years)$")
"""Unit at the end of a key: "length_m"."""
_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"\s*")


class Field(NamedTuple):
    """One value of a JSON answer."""

    text: str
    """Standalone wording: "Halden Bridge opened: 1932"."""
    start: int
    end: int
    """Where key and value stand, in the text that was given."""


def json_parts(text: str) -> list[Span]:
    """The parts of a text that are JSON objects or lists of them: the whole of it, or what is in fences."""
    places = [match.span("body") for match in _FENCED.finditer(text)]
    bare = text.strip()
    if not places and bare[:1] in ("{", "[") and bare[-1:] in ("}", "]"):
        start = text.index(bare[0])
        places = [(start, start + len(bare))]
    return [Span.of(text, start, end) for start, end in places if _has_object(text[start:end])]


def _has_object(text: str) -> bool:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) or (isinstance(value, list) and any(isinstance(item, dict) for item in value))


def fields_of(text: str) -> list[Field]:
    """The fields of a JSON text that have a value, in order; empty for anything but an object or a list of objects."""
    if not _has_object(text):
        return []
    try:
        return _gathered(list(_fields(text, skip_space(text, 0), "", 0)))
    except RecursionError:
        return []


def _gathered(fields: list[Field]) -> list[Field]:
    """At most `MAX_FIELDS`, neighbours together."""
    size = -(-len(fields) // MAX_FIELDS) or 1
    groups = (fields[first : first + size] for first in range(0, len(fields), size))
    return [Field("; ".join(field.text for field in group), group[0].start, group[-1].end) for group in groups]


def skip_space(text: str, at: int) -> int:
    """The place of what follows white space."""
    match = _SPACE.match(text, at)
    return match.end() if match else at


class Member(NamedTuple):
    """A member of an object, by its places in the text."""

    key: str
    start: int
    value: int
    """Where the value begins."""
    end: int


def _fields(text: str, at: int, owner: str, depth: int) -> Iterator[Field]:
    if depth > MAX_DEPTH:
        raise RecursionError(f"JSON of more than {MAX_DEPTH} levels")
    if text[at] == "[":
        for start in items_of(text, at):
            if text[start] in "[{":
                yield from _fields(text, start, owner, depth + 1)
        return
    members = list(members_of(text, at))
    name = _name(text, members) or owner
    for member in members:
        yield from _values(text, member, member.value, name, depth)


def _values(text: str, member: Member, at: int, name: str, depth: int) -> Iterator[Field]:
    if text[at] == "[":
        for start in items_of(text, at):
            yield from _values(text, member._replace(start=start), start, name, depth + 1)
    elif text[at] == "{":
        yield from _fields(text, at, f"{name} {_words(member.key)}".strip(), depth + 1)
    else:
        value, end = _DECODER.raw_decode(text, at)
        if value is None or value == "" or (isinstance(value, str) and not any(map(str.isalnum, value))):
            return
        key, shown = _words(member.key), value if isinstance(value, str) else json.dumps(value)
        if isinstance(value, (int, float)) and (unit := _UNIT.search(key)):
            key, shown = key[: unit.start()], f"{shown} {unit[1]}"
        yield Field(f"{'' if shown == name else name} {key}: {shown}".strip(), member.start, end)


def members_of(text: str, at: int) -> Iterator[Member]:
    """The members of the object that begins at `at`."""
    at = skip_space(text, at + 1)
    while text[at] != "}":
        start = at
        key, at = _DECODER.raw_decode(text, at)
        value = skip_space(text, skip_space(text, at) + 1)  # behind the colon
        _, end = _DECODER.raw_decode(text, value)
        yield Member(key, start, value, end)
        at = skip_space(text, end)
        if text[at] == ",":
            at = skip_space(text, at + 1)


def items_of(text: str, at: int) -> Iterator[int]:
    """Where the items of the list that begins at `at` begin."""
    at = skip_space(text, at + 1)
    while text[at] != "]":
        yield at
        _, end = _DECODER.raw_decode(text, at)
        at = skip_space(text, end)
        if text[at] == ",":
            at = skip_space(text, at + 1)


_NAMING = re.compile(r"(?:name|title|subject|entity|label)$|^(?:product|person|company|city|country)$", re.IGNORECASE)


def _name(text: str, members: list[Member]) -> str:
    """What the object calls itself: the text of its first naming key."""
    for member in members:
        if text[member.value] == '"' and _NAMING.search(member.key):
            value = _DECODER.raw_decode(text, member.value)[0]
            if value.strip() and len(value.split()) <= MAX_NAME_WORDS:
                return str(value)
    return ""


def _words(key: str) -> str:
    """A key as words: "openedIn" and "opened_in" as "opened in"."""
    return " ".join(part.lower() if not part.isupper() else part for part in _CAMEL.split(key) if part)
