"""DeLong's test: do two scores over the same rows differ in AUROC? (DeLong, DeLong and Clarke-Pearson 1988)

Each row's placement is the share of the other class that it beats. Their covariances over the rows of each class give
the variance of the difference, by midranks (Sun and Xu 2014), so that it takes n log n steps.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evidencerails.evaluation import metrics
from evidencerails.evaluation.metrics import Bools, Floats, UndefinedMetricError


class DeLong(NamedTuple):
    """The test of a difference; `z` and `p` are of the second score against the first."""

    difference: float
    """AUROC of the second score minus that of the first."""
    standard_error: float
    z: float
    p: float
    """Two-sided. It takes rows to be independent: of rows that share a document it is too small."""


def delong(labels: ArrayLike, first: ArrayLike, second: ArrayLike) -> DeLong:
    """The test on two scores of the same rows.

    Raises:
        ValueError: as `metrics.auroc`.
        UndefinedMetricError: a class has fewer than two rows, or the difference does not vary and so has no test.
    """
    truth, one = metrics.checked(labels, first)
    _, other = metrics.checked(labels, second)
    if min(truth.sum(), (~truth).sum()) < 2:
        raise UndefinedMetricError("DeLong's test needs two rows of each label")
    bad, good = (np.stack([side[place] for side in (_placements(truth, one), _placements(truth, other))])
                 for place in (0, 1))  # fmt: skip
    contrast = np.array([-1.0, 1.0])
    difference = float(contrast @ bad.mean(axis=1))
    variance = float(contrast @ (np.cov(bad) / bad.shape[1] + np.cov(good) / good.shape[1]) @ contrast)
    if variance <= 1e-20:
        if abs(difference) < 1e-12:
            return DeLong(0.0, 0.0, 0.0, 1.0)
        raise UndefinedMetricError("DeLong's test is undefined: the difference is the same on all rows")
    error = math.sqrt(variance)
    z = difference / error
    return DeLong(difference, error, z, float(2 * metrics.scipy_stats().norm.sf(abs(z))))


def _placements(labels: Bools, scores: Floats) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For each hallucinated row the share of clean ones below it, for each clean one that of hallucinated ones above
    it; ties count half."""
    rank = metrics.scipy_stats().rankdata
    bad, good = scores[labels], scores[~labels]
    of_all = rank(np.concatenate([bad, good]))
    above = (of_all[: bad.size] - rank(bad)) / good.size
    below = 1.0 - (of_all[bad.size :] - rank(good)) / bad.size
    return above, below
