"""What a response has to fit: a schema, a pydantic model, rules of the settings; and the violations of each."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path as FilePath
from typing import Any, NamedTuple

import yaml

from groundrails.checks.structure_json import Path, pointer
from groundrails.checks.structure_schema import Clock, Compiled, SchemaProblem, bounded_search, canonical, compiled
from groundrails.config_structure import FieldRule, StructureSettings, ValueRule
from groundrails.errors import SettingsError

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


class ValueModel(NamedTuple):
    """A pydantic model, or anything pydantic can validate."""

    adapter: Any
    name: str


class Rules(NamedTuple):
    """All that one response is held against."""

    schema: Compiled | None = None
    model: ValueModel | None = None
    fields: tuple[FieldRule, ...] = ()
    text: ValueRule | None = None
    formats: bool = True

    @property
    def needs_json(self) -> bool:
        """True if the response has to hold JSON."""
        return self.schema is not None or self.model is not None or bool(self.fields)

    @property
    def root_schema(self) -> dict[str, Any]:
        """The JSON Schema; that of the model if there is one; empty otherwise.

        Raises:
            SchemaProblem: pydantic has no JSON Schema for the model.
        """
        if self.schema is not None:
            return self.schema.root
        return _schema_of(self.model) if self.model else {}

    def root_types(self) -> frozenset[str] | None:
        """JSON types that the value may have by the root of the schema; None if it does not say."""
        root = self.schema.root if self.schema else {}
        if isinstance(root.get("type"), (str, list)):
            return frozenset([root["type"]] if isinstance(root["type"], str) else root["type"])
        values = root.get("enum", [root["const"]] if "const" in root else None)
        return frozenset(map(_type_name, values)) if isinstance(values, list) else None


def rules_of(settings: StructureSettings, schema: Mapping[str, Any] | None = None) -> Rules | None:
    """The rules of the settings, with the schema of one response in the place of theirs; None if there is nothing.

    Raises:
        SchemaProblem: the schema is not valid, or the model or the file cannot be loaded.
    """
    if schema is None and not settings.has_rules:
        return None
    rules = Rules(fields=settings.fields, text=settings.text, formats=settings.formats)
    if schema is not None:
        return rules._replace(schema=compiled(schema, formats=settings.formats))
    if settings.model:
        return rules._replace(model=_load_model(settings.model))
    own = settings.json_schema if settings.json_schema is not None else _read_file(settings.schema_file)
    return rules if own is None else rules._replace(schema=compiled(own, formats=settings.formats))


def load_rules(settings: StructureSettings) -> None:
    """Load what the settings name, to find out at once whether it can be used.

    Raises:
        SettingsError: it cannot.
    """
    try:
        rules_of(settings)
    except SchemaProblem as problem:
        raise SettingsError(f"structure: {problem}") from None


def _read_file(name: str | None) -> Any:
    if name is None:
        return None
    try:
        return yaml.safe_load(FilePath(name).read_text(encoding="utf-8"))  # JSON is YAML
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        raise SchemaProblem(f"bad_schema: cannot read structure.schema_file {name!r}: {error}") from None


@lru_cache(maxsize=64)
def _load_model(name: str) -> ValueModel:
    from pydantic import TypeAdapter

    module, _, attribute = name.partition(":")
    try:
        thing: Any = importlib.import_module(module)
        for part in attribute.split("."):
            thing = getattr(thing, part)
        return ValueModel(TypeAdapter(thing), name)
    except Exception as error:  # boundary to the user's module, which may do anything when imported
        raise SchemaProblem(f"bad_model: cannot use {name!r}: {type(error).__name__}: {error}") from error


def _schema_of(model: ValueModel) -> dict[str, Any]:
    try:
        schema: dict[str, Any] = model.adapter.json_schema()
    except Exception as error:  # pydantic has many reasons, and user code takes part
        raise SchemaProblem(f"bad_model: {model.name} has no JSON Schema: {error}") from error
    return schema


# ---- violations


def violations_of_value(value: Any, rules: Rules, clock: Clock) -> Iterator[Violation]:
    """What does not fit, in the order of the rules.

    Raises:
        SchemaProblem: the schema or model cannot be applied, or the time is up.
    """
    if rules.schema is not None:
        for error in rules.schema.errors(value, clock):
            yield from _of_error(error, clock)
    if rules.model is not None:
        yield from _of_model(value, rules.model)
    for rule in rules.fields:
        yield from _of_field(value, rule, rules.formats, clock)


def _of_error(error: Any, clock: Clock) -> Iterator[Violation]:
    path: Path = tuple(error.absolute_path)
    if error.validator in ("anyOf", "oneOf") and error.context:
        yield from _of_nearest_branch(error, clock)
    elif error.validator in ("required", "dependentRequired") and isinstance(error.instance, dict):
        yield from _missing(error, path)
    elif error.validator == "additionalProperties" and error.validator_value is False:
        for key in _extra_keys(error, clock):
            yield Violation(
                "unknown_field", (*path, key), f"the field {_shown(key)} is not in the schema", "additionalProperties"
            )
    else:
        name = NAMES.get(str(error.validator), "schema_violation")
        yield Violation(name, path, _message(error), str(error.validator))


def _missing(error: Any, path: Path) -> Iterator[Violation]:
    if error.validator == "required" and isinstance(error.validator_value, list):
        # The library yields one error a key, with the key only in its message.
        key = next((k for k in error.validator_value if error.message.startswith(f"{k!r} ")), None)
        wanted = f"the required field {_shown(key)} is missing" if key is not None else _cut(error.message)
    else:
        wanted = _cut(error.message)
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
        for violation in _of_error(inner, clock):
            yield violation._replace(message=f"{violation.message} (nearest of {count} alternatives)")


def _message(error: Any) -> str:
    """The error in words that stay short whatever the value is."""
    value, wanted = _shown(error.instance), error.validator_value
    told = {
        "type": f"{value} is {_type_name(error.instance)}, expected {_listed(wanted)}",
        "enum": f"{value} is not one of {_cut(json.dumps(wanted, ensure_ascii=False), 300)}",
        "const": f"{value} is not {_shown(wanted)}",
        "pattern": f"{value} does not match {_shown(wanted)}",
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
    return told.get(str(error.validator)) or _cut(error.message)


def _of_model(value: Any, model: ValueModel) -> Iterator[Violation]:
    from pydantic import ValidationError

    try:
        model.adapter.validate_json(json.dumps(value))
    except ValidationError as error:
        for item in error.errors(include_url=False, include_context=False):
            path = _as_far_as_it_goes(value, item["loc"])
            kind = item["type"]
            yield Violation(_model_violation(kind), path, f"{_cut(item['msg'])} (got {_shown(item['input'])})", kind)
    except Exception as error:  # boundary to validators of the user
        raise SchemaProblem(f"bad_model: {model.name} failed: {type(error).__name__}: {error}") from error


_MODEL_NAMES = (
    ("missing", "missing_field"),
    ("extra_forbidden", "unknown_field"),
    ("literal_error", "not_allowed"),
    ("enum", "not_allowed"),
    ("string_pattern_mismatch", "pattern_mismatch"),
    ("too_short", "wrong_length"),
    ("too_long", "wrong_length"),
    ("greater_than", "out_of_range"),
    ("less_than", "out_of_range"),
    ("multiple_of", "out_of_range"),
    ("value_error", "schema_violation"),
    ("assertion_error", "schema_violation"),
    ("_type", "wrong_type"),
    ("_parsing", "wrong_type"),
)


def _model_violation(kind: str) -> str:
    return next((name for part, name in _MODEL_NAMES if part in kind), "schema_violation")


def _as_far_as_it_goes(value: Any, loc: Sequence[Any]) -> Path:
    """The part of pydantic's location that is in the value: it also names branches of unions, and what is missing."""
    path: list[str | int] = []
    for part in loc:
        if (isinstance(value, dict) and part in value) or (
            isinstance(value, list) and isinstance(part, int) and part < len(value)
        ):
            value = value[part]
            path.append(part)
    return tuple(path)


