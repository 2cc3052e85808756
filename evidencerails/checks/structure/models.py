"""A pydantic model by its import path: loading it, and what does not fit it."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from evidencerails.checks.structure.json import Path
from evidencerails.checks.structure.schema_clock import SchemaProblem
from evidencerails.checks.structure.violations import Violation, cut_short, shown


class ValueModel(NamedTuple):
    """A pydantic model, or anything pydantic can validate."""

    adapter: Any
    name: str


@lru_cache(maxsize=64)
def load_model(name: str) -> ValueModel:
    """The model of an import path "module:name".

    Raises:
        SchemaProblem: it cannot be imported, or pydantic cannot validate it.
    """
    from pydantic import TypeAdapter

    module, _, attribute = name.partition(":")
    try:
        thing: Any = importlib.import_module(module)
        for part in attribute.split("."):
            thing = getattr(thing, part)
        return ValueModel(TypeAdapter(thing), name)
    except Exception as error:  # boundary to the user's module, which may do anything when imported
        raise SchemaProblem(f"bad_model: cannot use {name!r}: {type(error).__name__}: {error}") from error


def schema_of(model: ValueModel) -> dict[str, Any]:
    """The JSON Schema of a model.

    Raises:
        SchemaProblem: pydantic has none for it.
    """
    try:
        schema: dict[str, Any] = model.adapter.json_schema()
    except Exception as error:  # pydantic has many reasons, and user code takes part
        raise SchemaProblem(f"bad_model: {model.name} has no JSON Schema: {error}") from error
    return schema


def violations_of_model(value: Any, model: ValueModel) -> Iterator[Violation]:
    """What of a value the model refuses.

    Raises:
        SchemaProblem: a validator of the model failed.
    """
    from pydantic import ValidationError

    try:
        model.adapter.validate_json(json.dumps(value))
    except ValidationError as error:
        for item in error.errors(include_url=False, include_context=False):
            path = _as_far_as_it_goes(value, item["loc"])
            kind = item["type"]
            yield Violation(
                _model_violation(kind), path, f"{cut_short(item['msg'])} (got {shown(item['input'])})", kind
            )
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
