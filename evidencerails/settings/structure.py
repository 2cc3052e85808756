"""Settings of the checks `structure` and `logic`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from evidencerails.settings.base import Positive, Section, Share


class StructureSettings(Section):
    """Structure: what a response must look like, and how far it may stray from it."""

    json_schema: dict[str, Any] | None = Field(default=None, alias="schema")
    """JSON Schema of the response; its `$schema` names the draft, by default 2020-12. A schema passed with a response
    overrides it."""
    schema_file: str | None = None
    """JSON or YAML file with that schema."""
    model: str | None = None
    """Pydantic model of the response, imported from `package.module:Class`."""
    on_multiple: Literal["refuse", "each", "last"] = "refuse"
    """If there are several different JSON values: `refuse`: a violation; `each`: all must be valid; `last`: only the
    last one is checked."""
    surrounding_text: Literal["allow", "refuse"] = "allow"
    """Whether text or a code fence around the JSON is allowed."""
    constrain: Literal["off", "response_format", "structured_outputs", "guided_json", "nvext", "ollama"] = "off"
    """Request parameter in which the schema is sent to the model that generates the response."""
    min_agreement: Share | None = None
    """Agreement of the samples on a field below which there is a finding; unset: agreement is only reported."""
    timeout_s: Positive = 10.0
    """Seconds for the whole check; after that, the response is unverified."""

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
        return any((self.json_schema is not None, self.schema_file, self.model))


class LogicSettings(Section):
    """Logic: what is computed again, and how chains of reasoning are audited."""

    arithmetic: bool = True
    """Formulas and sums in words, percentages, averages, properties of numbers."""
    dates: bool = True
    """Differences between dates and times, weekdays, ages, the calendar."""
    orderings: bool = True
    """Comparisons that cannot all be true."""
    audit: Literal["off", "nli", "judge"] = "nli"
    """What audits reasoning steps: nothing, the NLI model, or a judge (the model under `llm`, else the app's own)."""
