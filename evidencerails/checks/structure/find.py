"""The JSON values in a response: alone, in a code fence, or with words around."""

from __future__ import annotations

import re
from typing import NamedTuple

from evidencerails.checks.structure.json import FoundJson, extent, read_json
from evidencerails.checks.structure.violations import Violation
from evidencerails.text.claimable import without_reasoning

MAX_DEPTH = 64
"""Deeper nested JSON is not read."""
MAX_STARTS = 100
"""Brackets in prose at which a value is looked for."""
MAX_CHARACTERS_READ = 3_000_000
"""...until so many characters have been read in vain: brackets that are never closed cost the rest of the text each."""
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n`]*\n(.*?)(?:^[ \t]*\1|\Z)", re.DOTALL | re.MULTILINE)
_START = re.compile(r"[{\[]")
_LOOKS_LIKE_JSON = re.compile(r"\{\s*(?:[\"'}]|[A-Za-z_]\w*\s*:)|\[\s*(?:[{\[\"\]]|-?\d)")
_SCALAR = re.compile(r'\s*("(?:[^"\\\n]|\\.)*"|-?\d[\d.eE+-]*|true|false|null)\s*')


class Found(NamedTuple):
    """The values of a response in order, and whether anything but white space is around them."""

    values: tuple[FoundJson, ...]
    has_text_around: bool


def _without_reasoning(text: str) -> str:
    """The text with a model's reasoning blanked, as long as before: a draft inside it is not the answer."""
    kept = [" "] * len(text)
    for span in without_reasoning(text):
        kept[span.start : span.end] = span.text
    return "".join(kept)


def find_json(response: str, *, wants_array: bool = True, wants_scalar: bool = False) -> Found:
    """The JSON values of a response.

    Arguments:
        wants_array: False leaves out lists without an object in them: `[1]` is a citation.
        wants_scalar: True takes a response that is a single number, string or word of JSON as a value.
    """
    text = _without_reasoning(response)
    alone = _alone(response, wants_scalar) or _alone(text, wants_scalar)
    if alone is not None:
        return Found((alone,), False)
    if not text.strip():
        return Found((), False)
    values = _in_fences(text) or _in_prose(text, wants_array)
    return Found(tuple(values), True)


def _alone(text: str, wants_scalar: bool) -> FoundJson | None:
    """The value that is all of the text but white space."""
    begin, stop = len(text) - len(text.lstrip()), len(text.rstrip())
    if begin < stop and text[begin] in "{[":
        end, depth = extent(text, begin)
        if end == stop:
            return _read(text, begin, stop, depth)
    elif wants_scalar and _SCALAR.fullmatch(text):
        return read_json(text, begin, stop)
    return None


def _in_fences(text: str) -> list[FoundJson]:
    values = []
    for fence in _FENCE.finditer(text):
        body = fence[2]
        start = fence.start(2) + len(body) - len(body.lstrip())
        stop = fence.start(2) + len(body.rstrip())
        if start < stop and text[start] in "{[":
            values += _of_block(text, start, stop)
    return values


def _of_block(text: str, start: int, stop: int) -> list[FoundJson]:
    """The values of one code block: one, or one after the other (JSON lines)."""
    values: list[FoundJson] = []
    while start < stop and text[start] in "{[":
        end, depth = extent(text, start)
        if end is None or end > stop:
            return [*values, _unclosed(start, stop)]
        values.append(_read(text, start, end, depth))
        rest = text[end:stop]
        start = end + len(rest) - len(rest.lstrip())
    return values


def _in_prose(text: str, wants_array: bool) -> list[FoundJson]:
    values, broken, place, cost = [], [], 0, 0
    for _ in range(MAX_STARTS):
        found = _START.search(text, place)
        if found is None or cost > MAX_CHARACTERS_READ:
            break
        start = found.start()
        end, depth = extent(text, start)
        looks = _LOOKS_LIKE_JSON.match(text, start) is not None
        if end is None:
            cost += len(text) - start
            if looks:
                broken.append(_unclosed(start, len(text)))
            place = start + 1
            continue
        read = _read(text, start, end, depth)
        is_value = read.is_read and (text[start] == "{" or wants_array or _holds_object(read.value))
        if is_value or depth > MAX_DEPTH:
            values.append(read)
        elif not read.is_read and looks:
            broken.append(read)
        is_done = read.is_read or depth > MAX_DEPTH
        cost += 0 if is_done else end - start
        place = end if is_done else start + 1
    return values or broken[:1]


def _holds_object(value: object) -> bool:
    return isinstance(value, list) and any(isinstance(item, dict) for item in value)


def _read(text: str, start: int, end: int, depth: int) -> FoundJson:
    if depth > MAX_DEPTH:
        message = f"nested {depth} levels deep; the limit is {MAX_DEPTH}"
        return FoundJson(start, end, (Violation("too_deep", message, start=start, end=end),))
    return read_json(text, start, end)


def _unclosed(start: int, stop: int) -> FoundJson:
    message = f"the JSON that begins at character {start} ends before it is complete"
    return FoundJson(start, stop, (Violation("invalid_json", message, start=start, end=stop),))
