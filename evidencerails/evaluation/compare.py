"""Two runs over the same rows: is the difference more than chance?

McNemar's exact test on the rows that only one of them judges rightly (unverified is wrong), and paired bootstrap
intervals of the differences of the metrics, whole documents drawn. DeLong's test of the AUROCs is given beside them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evidencerails.evaluation import metrics
from evidencerails.evaluation.bootstrap import Estimate, interval, of_metric
from evidencerails.evaluation.metrics import Bools, Floats, Interval, UndefinedMetricError
from evidencerails.evaluation.outcomes import Outcome


class RowVerdict(NamedTuple):
    """The verdict of one run on a row."""

    label: bool
    right: bool
    flag: bool
    score: float
    document: str


def verdicts_of(outcomes: Iterable[Outcome], method: str) -> dict[str, RowVerdict]:
    """The verdicts of a method by row; unverified rows get the wrong flag and the wrong score."""
    found = {}
    for one in outcomes:
        if one.method == method:
            flag = one.flagged if one.status != "unverified" else not one.hallucinated
            score = float(not one.hallucinated) if one.status == "unverified" or one.score is None else one.score
            found[one.id] = RowVerdict(one.hallucinated, flag == one.hallucinated, flag, score, one.document)
    return found


def comparison(first: dict[str, RowVerdict], second: dict[str, RowVerdict], names: tuple[str, str]) -> dict[str, Any]:
    """The comparison of the second with the first, on the rows that both have and label alike.

    `differences` are second minus first; `p_mcnemar` is None where they are right on the same rows, `p_delong` where
    AUROC has no value.
    """
    common = [row for row in first if row in second and first[row].label == second[row].label]
    only_first = sum(first[row].right and not second[row].right for row in common)
    only_second = sum(second[row].right and not first[row].right for row in common)
    discordant = only_first + only_second
    binomtest = metrics.library("scipy.stats").binomtest
    one, other = [first[row] for row in common], [second[row] for row in common]
    return {
        "first": names[0],
        "second": names[1],
        "rows": len(common),
        "only_first_right": only_first,
        "only_second_right": only_second,
        "p_mcnemar": float(binomtest(only_second, discordant, 0.5).pvalue) if discordant else None,
        "p_delong": _p_delong(one, other),
        "differences": _differences(one, other),
    }


def _p_delong(first: list[RowVerdict], second: list[RowVerdict]) -> float | None:
    try:
        return delong([one.label for one in first], [one.score for one in first], [one.score for one in second]).p
    except UndefinedMetricError:
        return None


def _differences(first: list[RowVerdict], second: list[RowVerdict]) -> dict[str, dict[str, Any]]:
    labels = np.array([one.label for one in first], dtype=np.bool_)
    groups = [one.document for one in first]
    found = {}
    for name, field in (("f1", "flag"), ("balanced_accuracy", "flag"), ("auroc", "score"), ("auprc", "score")):
        pair = [np.array([getattr(one, field) for one in run], dtype=np.float64) for run in (first, second)]
        found[name] = _difference(name, labels, pair[0], pair[1], groups).as_dict()
    return found


def _difference(name: str, labels: Bools, first: Floats, second: Floats, groups: list[str]) -> Interval:
    before, after = (of_metric(getattr(metrics, name), labels, one) for one in (first, second))
    if before.value is None or after.value is None:
        return Interval(None, reason=before.reason or after.reason)
    of_weights = lambda weights: after.of_weights(weights) - before.of_weights(weights)  # noqa: E731
    return interval(Estimate(after.value - before.value, of_weights, labels.size), groups=groups)


class DeLong(NamedTuple):
    """The test of a difference; `z` and `p` are of the second score against the first."""

    difference: float
    standard_error: float
    z: float
    p: float
    """Two-sided. It takes rows to be independent: of rows that share a document it is too small."""


def delong(labels: ArrayLike, first: ArrayLike, second: ArrayLike) -> DeLong:
    """DeLong's test (1988): do two scores over the same rows differ in AUROC? Neither SciPy nor scikit-learn has it.

    Raises:
        ValueError: as `metrics.auroc`.
        UndefinedMetricError: a class has fewer than two rows, or the difference does not vary and so has no test.
    """
    truth, one = metrics.checked(labels, first)
    _, other = metrics.checked(labels, second)
    if min(truth.sum(), (~truth).sum()) < 2:
        raise UndefinedMetricError("DeLong's test needs two rows of each label")
    before, after = _placements(truth, one), _placements(truth, other)
    bad, good = after[0] - before[0], after[1] - before[1]
    difference, variance = float(bad.mean()), float(bad.var(ddof=1) / bad.size + good.var(ddof=1) / good.size)
    if variance <= 1e-20:
        if abs(difference) < 1e-12:
            return DeLong(0.0, 0.0, 0.0, 1.0)
        raise UndefinedMetricError("DeLong's test is undefined: the difference is the same on all rows")
    error = math.sqrt(variance)
    z = difference / error
    return DeLong(difference, error, z, float(2 * metrics.library("scipy.stats").norm.sf(abs(z))))


def _placements(labels: Bools, scores: Floats) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For each hallucinated row the share of clean ones below it, for each clean one that of hallucinated ones above
    it; ties count half. By midranks (Sun and Xu 2014), so that it takes n log n steps."""
    rank = metrics.library("scipy.stats").rankdata
    bad, good = scores[labels], scores[~labels]
    of_all = rank(np.concatenate([bad, good]))
    above = (of_all[: bad.size] - rank(bad)) / good.size
    below = 1.0 - (of_all[bad.size :] - rank(good)) / bad.size
    return above, below
