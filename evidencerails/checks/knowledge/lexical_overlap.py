"""Near misses: which of the known values was probably meant."""

from __future__ import annotations

from collections.abc import Iterable

from evidencerails.checks.knowledge.base import Lookup, folded

MIN_OVERLAP = 75.0
"""rapidfuzz ratio, 0 to 100, from which a value is shown: one letter wrong in four, two in eight."""
MAX_SHOWN = 3
MAX_COMPARED = 200_000
"""Values that one search compares; about a tenth of a second."""


def nearest_of(lookup: Lookup, values: Iterable[str]) -> tuple[str, ...]:
    """At most three values that resemble the one looked up, the most alike first; itself is left out."""
    from itertools import islice

    from rapidfuzz import fuzz, process

    choices = list(dict.fromkeys(islice(values, MAX_COMPARED)))
    found = process.extract(
        lookup.text, choices, scorer=fuzz.ratio, processor=folded, score_cutoff=MIN_OVERLAP, limit=MAX_SHOWN + 1
    )
    return tuple(value for value, _, _ in found if value != lookup.text)[:MAX_SHOWN]


def lexical_overlap(lookup: Lookup, value: str, *, is_text: bool = False) -> float:
    """How alike two values are, 0 to 100; a text counts by the part of it that is most alike."""
    from rapidfuzz import fuzz

    ratio = fuzz.partial_ratio if is_text else fuzz.ratio
    return float(ratio(folded(lookup.text), folded(value)))
