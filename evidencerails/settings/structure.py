"""Settings of the check `structure`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from evidencerails.settings.base import Pattern, Positive, Section, Share

JsonType = Literal["string", "number", "integer", "boolean", "object", "array", "null"]


class ValueRule(Section):
    """What one value may be."""

    enum: tuple[Any, ...] | None = None
    """The values allowed."""
    pattern: Pattern | None = None
    """Regular expression that must be found in the text; `^` and `$` for all of it."""
    minimum: float | None = None
    """Smallest number allowed."""
    maximum: float | None = None
    """Largest number allowed."""
    min_length: int | None = Field(default=None, ge=0)
    """Fewest characters allowed."""
    max_length: int | None = Field(default=None, ge=0)
    """Most characters allowed."""

    @model_validator(mode="after")
    def _in_order(self) -> ValueRule:
        if self.minimum is not None and self.maximum is not None and self.minimum > self.maximum:
            raise ValueError(f"minimum ({self.minimum:g}) must not be above maximum ({self.maximum:g})")
        return self


class FieldRule(ValueRule):
    """What the value at one place of the JSON may be."""

    pointer: str
    """JSON pointer (RFC 6901), as `/order/status`; `*` stands for every item or key: `/items/*/price`."""
    type: JsonType | None = None
    """JSON type of the value."""
    required: bool = True
    """Whether the place must be there."""

    @field_validator("pointer")
    @classmethod
    def _begins_with_slash(cls, value: str) -> str:
        if value and not value.startswith("/"):
            raise ValueError(f"{value!r} is no JSON pointer; did you mean {'/' + value.replace('.', '/')!r}?")
        return value


class StructureSettings(Section):
    """Structure: what a response must look like, and how far it may stray from it."""

    json_schema: dict[str, Any] | None = Field(default=None, alias="schema")
    """JSON Schema of the response; the draft is that of its `$schema`, 2020-12 without one. A schema that comes with a
    response takes its place."""
    schema_file: str | None = None
    """JSON or YAML file with that schema."""
    model: str | None = None
    """Pydantic model of the response, as `package.module:Class`; it is imported."""
    text: ValueRule | None = None
    """What the response as a text may be, where it is not JSON."""
    fields: tuple[FieldRule, ...] = ()
    """Enums, patterns and ranges of single places, beside a schema or without one."""
    on_multiple: Literal["refuse", "each", "last"] = "refuse"
    """Several different JSON values: a violation, each must fit, or only the last counts."""
    surrounding_text: Literal["allow", "refuse"] = "allow"
    """Whether text or a code fence around the JSON is allowed."""
    constrain: Literal["off", "response_format", "structured_outputs", "guided_json", "nvext", "ollama"] = "off"
    """Send the schema to the model that writes the response, in this parameter of its provider."""
    min_agreement: Share | None = None
    """Agreement of the samples on a field below which it is a finding; unset: it is only reported."""
    timeout_s: Positive = 10.0
    """Seconds for the whole check; beyond, the response is unverified."""

    @field_validator("model")
    @classmethod
    def _names_a_class(cls, value: str | None) -> str | None:
        module, _, name = (value or "m:C").partition(":")
        if not all(part.isidentifier() for part in (*module.split("."), *name.split("."))):
            raise ValueError(f"{value!r} names no class; expected 'package.module:Class'")
        return value

    @model_validator(mode="after")
    def _one_schema(self) -> StructureSettings:
        given = [name for name in ("schema_file", "model") if getattr(self, name) is not None]
        given = ["schema", *given] if self.json_schema is not None else given
        if len(given) > 1:
            raise ValueError(f"{' and '.join(given)} are both set; a response has one of them")
        return self

    @property
    def has_rules(self) -> bool:
        """True if the settings say anything about the response."""
        return any((self.json_schema is not None, self.schema_file, self.model, self.text, self.fields))
