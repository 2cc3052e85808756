"""The JSON values in a response: alone, in a code fence, or with words around."""

from __future__ import annotations

import re
from typing import NamedTuple

from evidencerails.checks.structure.json import Reading, Slip, extent, read_json
from evidencerails.text.claimable import without_reasoning

MAX_STARTS = 100
"""Brackets in prose at which a value is looked for."""
MAX_CHARACTERS_READ = 3_000_000
"""...until so many characters have been read in vain: brackets that are never closed cost the rest of the text each."""
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n`]*\n(.*?)(?:^[ \t]*\1|\Z)", re.DOTALL | re.MULTILINE)
_START = re.compile(r"[{\[]")
_LOOKS_LIKE_JSON = re.compile(r"\{\s*(?:[\"'}]|[A-Za-z_]\w*\s*:)|\[\s*(?:[{\[\"\]]|-?\d)")
_SCALAR = re.compile(r'\s*("(?:[^"\\\n]|\\.)*"|-?\d[\d.eE+-]*|true|false|null)\s*')


class FoundJson(NamedTuple):
    """One value in the response, or what was meant to be one."""

    start: int
    end: int
    reading: Reading


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


def find_json(response: str, *, max_depth: int, wants_array: bool = True, wants_scalar: bool = False) -> Found:
    """The JSON values of a response.

    Arguments:
        wants_array: False leaves out lists without an object in them: `[1]` is a citation.
        wants_scalar: True takes a response that is a single number, string or word of JSON as a value.
    """
    alone = _alone(response, max_depth, wants_scalar)
    if alone is not None:
        return Found((alone,), False)
    text = _without_reasoning(response)
    alone = _alone(text, max_depth, wants_scalar)
    if alone is not None:
        return Found((alone,), False)
    if not text.strip():
        return Found((), False)
    values = _in_fences(text, max_depth) or _in_prose(text, max_depth, wants_array)
    return Found(tuple(values), True)


def _alone(text: str, max_depth: int, wants_scalar: bool) -> FoundJson | None:
    """The value that is all of the text but white space."""
    begin, stop = len(text) - len(text.lstrip()), len(text.rstrip())
    if begin < stop and text[begin] in "{[":
        end, depth = extent(text, begin)
        if end == stop:
            return _read(text, begin, stop, depth, max_depth)
    elif wants_scalar and _SCALAR.fullmatch(text):
        return FoundJson(begin, stop, read_json(text, begin, stop))
    return None


def _in_fences(text: str, max_depth: int) -> list[FoundJson]:
    values = []
    for fence in _FENCE.finditer(text):
        body = fence[2]
        start = fence.start(2) + len(body) - len(body.lstrip())
        stop = fence.start(2) + len(body.rstrip())
        if start < stop and text[start] in "{[":
            values += _of_block(text, start, stop, max_depth)
    return values


def _of_block(text: str, start: int, stop: int, max_depth: int) -> list[FoundJson]:
    """The values of one code block: one, or one after the other (JSON lines)."""
    values: list[FoundJson] = []
    while start < stop and text[start] in "{[":
        end, depth = extent(text, start)
        if end is None or end > stop:
            return [*values, FoundJson(start, stop, Reading(None, False, (_unclosed(text, start, stop),)))]
        values.append(_read(text, start, end, depth, max_depth))
        rest = text[end:stop]
        start = end + len(rest) - len(rest.lstrip())
    return values


def _in_prose(text: str, max_depth: int, wants_array: bool) -> list[FoundJson]:
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
                broken.append(FoundJson(start, len(text), Reading(None, False, (_unclosed(text, start, len(text)),))))
            place = start + 1
            continue
        read = _read(text, start, end, depth, max_depth)
        is_value = read.reading.is_read and (text[start] == "{" or wants_array or _holds_object(read.reading.value))
        if is_value or depth > max_depth:
            values.append(read)
        elif not read.reading.is_read and looks:
            broken.append(read)
        is_done = read.reading.is_read or depth > max_depth
        cost += 0 if is_done else end - start
        place = end if is_done else start + 1
    return values or broken[:1]


def _holds_object(value: object) -> bool:
    return isinstance(value, list) and any(isinstance(item, dict) for item in value)


def _read(text: str, start: int, end: int, depth: int, max_depth: int) -> FoundJson:
    if depth > max_depth:
        slip = Slip("too_deep", start, end, f"nested {depth} levels deep; structure.max_depth is {max_depth}")
        return FoundJson(start, end, Reading(None, False, (slip,)))
    return FoundJson(start, end, read_json(text, start, end))


def _unclosed(text: str, start: int, stop: int) -> Slip:
    return Slip("invalid_json", start, stop, f"the JSON that begins at character {start} ends before it is complete")
