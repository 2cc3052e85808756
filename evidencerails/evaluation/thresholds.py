"""Thresholds on a probability: by what both mistakes cost, or by a wanted precision or recall (20.3.4)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evidencerails.errors import InputError
from evidencerails.evaluation.metrics import Bools, Floats

MOST_CANDIDATES = 2000


class Threshold(NamedTuple):
    """A threshold with what it does to some rows; a row is flagged from the threshold on."""

    value: float
    false_abstention_rate: float
    """Share of clean rows that are flagged."""
    leak_rate: float
    """Share of hallucinated rows that pass."""
    precision: float | None


def at(labels: Bools, scores: Floats, value: float) -> Threshold:
    """What a threshold does to these rows."""
    flagged = scores >= value
    hit = int((flagged & labels).sum())
    return Threshold(
        float(value),
        float((flagged & ~labels).sum() / max(1, (~labels).sum())),
        float((~flagged & labels).sum() / max(1, labels.sum())),
        hit / int(flagged.sum()) if flagged.any() else None,
    )


def candidates(scores: Floats) -> Floats:
    """Between each two distinct scores, below all and above all; of very many, `MOST_CANDIDATES` evenly chosen."""
    distinct = np.unique(scores)
    cuts: Floats = np.r_[distinct[0], (distinct[1:] + distinct[:-1]) / 2, min(1.0, float(distinct[-1]) + 1e-6)]
    if cuts.size > MOST_CANDIDATES:
        cuts = cuts[np.linspace(0, cuts.size - 1, MOST_CANDIDATES).round().astype(int)]
    return cuts


def cheapest(labels: Bools, scores: Floats, false_abstention: float, leak: float) -> Threshold:
    """The threshold with the least `false_abstention * false abstention rate + leak * leak rate`; the middle of ties.

    Raises:
        InputError: a cost is negative, or both are 0.
    """
    if min(false_abstention, leak) < 0 or false_abstention + leak == 0:
        raise InputError(f"costs must not be negative, nor both 0; got {false_abstention:g} and {leak:g}")
    order = candidates(scores)
    clean, bad = np.sort(scores[~labels]), np.sort(scores[labels])
    abstained = 1 - np.searchsorted(clean, order, side="left") / max(1, clean.size)
    leaked = np.searchsorted(bad, order, side="left") / max(1, bad.size)
    cost = false_abstention * abstained + leak * leaked
    best = np.flatnonzero(np.isclose(cost, cost.min()))
    return at(labels, scores, float(order[best[len(best) // 2]]))


def for_recall(labels: Bools, scores: Floats, wanted: float) -> Threshold:
    """The highest threshold that still finds this share of the hallucinated rows."""
    found = [one for value in candidates(scores) if 1 - (one := at(labels, scores, value)).leak_rate >= wanted]
    return max(found, key=lambda one: one.value)


def for_precision(labels: Bools, scores: Floats, wanted: float) -> Threshold:
    """The lowest threshold at which this share of the flagged rows is hallucinated.

    Raises:
        InputError: no threshold reaches it.
    """
    each = [at(labels, scores, value) for value in candidates(scores)]
    found = [one for one in each if one.precision is not None and one.precision >= wanted]
    if not found:
        best = max((one.precision or 0.0 for one in each), default=0.0)
        raise InputError(f"no threshold has a precision of {wanted:g} on the training rows; the best is {best:.3f}")
    return min(found, key=lambda one: one.value)
