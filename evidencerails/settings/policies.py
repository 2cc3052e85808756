"""Policy rules: conditions on a finding, and what happens then; what exactly a finding can have violated, by check."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationInfo, field_validator, model_validator

from evidencerails.report import Category, Decision, ErrorType, FindingKind, Label, Origin, Severity, Verified
from evidencerails.settings.base import Section, Share
from evidencerails.settings.problems import nearest

VIOLATIONS: Mapping[str, tuple[str, ...]] = {
    "tools": ("unknown_tool", "invalid_arguments", "unknown_value"),
    "citations": ("missing_citation", "uncited_claim", "nonexistent_source", "misquoted", "non_entailing"),
    "structure": (
        "no_json", "invalid_json", "several_values", "text_around", "too_long", "too_deep", "trailing_comma", "comment",
        "python_literal", "duplicate_key", "not_a_number", "number_too_large", "missing_field", "unknown_field",
        "wrong_type", "not_allowed", "pattern_mismatch", "bad_format", "duplicate_items", "wrong_length",
        "out_of_range", "schema_violation", "field_disagreement",
    ),
    "logic": (
        "arithmetic", "percentage", "unit", "number_property", "date", "weekday", "age", "calendar", "ordering",
        "invalid_step",
    ),
}  # fmt: skip
"""A check whose findings carry a `violation` has one line here, with every word it uses."""


def all_violations() -> tuple[str, ...]:
    """Every word, each once, in order."""
    return tuple(dict.fromkeys(word for words in VIOLATIONS.values() for word in words))


CHECKS = ("citations", "claims", "consistency", "grounding", "knowledge", "logic", "structure", "tools")
"""Checks of this version, by the name used in `checks:`."""
FINDERS = (*CHECKS, "verification")
"""What a finding may name as its check: the chain of verification finds things without being a check to run."""


class When(Section):
    """Conditions of a policy rule; all given ones must hold, a list means any of its values."""

    kind: FindingKind | tuple[FindingKind, ...] | None = None
    """Kind of the finding."""
    label: Label | tuple[Label, ...] | None = None
    """Label of its claim."""
    category: Category | tuple[Category, ...] | None = None
    """Its category."""
    severity: Severity | tuple[Severity, ...] | None = None
    """Its severity."""
    origin: Origin | tuple[Origin, ...] | None = None
    """`intrinsic`: contradicts what the model was given; `extrinsic`: goes beyond it."""
    error_type: ErrorType | tuple[ErrorType, ...] | None = None
    """One of its error types."""
    check: str | tuple[str, ...] | None = None
    """Check that found it; `verification` is the chain of verification."""
    violation: str | tuple[str, ...] | None = None
    """Violation, as named by its check."""
    verification: Verified | tuple[Verified, ...] | None = None
    """Result of the chain of verification for its claim."""
    min_severity: Share | None = None
    """Its severity score is at least this."""
    min_score: Share | None = None
    """Its score is at least this."""
    max_score: Share | None = None
    """Its score is at most this."""

    @model_validator(mode="after")
    def _can_hold(self) -> When:
        if self.min_score is not None and self.max_score is not None and self.min_score > self.max_score:
            raise ValueError(f"min_score ({self.min_score:g}) is above max_score ({self.max_score:g}): it never holds")
        return self

    @field_validator("check", "violation")
    @classmethod
    def _names_that_exist(cls, value: str | tuple[str, ...] | None, info: ValidationInfo) -> Any:
        known = FINDERS if info.field_name == "check" else all_violations()
        for name in (value,) if isinstance(value, str) else value or ():
            if name not in known:
                hint = nearest(name, known)
                raise ValueError(f"there is no {info.field_name} {name!r}{hint}; available: {', '.join(known)}")
        return value


class Rule(Section):
    """One policy rule: the first whose `when` matches a finding decides it."""

    when: When
    """Conditions on a finding."""
    then: Decision
    """Decision; the most severe over all findings applies."""
