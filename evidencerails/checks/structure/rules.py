"""What a response has to fit: a schema, a pydantic model, rules of the settings; and the violations of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path as FilePath
from typing import Any, NamedTuple

import yaml

from evidencerails.checks.structure.fields import violations_of_field
from evidencerails.checks.structure.models import ValueModel, load_model, schema_of, violations_of_model
from evidencerails.checks.structure.schema import Compiled, compiled
from evidencerails.checks.structure.schema_clock import Clock, SchemaProblem
from evidencerails.checks.structure.violations import Violation, type_name, violations_of_error
from evidencerails.errors import SettingsError
from evidencerails.settings.structure import FieldRule, StructureSettings, ValueRule


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
        return schema_of(self.model) if self.model else {}

    def root_types(self) -> frozenset[str] | None:
        """JSON types that the value may have by the root of the schema; None if it does not say."""
        root = self.schema.root if self.schema else {}
        if isinstance(root.get("type"), (str, list)):
            return frozenset([root["type"]] if isinstance(root["type"], str) else root["type"])
        values = root.get("enum", [root["const"]] if "const" in root else None)
        return frozenset(map(type_name, values)) if isinstance(values, list) else None


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
        return rules._replace(model=load_model(settings.model))
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


def violations_of_value(value: Any, rules: Rules, clock: Clock) -> Iterator[Violation]:
    """What does not fit, in the order of the rules.

    Raises:
        SchemaProblem: the schema or model cannot be applied, or the time is up.
    """
    if rules.schema is not None:
        for error in rules.schema.errors(value, clock):
            yield from violations_of_error(error, clock)
    if rules.model is not None:
        yield from violations_of_model(value, rules.model)
    for rule in rules.fields:
        yield from violations_of_field(value, rule, rules.formats, clock)
