"""JSON of strangers: valid UTF-8, not too deep, and nothing that only Python would accept."""

from __future__ import annotations

import asyncio
import json
from typing import Any, NoReturn

from evidencerails.service.problems import Problem

LARGE_BYTES = 64 * 1024
"""Bodies above it are parsed in a thread."""


async def parsed(body: bytes, *, max_depth: int) -> Any:
    """The value of a JSON body.

    Raises:
        Problem: 400, it is not UTF-8, not JSON, too deep, or holds half a character.
    """
    if len(body) > LARGE_BYTES:
        return await asyncio.to_thread(parse, body, max_depth)
    return parse(body, max_depth)


def parse(body: bytes, max_depth: int) -> Any:
    """As `parsed`, at once."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Problem(400, "not_utf8", f"the body is not UTF-8 (byte {error.start})") from None
    try:
        value = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_without_duplicates)
    except json.JSONDecodeError as error:
        raise Problem(400, "not_json", f"the body is not JSON: {error.msg} at character {error.pos}") from None
    except RecursionError:
        raise _too_deep(max_depth) from None
    except ValueError as error:  # a number with thousands of digits
        raise Problem(400, "not_json", f"the body holds a number that cannot be read: {error}") from None
    _require_sound(value, max_depth, check_surrogates="\\u" in text)
    return value


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; with a key given twice, what stands before this service may have read the other value."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Problem(400, "not_json", "an object of the body has a key twice")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise Problem(400, "not_json", f"the body holds {name}, which JSON does not have")


def _too_deep(max_depth: int) -> Problem:
    return Problem(400, "too_deep", f"the body is nested more than {max_depth} levels deep")


def _require_sound(value: Any, max_depth: int, *, check_surrogates: bool) -> None:
    """Walk level by level, so that no depth can exhaust the stack."""
    level = [value]
    for _ in range(max_depth + 1):
        texts = [text for item in level for text in _texts(item)] if check_surrogates else ()
        for text in texts:
            _require_whole_characters(text)
        level = [inner for item in level for inner in _inner(item)]
        if not level:
            return
    raise _too_deep(max_depth)


def _texts(item: Any) -> list[str]:
    if isinstance(item, dict):
        return list(item)
    return [item] if isinstance(item, str) else []


def _inner(item: Any) -> list[Any]:
    values = item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
    return [value for value in values if isinstance(value, (dict, list, str))]


def _require_whole_characters(text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise Problem(
            400, "not_utf8", f"a text holds half a character (\\u{ord(text[error.start]):04x} without its other half)"
        ) from None
