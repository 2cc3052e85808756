"""What exactly a finding can have violated, by check: the words of `violation` in findings and in `when.violation`."""

from __future__ import annotations

from collections.abc import Mapping

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
