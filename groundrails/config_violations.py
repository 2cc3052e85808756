"""What exactly a finding can have violated, by check: the words of `violation` in findings and in `when.violation`."""

from __future__ import annotations

from collections.abc import Mapping

VIOLATIONS: Mapping[str, tuple[str, ...]] = {
    "citations": ("nonexistent_source",),
}
"""A check whose findings carry a `violation` has one line here, with every word it uses."""


def all_violations() -> tuple[str, ...]:
    """Every word, each once, in order."""
    return tuple(dict.fromkeys(word for words in VIOLATIONS.values() for word in words))
