"""Estimates from few reports: intervals of shares, differences of means, rank correlation."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import NamedTuple

MIN_PAIRS = 20
"""Pairs below which a correlation says nothing."""
Z_95 = 1.96


class Difference(NamedTuple):
    """Of two means."""

    before: float
    after: float
    low: float
    """Lower end of the 95% interval of `after - before` (Welch, normal approximation)."""

    @property
    def rise(self) -> float:
        """Positive if it got worse."""
        return self.after - self.before


def wilson(hits: int, total: int, *, z: float = Z_95) -> tuple[float | None, float | None]:
    """Wilson's interval of a share; `(None, None)` of nothing."""
    if total <= 0:
        return None, None
    share = hits / total
    middle = (share + z * z / (2 * total)) / (1 + z * z / total)
    half = z / (1 + z * z / total) * ((share * (1 - share) / total + z * z / (4 * total * total)) ** 0.5)
    return max(0.0, middle - half), min(1.0, middle + half)


def difference(before: Sequence[float], after: Sequence[float]) -> Difference | None:
    """Mean after less mean before (control stack 20.7.3); None of fewer than two on either side."""
    if len(before) < 2 or len(after) < 2:
        return None
    low, high = statistics.fmean(before), statistics.fmean(after)
    error = (statistics.variance(before) / len(before) + statistics.variance(after) / len(after)) ** 0.5
    return Difference(low, high, high - low - Z_95 * error)


def spearman(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Rank correlation with ties at their mean rank; None of fewer than 20 pairs, or if one side is constant."""
    if len(pairs) < MIN_PAIRS:
        return None
    left, right = (_ranks([pair[side] for pair in pairs]) for side in (0, 1))
    if len(set(left)) < 2 or len(set(right)) < 2:
        return None
    return statistics.correlation(left, right)


def _ranks(values: Sequence[float]) -> list[float]:
    ordered = sorted(values)
    first = {value: place for place, value in reversed(list(enumerate(ordered)))}
    last = {value: place for place, value in enumerate(ordered)}
    return [(first[value] + last[value]) / 2.0 for value in values]
