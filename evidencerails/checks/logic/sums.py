"""Sums in words: "the sum of 3, 4 and 5 is 13", "half of 30 is 20", "20 % of 50 is 12", "91 is prime"."""

from __future__ import annotations

from collections.abc import Iterator

from evidencerails.checks.logic.number_properties import comparisons, factors, properties
from evidencerails.checks.logic.statements import Statement, pieces
from evidencerails.checks.logic.sum_forms import FORMS


def sums_in_words(text: str) -> Iterator[Statement]:
    """Every sum, percentage and property of a number that a masked text states in words."""
    for start, end in pieces(text):
        for form in FORMS:
            yield from form.statements(text, start, end)
    yield from factors(text)
    yield from properties(text)
    yield from comparisons(text)
