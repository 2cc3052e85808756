"""What does not fit, each with its name, its place and a message that stays short.

In: an error of `jsonschema`. Out: violations; of alternatives (`anyOf`, `oneOf`) those of the nearest one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from evidencerails.checks.structure.schema import pattern_found
from evidencerails.text.json_places import Path

NAMES = {
    "missing_field": "required dependentRequired dependencies",
    "unknown_field": "additionalProperties unevaluatedProperties propertyNames",
    "wrong_type": "type",
    "not_allowed": "enum const not",
    "pattern_mismatch": "pattern",
    "bad_format": "format",
    "duplicate_items": "uniqueItems",
    "out_of_range": "multipleOf divisibleBy minimum maximum exclusiveMinimum exclusiveMaximum",
    "wrong_length": "minLength maxLength minItems maxItems minProperties maxProperties minContains maxContains"
    " contains",
}
"""Violation and the keywords that find it; every other keyword is `schema_violation`."""
_NAME_OF_KEYWORD = {keyword: name for name, keywords in NAMES.items() for keyword in keywords.split()}
_MESSAGES = {
    "pattern": "{value} does not match {wanted}",
    "const": "{value} is not {wanted}",
    "minimum": "{value} is below the minimum {wanted}",
    "maximum": "{value} is above the maximum {wanted}",
    "exclusiveMinimum": "{value} is not above {wanted}",
    "exclusiveMaximum": "{value} is not below {wanted}",
    "multipleOf": "{value} is not a multiple of {wanted}",
    "minLength": "{value} is shorter than {wanted} characters",
    "maxLength": "{value} is longer than {wanted} characters",
    "minItems": "fewer items than {wanted}",
    "maxItems": "more items than {wanted}",
    "uniqueItems": "an item comes twice",
}
"""Message by keyword where that of `jsonschema` would repeat the whole value."""
MAX_SHOWN = 160
_TYPE_NAMES = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}


class Violation(NamedTuple):
    """One thing that does not fit."""

    name: str
    message: str
    path: Path | None = None
    """Where it is in the value; None for something in the writing that belongs to no part of it."""
    keyword: str = ""
    start: int | None = None
    end: int | None = None
    """Offsets in the response; None where there is no such place, or it has not been looked up yet."""


def violations_of_error(error: Any) -> Iterator[Violation]:
    """The violations behind one error of `jsonschema`: each missing or unknown field, of alternatives the nearest."""
    keyword, path = str(error.validator), tuple(error.absolute_path)
    if keyword in ("anyOf", "oneOf") and error.context:
        yield from _of_nearest_branch(error)
    elif keyword == "required" and isinstance(error.validator_value, list):
        # The library yields one error a key, with the key only in its message.
        key = next((k for k in error.validator_value if error.message.startswith(f"{k!r} ")), None)
        message = cut_short(error.message) if key is None else f"the required field {shown(key)} is missing"
        yield Violation("missing_field", message, path, keyword)
    elif keyword == "additionalProperties" and error.validator_value is False:
        for key in _extra_keys(error):
            yield Violation("unknown_field", f"the field {shown(key)} is not in the schema", (*path, key), keyword)
    else:
        yield Violation(_NAME_OF_KEYWORD.get(keyword, "schema_violation"), _message(error), path, keyword)


def _extra_keys(error: Any) -> Iterator[str]:
    known = error.schema.get("properties") or {}
    patterns = tuple(error.schema.get("patternProperties") or ())
    for key in error.instance:
        if key not in known and not any(pattern_found(pattern, key) for pattern in patterns):
            yield key


def _of_nearest_branch(error: Any) -> Iterator[Violation]:
    """The violations of the alternative that fits best: the fewest wrong types and tags, then the fewest violations."""
    branches: dict[Any, list[Any]] = {}
    for inner in error.context:
        branches.setdefault(inner.schema_path[0], []).append(inner)
    depth = len(error.absolute_path)

    def misfit(branch: list[Any]) -> tuple[int, int]:
        other_kind = sum(e.validator in ("type", "const", "enum") and len(e.absolute_path) <= depth + 1 for e in branch)
        return other_kind, len(branch)

    for inner in min(branches.values(), key=misfit):
        for violation in violations_of_error(inner):
            message = f"{violation.message} (nearest of {len(error.validator_value)} alternatives)"
            yield violation._replace(message=message)


def _message(error: Any) -> str:
    """The error in words that stay short whatever the value is."""
    value, wanted, keyword = shown(error.instance), error.validator_value, str(error.validator)
    if keyword == "type":
        return f"{value} is {type_name(error.instance)}, expected {_listed(wanted)}"
    if keyword == "enum":
        return f"{value} is not one of {cut_short(json.dumps(wanted, ensure_ascii=False), 300)}"
    if keyword == "format":
        return f"{value} is no {wanted}"
    if keyword in _MESSAGES:
        return _MESSAGES[keyword].format(value=value, wanted=shown(wanted))
    return cut_short(error.message)


def type_name(value: Any) -> str:
    """The JSON type of a value."""
    return _TYPE_NAMES.get(type(value), "null")


def _listed(wanted: Any) -> str:
    return " or ".join(map(str, wanted)) if isinstance(wanted, list) else str(wanted)


def shown(value: Any) -> str:
    """A value in words that stay short."""
    if isinstance(value, (dict, list)):
        return f"{type_name(value)} of {len(value)}"
    return cut_short(json.dumps(value, ensure_ascii=False, default=str))


def cut_short(text: str, limit: int = MAX_SHOWN) -> str:
    """The text, with an ellipsis where it was cut."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def pointer(path: Path) -> str:
    """The JSON pointer (RFC 6901) of a path; empty for the root."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)
