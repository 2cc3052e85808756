"""What a response has to fit, a schema or a pydantic model, and what does not, each with its name, place and message.

Of alternatives (`anyOf`, `oneOf`) the violations of the nearest one count; messages stay short.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path as FilePath
from typing import Any, NamedTuple

from evidencerails.checks.structure.schema import Compiled, SchemaProblem, compiled, pattern_found
from evidencerails.errors import SettingsError
from evidencerails.settings.own_parts import imported
from evidencerails.settings.reading import YamlError, read_yaml
from evidencerails.settings.structure import StructureSettings
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


# ---- what has to fit


class ValueModel(NamedTuple):
    """A pydantic model, or anything pydantic can validate."""

    adapter: Any
    name: str


class Rules(NamedTuple):
    """What one response is compared with: a schema, or a model."""

    schema: Compiled | None = None
    model: ValueModel | None = None

    @property
    def root_schema(self) -> dict[str, Any]:
        """The JSON Schema, or that of the model.

        Raises:
            SchemaProblem: pydantic has no JSON Schema for the model.
        """
        if self.schema is not None:
            return self.schema.root
        try:
            return dict(self.model.adapter.json_schema()) if self.model else {}
        except Exception as error:  # pydantic has many reasons, and user code takes part
            name = self.model.name if self.model else ""
            raise SchemaProblem(f"bad_model: {name} has no JSON Schema: {error}") from error

    def root_types(self) -> frozenset[str] | None:
        """JSON types that the value may have by the root of the schema; None if it does not say."""
        root = self.schema.root if self.schema else {}
        if isinstance(root.get("type"), (str, list)):
            return frozenset([root["type"]] if isinstance(root["type"], str) else root["type"])
        values = root.get("enum", [root["const"]] if "const" in root else None)
        return frozenset(map(type_name, values)) if isinstance(values, list) else None


def rules_of(settings: StructureSettings, schema: Mapping[str, Any] | None = None) -> Rules | None:
    """The schema of one response, else that of the settings or their model; None if there is nothing.

    Raises:
        SchemaProblem: the schema is not valid, or the model or the file cannot be loaded.
    """
    if schema is None and settings.model:
        return Rules(model=_load_model(settings.model))
    own = settings.json_schema if schema is None else schema
    if own is None and settings.schema_file is not None:
        own = _read_file(settings.schema_file)
    return None if own is None else Rules(compiled(own))


def load_rules(settings: StructureSettings) -> Rules | None:
    """The rules of the settings, loaded to find out at once whether they can be used.

    Raises:
        SettingsError: they cannot.
    """
    try:
        return rules_of(settings)
    except SchemaProblem as problem:
        raise SettingsError(f"structure: {problem}") from None


def _read_file(name: str) -> Any:
    try:
        return read_yaml(FilePath(name))
    except YamlError as error:
        raise SchemaProblem(f"bad_schema: cannot read structure.schema_file {name!r}: {error}") from None


def violations_of_value(value: Any, rules: Rules) -> Iterator[Violation]:
    """What does not fit; to be called within a `time_limit`.

    Raises:
        SchemaProblem: the schema or model cannot be applied, or the time is up.
    """
    if rules.schema is not None:
        for error in rules.schema.errors(value):
            yield from violations_of_error(error)
    if rules.model is not None:
        yield from _of_model(value, rules.model)


# ---- pydantic


@lru_cache(maxsize=64)
def _load_model(name: str) -> ValueModel:
    """The model of an import path "module:name"."""
    from pydantic import TypeAdapter

    try:
        return ValueModel(TypeAdapter(imported(name)), name)
    except Exception as error:  # pydantic has many reasons, and user code takes part
        raise SchemaProblem(f"bad_model: cannot use {name!r}: {type(error).__name__}: {error}") from error


def _of_model(value: Any, model: ValueModel) -> Iterator[Violation]:
    """What of a value the model refuses."""
    from pydantic import ValidationError

    try:
        model.adapter.validate_json(json.dumps(value))
    except ValidationError as error:
        for item in error.errors(include_url=False, include_context=False):
            kind, message = item["type"], f"{cut_short(item['msg'])} (got {shown(item['input'])})"
            name = next((name for part, name in _MODEL_NAMES.items() if part in kind), "schema_violation")
            yield Violation(name, message, _within(value, item["loc"]), kind)
    except Exception as error:  # boundary to validators of the user
        raise SchemaProblem(f"bad_model: {model.name} failed: {type(error).__name__}: {error}") from error


_MODEL_NAMES = {
    "missing": "missing_field",
    "extra_forbidden": "unknown_field",
    "literal_error": "not_allowed",
    "enum": "not_allowed",
    "string_pattern_mismatch": "pattern_mismatch",
    "too_short": "wrong_length",
    "too_long": "wrong_length",
    "greater_than": "out_of_range",
    "less_than": "out_of_range",
    "multiple_of": "out_of_range",
    "_type": "wrong_type",
    "_parsing": "wrong_type",
}
"""Violation by a part of pydantic's error type; the first that fits counts."""


def _within(value: Any, loc: Sequence[Any]) -> Path:
    """The part of pydantic's location that is in the value: it also names branches of unions, and what is missing."""
    path: list[str | int] = []
    for part in loc:
        is_key = isinstance(value, dict) and part in value
        if is_key or (isinstance(value, list) and isinstance(part, int) and part < len(value)):
            value = value[part]
            path.append(part)
    return tuple(path)
