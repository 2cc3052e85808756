"""Two runs over the same rows: is the difference more than chance?

McNemar's exact test on the rows that only one of them judges rightly (unverified is wrong), paired bootstrap intervals
of the differences of the metrics, whole documents drawn, and DeLong's test of the AUROCs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from evidencerails.evaluation import metrics
from evidencerails.evaluation.metrics import Estimate, Interval, UndefinedMetricError, intervals
from evidencerails.evaluation.outcomes import Outcome

COMPARED = {"f1": "flag", "balanced_accuracy": "flag", "auroc": "score", "auprc": "score"}


class RowVerdict(NamedTuple):
    """The verdict of one run on a row; an unverified row has the wrong flag and the wrong score."""

    label: bool
    flag: bool
    score: float
    document: str


def verdicts_of(outcomes: Iterable[Outcome], method: str) -> dict[str, RowVerdict]:
    """The verdicts of a method by row."""
    found = {}
    for one in outcomes:
        if one.method == method:
            is_blind, wrong = one.status == "unverified", not one.hallucinated
            score = float(wrong) if is_blind or one.score is None else one.score
            found[one.id] = RowVerdict(one.hallucinated, wrong if is_blind else one.flagged, score, one.document)
    return found


def comparison(first: dict[str, RowVerdict], second: dict[str, RowVerdict], names: tuple[str, str]) -> dict[str, Any]:
    """The comparison of the second with the first, on the rows that both have and label alike.

    `differences` are second minus first; `p_mcnemar` is None where they are right on the same rows, `p_delong` where
    AUROC has no value.
    """
    common = [row for row in first if row in second and first[row].label == second[row].label]
    one, other = [first[row] for row in common], [second[row] for row in common]
    right = [(a.flag == a.label, b.flag == b.label) for a, b in zip(one, other, strict=True)]
    only_first, only_second = right.count((True, False)), right.count((False, True))
    discordant, binomtest = only_first + only_second, metrics.library("scipy.stats").binomtest
    return {
        "first": names[0],
        "second": names[1],
        "rows": len(common),
        "only_first_right": only_first,
        "only_second_right": only_second,
        "p_mcnemar": float(binomtest(only_second, discordant, 0.5).pvalue) if discordant else None,
        "p_delong": _p_delong(one, other),
        "differences": {name: _difference(name, one, other).as_dict() for name in COMPARED},
    }


def _p_delong(first: Sequence[RowVerdict], second: Sequence[RowVerdict]) -> float | None:
    try:
        return delong([one.label for one in first], [one.score for one in first], [one.score for one in second]).p
    except UndefinedMetricError:
        return None


def _difference(name: str, first: Sequence[RowVerdict], second: Sequence[RowVerdict]) -> Interval:
    labels = np.array([one.label for one in first], dtype=np.bool_)
    metric = {**metrics.FLAG_METRICS, **metrics.SCORE_METRICS}[name]
    before, after = (
        metric.estimate(labels, np.array([getattr(one, COMPARED[name]) for one in run], dtype=np.float64))
        for run in (first, second)
    )
    change = Estimate(lambda weights: after.of_weights(weights) - before.of_weights(weights), len(first), before.reason)
    return intervals({"": change}, [one.document for one in first])[""]


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
        ValueError: as `metrics.checked`.
        UndefinedMetricError: a class has fewer than two rows, or the difference does not vary and so has no test.
    """
    truth, one = metrics.checked(labels, first)
    _, other = metrics.checked(labels, second)
    if min(truth.sum(), (~truth).sum()) < 2:
        raise UndefinedMetricError("DeLong's test needs two rows of each label")
    rank, norm = metrics.library("scipy.stats").rankdata, metrics.library("scipy.stats").norm
    sides = []
    for scores in (one, other):
        # For each hallucinated row the share of clean ones below it, for each clean one that of hallucinated ones above
        # it, ties half; by midranks (Sun and Xu 2014), so that it takes n log n steps.
        bad, good = scores[truth], scores[~truth]
        of_all = rank(np.concatenate([bad, good]))
        sides.append(((of_all[: bad.size] - rank(bad)) / good.size, 1.0 - (of_all[bad.size :] - rank(good)) / bad.size))
    bad, good = sides[1][0] - sides[0][0], sides[1][1] - sides[0][1]
    difference, variance = float(bad.mean()), float(bad.var(ddof=1) / bad.size + good.var(ddof=1) / good.size)
    if variance <= 1e-20:
        if abs(difference) < 1e-12:
            return DeLong(0.0, 0.0, 0.0, 1.0)
        raise UndefinedMetricError("DeLong's test is undefined: the difference is the same on all rows")
    error = math.sqrt(variance)
    return DeLong(difference, error, difference / error, float(2 * norm.sf(abs(difference / error))))
