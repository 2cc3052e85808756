"""The JSON values in a response, alone, in a code fence or with words around, and what is wrong with their writing.

All is linear in the length of the text, and nothing recurses: depth is measured before a value is read.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

from evidencerails.checks.structure.violations import Violation
from evidencerails.text.claimable import without_reasoning
from evidencerails.text.json_places import Path, walk

MAX_DIGITS = 400
"""A longer number is one that no consumer can hold."""
_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]|"', re.DOTALL)
_SLIP = re.compile(
    r'"(?:[^"\\]|\\.)*"|(?P<comma>,)(?=\s*[}\]])|(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<word>\b(?:True|False|None)\b)|"',
    re.DOTALL,
)
_CONSTANTS = ("NaN", "Infinity", "-Infinity")
_PYTHON_WORDS = {"True": "true", "False": "false", "None": "null"}


class FoundJson(NamedTuple):
    """One value in a text, or what was meant to be one."""

    start: int
    end: int
    slips: tuple[Violation, ...] = ()
    """What in the writing the standard does not allow."""
    is_read: bool = False
    value: Any = None
    text: str = ""
    """The text that was read in the end; offsets in it are those in the original."""


def extent(text: str, start: int) -> tuple[int | None, int]:
    """End of the value whose bracket opens at `start`, and its depth; the end is None if it is never closed."""
    depth = deepest = 0
    for token in _BRACKET.finditer(text, start):
        sign = token[0]
        if sign in "{[":
            depth += 1
            deepest = max(deepest, depth)
        elif sign in "}]":
            depth -= 1
            if depth == 0:
                return token.end(), deepest
        elif sign == '"':  # a string that is never closed
            return None, deepest
    return None, deepest


def read_json(text: str, start: int, end: int) -> FoundJson:
    """The JSON value that is `text[start:end]`.

    Trailing commas, comments, words of Python, NaN and keys given twice are noted, and the value is read all the same;
    with duplicate keys the last one counts. Anything else is `invalid_json` at the place where reading stopped.
    """
    body = text[start:end]
    slips: list[Violation] = []
    notes: set[str] = set()
    try:
        value = _loads(body, notes)
    except ValueError as first:
        body, slips = _repaired(body, start)
        try:
            value = _loads(body, notes)
        except ValueError:
            return FoundJson(start, end, (_broken(first, text, start, end),))
    if notes:
        slips += [slip for slip in _noted(body, start) if slip.name in notes]
    return FoundJson(start, end, tuple(slips), True, value, text[:start] + body)


def _loads(body: str, notes: set[str]) -> Any:
    def integer(digits: str) -> int | float:
        if len(digits) > MAX_DIGITS:
            notes.add("number_too_large")
            return math.copysign(sys.float_info.max, -1 if digits[0] == "-" else 1)
        return int(digits)

    def real(digits: str) -> float:
        number = float(digits)
        if math.isinf(number):
            notes.add("number_too_large")
            return math.copysign(sys.float_info.max, number)
        return number

    def constant(name: str) -> float:
        notes.add("not_a_number")
        return float(name.replace("Infinity", "inf"))

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(items)
        if len(found) < len(items):
            notes.add("duplicate_key")
        return found

    return json.loads(body, parse_int=integer, parse_float=real, parse_constant=constant, object_pairs_hook=pairs)


def _broken(error: ValueError, text: str, start: int, end: int) -> Violation:
    at = start + min(getattr(error, "pos", 0), end - start)
    message = getattr(error, "msg", str(error))
    line = text.count("\n", 0, at) + 1
    return Violation("invalid_json", f"{message} at character {at}, line {line}", start=at, end=min(at + 1, end))


def _repaired(body: str, offset: int) -> tuple[str, list[Violation]]:
    """The text with slips that leave no doubt put right, each by as many characters, and the slips."""
    slips: list[Violation] = []

    def put_right(found: re.Match[str]) -> str:
        if found["comma"]:
            name, message, new = "trailing_comma", "a comma before a closing bracket", ""
        elif found["comment"]:
            name, message, new = "comment", "a comment", ""
        elif found["word"]:
            new = _PYTHON_WORDS[found[0]]
            name, message = "python_literal", f"{found[0]} instead of {new}"
        else:
            return found[0]
        slips.append(Violation(name, message, start=found.start() + offset, end=found.end() + offset))
        return new.ljust(len(found[0]))

    return _SLIP.sub(put_right, body), slips


def _noted(body: str, offset: int) -> Iterator[Violation]:
    """Keys given twice, NaN and numbers without end, with their places."""
    seen: set[Path] = set()
    for path, place in walk(body, 0):
        if path and isinstance(path[-1], str):
            if path in seen:
                message = f"the key {path[-1][:80]!r} is given twice"
                yield Violation("duplicate_key", message, path, "", place.first + offset, place.end + offset)
            seen.add(path)
        written, message = body[place.start : min(place.end, place.start + MAX_DIGITS + 2)], ""
        if written in _CONSTANTS:
            name, message = "not_a_number", f"{written} is no JSON"
        elif written[0] in "-0123456789" and _is_too_large(written):
            name = "number_too_large"
            message = f"a number of {place.end - place.start} characters that no consumer can hold"
        if message:
            yield Violation(name, message, path, "", place.start + offset, place.end + offset)


def _is_too_large(written: str) -> bool:
    return len(written.partition("e")[0]) > MAX_DIGITS or math.isinf(float(written))


# ---- where the values are


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
        is_value = read.is_read and (text[start] == "{" or wants_array or any(isinstance(i, dict) for i in read.value))
        if is_value or depth > MAX_DEPTH:
            values.append(read)
        elif not read.is_read and looks:
            broken.append(read)
        is_done = read.is_read or depth > MAX_DEPTH
        cost += 0 if is_done else end - start
        place = end if is_done else start + 1
    return values or broken[:1]


def _read(text: str, start: int, end: int, depth: int) -> FoundJson:
    if depth > MAX_DEPTH:
        message = f"nested {depth} levels deep; the limit is {MAX_DEPTH}"
        return FoundJson(start, end, (Violation("too_deep", message, start=start, end=end),))
    return read_json(text, start, end)


def _unclosed(start: int, stop: int) -> FoundJson:
    message = f"the JSON that begins at character {start} ends before it is complete"
    return FoundJson(start, stop, (Violation("invalid_json", message, start=start, end=stop),))
