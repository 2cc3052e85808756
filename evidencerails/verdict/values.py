"""Typed values of a claim that its evidence does not have: numbers with their units, points in time, names.

In: a claim and the text it was read beside. Out: the share of its values, by kind, that the text lacks. They are
features beside the model's scores; nothing overrides the verdict afterwards."""

from __future__ import annotations

import re
from functools import lru_cache

from evidencerails.text.measures import are_comparable, are_equal
from evidencerails.text.values import Quantity, Values, values_of

VALUE_FEATURES = ("missing_numbers", "missing_dates", "missing_names")
KINDS = {"missing_numbers": "number", "missing_dates": "temporal", "missing_names": "entity"}
"""Feature -> the kind of error that it points to."""
MAX_CHARACTERS = 20_000


@lru_cache(maxsize=2_000)
def _values(text: str) -> Values:
    return values_of(text)


def missing_values(claim: str, evidence: str) -> dict[str, float]:
    """Share of the claim's values of each kind that the evidence lacks, in [0, 1]; 0.0 where the claim has none."""
    own, there = _values(claim), _values(evidence[:MAX_CHARACTERS])
    lower = evidence.lower()
    numbers = [q for q in own.quantities if q.kind not in ("vague", "score")]
    return {
        "missing_numbers": _share(numbers, lambda q: _has_quantity(q, there, claim, evidence, lower)),
        "missing_dates": _share(
            own.temporal, lambda m: claim[m.start : m.end].lower() in lower or _has_temporal(m, there)
        ),
        "missing_names": _share(
            [name for name in own.names if not name.is_initial],
            lambda name: all(word.lower().removesuffix("'s") in lower for word in name.words),
        ),
    }


def _share(items: object, is_there: object) -> float:
    found = list(items)  # type: ignore[call-overload]
    return sum(not is_there(item) for item in found) / len(found) if found else 0.0  # type: ignore[operator]


def _has_quantity(own: Quantity, there: Values, claim: str, evidence: str, lower: str) -> bool:
    if own.kind == "count" and own.value in (1.0, 2.0):
        return True
    digits = claim[own.start : own.end].strip().lower()
    if re.search(rf"(?<![\d.,]){re.escape(digits)}(?!\d|[.,]\d)", lower):
        return True
    return any(
        other.value == own.value or (are_comparable(own, other) and are_equal(own, other, claim, evidence))
        for other in there.quantities
    )


def _has_temporal(own: object, there: Values) -> bool:
    return any(own[:-2] == other[:-2] for other in there.temporal)  # type: ignore[index]