# ---- rules of the settings


def _of_field(value: Any, rule: FieldRule, formats: bool, clock: Clock) -> Iterator[Violation]:
    parts = [part.replace("~1", "/").replace("~0", "~") for part in rule.pointer.split("/")[1:]]
    for path, found, is_there in _places(value, parts, ()):
        if not is_there:
            if rule.required:
                yield Violation("missing_field", path, f"nothing is at {rule.pointer}", "required")
        else:
            for violation in _of_rule(found, rule, formats, clock):
                yield violation._replace(path=(*path, *violation.path))


def _places(value: Any, parts: Sequence[str], path: Path) -> Iterator[tuple[Path, Any, bool]]:
    """The places that a pointer with wildcards names, each with whether there is anything."""
    if not parts:
        yield path, value, True
        return
    part, rest = parts[0], parts[1:]
    if part == "*":
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, child in items:
            yield from _places(child, rest, (*path, key))
    elif isinstance(value, dict) and part in value:
        yield from _places(value[part], rest, (*path, part))
    elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
        yield from _places(value[int(part)], rest, (*path, int(part)))
    else:
        yield path, None, False


def _of_rule(value: Any, rule: ValueRule, formats: bool, clock: Clock) -> Iterator[Violation]:
    for error in compiled(_as_schema(rule), formats=formats).errors(value, clock):
        yield from _of_error(error, clock)


