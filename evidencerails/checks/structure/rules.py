"""What a response has to fit: a schema or a pydantic model; and the violations of each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path as FilePath
from typing import Any, NamedTuple

from evidencerails.checks.structure.schema import Compiled, SchemaProblem, compiled
from evidencerails.checks.structure.violations import (
    Violation,
    cut_short,
    shown,
    type_name,
    violations_of_error,
)
from evidencerails.errors import SettingsError
from evidencerails.settings.own_parts import imported
from evidencerails.settings.reading import YamlError, read_yaml
from evidencerails.settings.structure import StructureSettings
from evidencerails.text.json_places import Path


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
