"""JSON of a caller: valid UTF-8, not too deep, and nothing that only Python would accept."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from evidencerails.service.problems import Problem

MAX_DEPTH = 64
"""Deepest nesting of a request's JSON."""


def parsed(body: bytes) -> Any:
    """The value of a JSON body, or a `Problem` with status 400. The `items` of a batch may hold half characters: each
    is refused by itself."""
    try:
        text = body.decode("utf-8")
        value = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_without_duplicates)
        if _is_deeper(value, MAX_DEPTH):
            raise RecursionError
        if "\\u" in text:
            refuse_half_characters({**value, "items": None} if isinstance(value, dict) else value)
    except UnicodeDecodeError as error:
        raise Problem(400, "not_utf8", f"the body is not UTF-8 (byte {error.start})") from None
    except json.JSONDecodeError as error:
        raise Problem(400, "not_json", f"the body is not JSON: {error.msg} at character {error.pos}") from None
    except RecursionError:
        raise Problem(400, "too_deep", f"the body is nested more than {MAX_DEPTH} levels deep") from None
    except ValueError as error:  # a number with thousands of digits
        raise Problem(400, "not_json", f"the body holds a number that cannot be read: {error}") from None
    return value


def refuse_half_characters(value: Any) -> None:
    """Refuse a value with a text or key that holds half a character, as is left of an emoji that was cut in two."""
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        half = f"\\u{ord(error.object[error.start]):04x}"
        raise Problem(400, "not_utf8", f"a text holds half a character ({half} without its other half)") from None


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; with a key given twice, what stands before this service may have read the other value."""
    if len(found := dict(pairs)) != len(pairs):
        raise Problem(400, "not_json", "an object of the body has a key twice")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise Problem(400, "not_json", f"the body holds {name}, which JSON does not have")


def _is_deeper(value: Any, levels: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels < 0 or any(_is_deeper(item, levels - 1) for item in inner if isinstance(item, (dict, list)))
