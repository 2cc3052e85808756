"""Metrics of many resamples at once: labels and scores are taken in once, then weights give a value a resample.

A weight is how often a row was drawn. The metrics of `metrics` are the definition, scikit-learn's where it has them;
each of these gives what they give for the rows repeated by their weights.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evidencerails.evaluation import metrics
from evidencerails.evaluation.metrics import Bools, Floats

Weighted = Callable[[Floats], Floats]
"""Weights (block, rows) to a value for each resample; NaN where the metric is undefined."""
Prepare = Callable[[Bools, Floats], Weighted]


def ratio(above: Floats, below: Floats) -> Floats:
    """Quotients; NaN where there is nothing to divide by."""
    out = np.full(above.shape, np.nan)
    np.divide(above, below, out=out, where=below > 0)
    return out


class _Ranked(NamedTuple):
    """Rows from the highest score down, sorted once for all resamples."""

    order: NDArray[np.intp]
    truth: Floats
    last: NDArray[np.intp] | None
    """The last row of each distinct score; None if no two rows are tied."""

    @classmethod
    def of(cls, labels: Bools, scores: Floats) -> _Ranked:
        order = np.argsort(-scores, kind="stable")
        ranked = scores[order]
        last = np.flatnonzero(np.r_[ranked[1:] != ranked[:-1], True])
        return cls(order, labels[order].astype(np.float64), last if last.size < ranked.size else None)

    def sums(self, weights: Floats) -> tuple[Floats, Floats]:
        """Weight of hallucinated rows and of all rows at or above each distinct score; shape (block, scores)."""
        drawn = np.take(weights, self.order, axis=1)
        hits = np.cumsum(drawn * self.truth, axis=1)
        seen = np.cumsum(drawn, axis=1, out=drawn)
        if self.last is None:
            return hits, seen
        return np.take(hits, self.last, axis=1), np.take(seen, self.last, axis=1)


def _auroc(labels: Bools, scores: Floats) -> Weighted:
    ranked = _Ranked.of(labels, scores)

    def values(weights: Floats) -> Floats:
        hits, seen = ranked.sums(weights)
        bad, all_bad = np.diff(hits, axis=1, prepend=0.0), hits[:, -1]
        good = np.diff(seen, axis=1, prepend=0.0) - bad
        above = np.einsum("ij,ij->i", hits - bad / 2, good)
        return ratio(above, all_bad * (seen[:, -1] - all_bad))

    return values


def _auprc(labels: Bools, scores: Floats) -> Weighted:
    ranked = _Ranked.of(labels, scores)

    def values(weights: Floats) -> Floats:
        hits, seen = ranked.sums(weights)
        precision = np.divide(hits, seen, out=np.zeros_like(hits), where=seen > 0)
        found = ratio(np.einsum("ij,ij->i", np.diff(hits, axis=1, prepend=0.0), precision), hits[:, -1])
        found[seen[:, -1] == hits[:, -1]] = np.nan
        return found

    return values


def _brier(labels: Bools, scores: Floats) -> Weighted:
    squares = (scores - labels) ** 2
    return lambda weights: ratio(weights @ squares, weights.sum(axis=1))


def _binned_gap(labels: Bools, scores: Floats, places: NDArray[np.intp]) -> Weighted:
    gaps = np.zeros((labels.size, metrics.DEFAULT_BINS))
    gaps[np.arange(labels.size), places] = scores - labels
    return lambda weights: ratio(np.abs(weights @ gaps).sum(axis=1), weights.sum(axis=1))


def _ece(labels: Bools, scores: Floats) -> Weighted:
    return _binned_gap(labels, scores, metrics.bin_of(scores, metrics.DEFAULT_BINS, "width"))


def _ece_by_mass(labels: Bools, scores: Floats) -> Weighted:
    return _binned_gap(labels, scores, metrics.bin_of(scores, metrics.DEFAULT_BINS, "mass"))


def _of_counts(formula: Callable[[Floats, Floats, Floats, Floats], Floats]) -> Prepare:
    """A metric of true and false positives, false and true negatives."""

    def prepare(labels: Bools, scores: Floats) -> Weighted:
        flagged = scores >= 0.5
        cells = np.stack([labels & flagged, ~labels & flagged, labels & ~flagged, ~labels & ~flagged], axis=1)
        cells = cells.astype(np.float64)
        return lambda weights: formula(*(weights @ cells).T)

    return prepare


def _f1(tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> Floats:
    values = ratio(2 * tp, 2 * tp + fp + fn)
    values[tp + fn == 0] = np.nan
    return values


WEIGHTED: dict[Callable[..., float], Prepare] = {
    metrics.auroc: _auroc,
    metrics.auprc: _auprc,
    metrics.brier: _brier,
    metrics.ece: _ece,
    metrics.ece_by_mass: _ece_by_mass,
    metrics.precision: _of_counts(lambda tp, fp, fn, tn: ratio(tp, tp + fp)),
    metrics.recall: _of_counts(lambda tp, fp, fn, tn: ratio(tp, tp + fn)),
    metrics.f1: _of_counts(_f1),
    metrics.balanced_accuracy: _of_counts(lambda tp, fp, fn, tn: (ratio(tp, tp + fn) + ratio(tn, tn + fp)) / 2),
}
"""The metrics that have such a form."""
