"""What does not fit a JSON Schema, each with its name, place and words that stay short."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from evidencerails.checks.structure.json import Path, pointer
from evidencerails.checks.structure.schema_clock import Clock, bounded_search

NAMES = {
    "required": "missing_field",
    "dependentRequired": "missing_field",
    "dependencies": "missing_field",
    "additionalProperties": "unknown_field",
    "unevaluatedProperties": "unknown_field",
    "propertyNames": "unknown_field",
    "type": "wrong_type",
    "enum": "not_allowed",
    "const": "not_allowed",
    "not": "not_allowed",
    "pattern": "pattern_mismatch",
    "format": "bad_format",
    "uniqueItems": "duplicate_items",
    "multipleOf": "out_of_range",
    "divisibleBy": "out_of_range",
    "minLength": "wrong_length",
    "maxLength": "wrong_length",
    "minItems": "wrong_length",
    "maxItems": "wrong_length",
    "minProperties": "wrong_length",
    "maxProperties": "wrong_length",
    "minContains": "wrong_length",
    "maxContains": "wrong_length",
    "contains": "wrong_length",
    "minimum": "out_of_range",
    "maximum": "out_of_range",
    "exclusiveMinimum": "out_of_range",
    "exclusiveMaximum": "out_of_range",
}
"""Violation by the keyword that found it; every other keyword is `schema_violation`."""

MAX_SHOWN = 80


class Violation(NamedTuple):
    """One thing that does not fit, at one place."""

    name: str
    path: Path
    message: str
    keyword: str = ""


def violations_of_error(error: Any, clock: Clock) -> Iterator[Violation]:
    """The violations behind one error of `jsonschema`: each missing or unknown field, of alternatives the nearest."""
    path: Path = tuple(error.absolute_path)
    if error.validator in ("anyOf", "oneOf") and error.context:
        yield from _of_nearest_branch(error, clock)
    elif error.validator in ("required", "dependentRequired") and isinstance(error.instance, dict):
        yield from _missing(error, path)
    elif error.validator == "additionalProperties" and error.validator_value is False:
        for key in _extra_keys(error, clock):
            yield Violation(
                "unknown_field", (*path, key), f"the field {shown(key)} is not in the schema", "additionalProperties"
            )
    else:
        name = NAMES.get(str(error.validator), "schema_violation")
        yield Violation(name, path, _message(error), str(error.validator))


def _missing(error: Any, path: Path) -> Iterator[Violation]:
    if error.validator == "required" and isinstance(error.validator_value, list):
        # The library yields one error a key, with the key only in its message.
        key = next((k for k in error.validator_value if error.message.startswith(f"{k!r} ")), None)
        wanted = f"the required field {shown(key)} is missing" if key is not None else cut_short(error.message)
    else:
        wanted = cut_short(error.message)
    yield Violation("missing_field", path, wanted, str(error.validator))


def _extra_keys(error: Any, clock: Clock) -> Iterator[str]:
    known = error.schema.get("properties") or {}
    patterns = tuple(error.schema.get("patternProperties") or ())
    for key in error.instance:
        if key not in known and not any(bounded_search(pattern, key, clock) for pattern in patterns):
            yield key


def _of_nearest_branch(error: Any, clock: Clock) -> Iterator[Violation]:
    """The violations of the alternative that fits best: the fewest wrong types and tags, then the fewest violations."""
    branches: dict[Any, list[Any]] = {}
    for inner in error.context:
        branches.setdefault(inner.schema_path[0], []).append(inner)

    def misfit(branch: list[Any]) -> tuple[int, int]:
        base = len(error.absolute_path)
        other_kind = sum(e.validator in ("type", "const", "enum") and len(e.absolute_path) <= base + 1 for e in branch)
        return other_kind, len(branch)

    nearest = min(branches.values(), key=misfit)
    count = len(error.validator_value)
    for inner in nearest:
        for violation in violations_of_error(inner, clock):
            yield violation._replace(message=f"{violation.message} (nearest of {count} alternatives)")


def _message(error: Any) -> str:
    """The error in words that stay short whatever the value is."""
    value, wanted = shown(error.instance), error.validator_value
    messages = {
        "type": f"{value} is {type_name(error.instance)}, expected {_listed(wanted)}",
        "enum": f"{value} is not one of {cut_short(json.dumps(wanted, ensure_ascii=False), 300)}",
        "const": f"{value} is not {shown(wanted)}",
        "pattern": f"{value} does not match {shown(wanted)}",
        "format": f"{value} is no {_listed(wanted)}",
        "minimum": f"{value} is below the minimum {wanted}",
        "maximum": f"{value} is above the maximum {wanted}",
        "exclusiveMinimum": f"{value} is not above {wanted}",
        "exclusiveMaximum": f"{value} is not below {wanted}",
        "multipleOf": f"{value} is not a multiple of {wanted}",
        "minLength": f"{value} is shorter than {wanted} characters",
        "maxLength": f"{value} is longer than {wanted} characters",
        "minItems": f"fewer items than {wanted}",
        "maxItems": f"more items than {wanted}",
        "uniqueItems": "an item comes twice",
    }
    return messages.get(str(error.validator)) or cut_short(error.message)


def type_name(value: Any) -> str:
    """The JSON type of a value."""
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")


def _listed(wanted: Any) -> str:
    return " or ".join(map(str, wanted)) if isinstance(wanted, list) else str(wanted)


def shown(value: Any) -> str:
    """A value in words that stay short."""
    if isinstance(value, (dict, list)):
        return f"{type_name(value)} of {len(value)}"
    return cut_short(json.dumps(value, ensure_ascii=False, default=str))


def cut_short(text: str, limit: int = MAX_SHOWN * 2) -> str:
    """The text, with an ellipsis where it was cut."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def place_in_words(path: Path) -> str:
    """The JSON pointer for a reason: the root has no words of its own."""
    return pointer(path) or "the root"