def _as_schema(rule: ValueRule) -> dict[str, Any]:
    """The rule as a JSON Schema of one value. A bound on numbers means that it is one; so with patterns and texts."""
    schema: dict[str, Any] = {
        "enum": list(rule.enum) if rule.enum is not None else None,
        "pattern": rule.pattern,
        "minimum": rule.minimum,
        "maximum": rule.maximum,
        "minLength": rule.min_length,
        "maxLength": rule.max_length,
        "type": getattr(rule, "type", None),
    }
    if schema["type"] is None and (rule.minimum is not None or rule.maximum is not None):
        schema["type"] = "number"
    elif schema["type"] is None and any(schema[name] is not None for name in ("pattern", "minLength", "maxLength")):
        schema["type"] = "string"
    return {name: part for name, part in schema.items() if part is not None}


def violations_of_text(text: str, rule: ValueRule, clock: Clock) -> Iterator[Violation]:
    """What is wrong with a response that is a bare text; white space around it does not count.

    Raises:
        SchemaProblem: the time is up.
    """
    bare = text.strip()
    if rule.minimum is not None or rule.maximum is not None:
        try:
            number = json.loads(bare)
        except (ValueError, RecursionError):
            number = bare
        bounds = ValueRule(minimum=rule.minimum, maximum=rule.maximum)
        yield from _of_rule(number, bounds, False, clock)
    others = rule.model_copy(update={"minimum": None, "maximum": None})
    if others.enum is not None:
        others = others.model_copy(update={"enum": tuple(str(item) for item in others.enum)})
    yield from _of_rule(bare, others, False, clock)


# ---- words


def _type_name(value: Any) -> str:
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")


def _listed(wanted: Any) -> str:
    return " or ".join(map(str, wanted)) if isinstance(wanted, list) else str(wanted)


def _shown(value: Any) -> str:
    if isinstance(value, (dict, list)):
        return f"{_type_name(value)} of {len(value)}"
    return _cut(json.dumps(value, ensure_ascii=False, default=str))


def _cut(text: str, limit: int = MAX_SHOWN * 2) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def place_in_words(path: Path) -> str:
    """The JSON pointer for a reason: the root has no words of its own."""
    return pointer(path) or "the root"


__all__ = [
    "Rules",
    "Violation",
    "canonical",
    "place_in_words",
    "rules_of",
    "violations_of_text",
    "violations_of_value",
]
