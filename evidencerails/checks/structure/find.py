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


def find_json(response: str, *, wants_array: bool = True, wants_scalar: bool = False) -> Found:
    """The JSON values of a response.

    Arguments:
        wants_array: False leaves out lists without an object in them: `[1]` is a citation.
        wants_scalar: True takes a response that is a single number, string or word of JSON as a value.
    """
    kept = [" "] * len(response)
    for span in without_reasoning(response):  # a draft inside a model's reasoning is not the answer
        kept[span.start : span.end] = span.text
    text = "".join(kept)
    for whole in (response, text):
        begin, stop = len(whole) - len(whole.lstrip()), len(whole.rstrip())
        if whole[begin:stop][:1] in ("{", "["):
            end, depth = extent(whole, begin)
            if end == stop:
                return Found((_read(whole, begin, stop, depth),), False)
        elif wants_scalar and _SCALAR.fullmatch(whole):
            return Found((read_json(whole, begin, stop),), False)
    if not text.strip():
        return Found((), False)
    return Found(tuple(_in_fences(text) or _in_prose(text, wants_array)), True)


def _in_fences(text: str) -> list[FoundJson]:
    """The values of the code blocks: of each one, or one after the other (JSON lines)."""
    values = []
    for fence in _FENCE.finditer(text):
        start, stop = fence.start(2), fence.start(2) + len(fence[2].rstrip())
        while (body := text[start:stop].lstrip())[:1] in ("{", "["):
            start = stop - len(body)
            end, depth = extent(text, start)
            if end is None or end > stop:
                values.append(_unclosed(start, stop))
                break
            values.append(_read(text, start, end, depth))
            start = end
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
