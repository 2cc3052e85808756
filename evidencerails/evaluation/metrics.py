"""Metrics of a detector with bootstrap intervals. Labels are true for hallucinated; scores rise with the suspicion.

A metric is a function of the labels and scores of some rows; its percentile interval (Efron and Tibshirani 1993,
chapter 13) is that of the same function over resamples in which whole documents are drawn, which scipy.stats.bootstrap
cannot. A metric without a value for the rows at hand is NaN and says why; it never becomes a number.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evidencerails.errors import EvidencerailsError, extra_for

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Places = NDArray[np.intp]
"""Rows of a resample, by their places; some stand in it several times."""
BINS = 10
MOST_RESAMPLES, LEAST_RESAMPLES = 500, 200
"""Of up to 20,000 rows, and of very many: the more rows, the steadier an interval is."""


class UndefinedMetricError(EvidencerailsError, ValueError):
    """The metric has no value for these rows, such as AUROC where all have one label."""


class Interval(NamedTuple):
    """A value with the ends of its 95 % interval; `value` is None where it is undefined, and `reason` says why."""

    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str = ""

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready; the reason only where there is one."""
        data: dict[str, Any] = {"value": self.value, "low": self.low, "high": self.high}
        return {**data, "reason": self.reason} if self.reason else data


class Estimate:
    """A value over some rows, and how to compute it for resamples of them; None where it has none, with the reason."""

    def __init__(self, of_places: Callable[[Places], float], rows: int, reason: str = "nothing to divide by") -> None:
        self.of_places, self.rows = of_places, rows
        value = float(of_places(np.arange(rows))) if rows else float("nan")
        self.value = value if np.isfinite(value) else None
        self.reason = reason if rows else "no rows: no metric has a value"


def library(name: str) -> Any:
    """A module of scikit-learn or SciPy, such as `sklearn.metrics`. `MissingExtraError`: it is not installed."""
    with extra_for("evaluation"):
        module = importlib.import_module(name)
    return module


def checked(labels: ArrayLike, scores: ArrayLike, *, probabilities: bool = False) -> tuple[Bools, Floats]:
    """Labels and scores as arrays of one length. `ValueError`: lengths differ, a label is not 0 or 1, a score is NaN,
    infinite, or no probability. `UndefinedMetricError`: there are no rows."""
    given, values = np.asarray(labels), np.asarray(scores, dtype=np.float64)
    if given.ndim != 1 or given.shape != values.shape:
        raise ValueError(f"labels and scores must be flat and of one length, got {given.shape} and {values.shape}")
    if given.size == 0:
        raise UndefinedMetricError("no rows: no metric has a value")
    if given.dtype != np.bool_ and not np.isin(given, (0, 1)).all():
        raise ValueError(f"labels must be true or false (1 or 0), got {sorted(set(given.tolist()), key=repr)[:5]}")
    for bad, what in (
        (~np.isfinite(values), "a score"),
        (probabilities & ((values < 0) | (values > 1)), "from 0 to 1"),
    ):
        if bad.any():
            place = int(np.flatnonzero(bad)[0])
            raise ValueError(f"score {place} is {values[place]:g}; expected {what}; leave unscored rows out")
    return given.astype(np.bool_), values


class Metric:
    """A metric of labels and scores; `metric(labels, scores)` is its value.

    `title` is its name in messages; `function` gives NaN where it has no value; with `probabilities` the scores must be
    in [0, 1]. When called, `ValueError`: as `checked`. `UndefinedMetricError`: it has no value for these rows.
    """

    def __init__(self, title: str, function: Callable[[Bools, Floats], float], *, probabilities: bool = False) -> None:
        self.title, self._function, self._probabilities = title, function, probabilities

    def __call__(self, labels: ArrayLike, scores: ArrayLike) -> float:
        found = self.estimate(*checked(labels, scores, probabilities=self._probabilities))
        if found.value is None:
            raise UndefinedMetricError(found.reason)
        return found.value

    def estimate(self, labels: Bools, scores: Floats) -> Estimate:
        """Its value over these rows and their resamples."""
        reason = f"all {labels.size} rows are {'hallucinated' if labels.all() else 'clean'}"
        reason = "no row was flagged" if self.title == "precision" else reason
        function = lambda at: self._function(labels[at], scores[at])  # noqa: E731
        return Estimate(function, labels.size, f"{self.title} is undefined: {reason}")


def ratio(above: float, below: float) -> float:
    """A quotient; NaN where there is nothing to divide by."""
    return float(above / below) if below > 0 else float("nan")


def of_ratio(above: ArrayLike, below: ArrayLike, reason: str = "nothing to divide by") -> Estimate:
    """A sum over the rows divided by another one."""
    one, other = (np.asarray(side, dtype=np.float64) for side in (above, below))
    return Estimate(lambda at: ratio(one[at].sum(), other[at].sum()), len(one), reason)


def of_rows(statistic: Callable[[NDArray[Any]], float], table: NDArray[Any], reason: str = "") -> Estimate:
    """Any statistic of the rows of a table, NaN where it is undefined."""
    return Estimate(lambda at: statistic(table[at]), len(table), reason)


def _of_counts(formula: Callable[[int, int, int, int], float]) -> Callable[[Bools, Floats], float]:
    """A formula of the numbers of true and false positives, false and true negatives."""

    def of_flags(labels: Bools, flags: Floats) -> float:
        flagged = flags >= 0.5
        hit, wrong, bad = int((labels & flagged).sum()), int(flagged.sum()), int(labels.sum())
        return formula(hit, wrong - hit, bad - hit, labels.size - bad - wrong + hit)

    return of_flags


def _area(labels: Bools, scores: Floats) -> float:
    bad, good = int(labels.sum()), int((~labels).sum())
    ranks = library("scipy.stats").rankdata(scores)
    return ratio(ranks[labels].sum() - bad * (bad + 1) / 2, bad * good)


def _average_precision(labels: Bools, scores: Floats) -> float:
    if labels.all():
        return float("nan")
    order = np.argsort(-scores, kind="stable")
    ranked, hits = scores[order], np.cumsum(labels[order])
    last = np.flatnonzero(np.r_[ranked[1:] != ranked[:-1], True])
    return ratio((np.diff(hits[last], prepend=0) * hits[last] / (last + 1)).sum(), hits[-1])


def _ece(labels: Bools, scores: Floats) -> float:
    """Mean distance of stated probability and observed share over bins (Naeini et al. 2015; scikit-learn has none)."""
    gaps = np.bincount(bin_of(scores), weights=scores - labels)
    return ratio(float(np.abs(gaps).sum()), labels.size)


auroc = Metric("AUROC", _area)
"""Probability that a hallucinated row scores above a clean one, ties counting half; constant scores give 0.5."""
auprc = Metric("AUPRC", _average_precision)
"""Average precision: precision at each distinct score weighted by the recall it adds; chance is the base rate."""
brier = Metric("Brier score", lambda labels, scores: float(((scores - labels) ** 2).mean()), probabilities=True)
"""Mean squared distance of probability and outcome, in [0, 1]; 0 is perfect, 0.25 is what a constant 0.5 gets."""
precision = Metric("precision", _of_counts(lambda tp, fp, fn, tn: ratio(tp, tp + fp)))
"""Share of flagged rows that are hallucinated; undefined where nothing is flagged. Flags are scores from 0.5 on."""
recall = Metric("recall", _of_counts(lambda tp, fp, fn, tn: ratio(tp, tp + fn)))
"""Share of hallucinated rows that are flagged; undefined where no row is hallucinated."""
f1 = Metric("F1", _of_counts(lambda tp, fp, fn, tn: ratio(2 * tp, 2 * tp + fp + fn) if tp + fn else float("nan")))
"""Harmonic mean of precision and recall; 0 where nothing is flagged, undefined where no row is hallucinated."""
balanced_accuracy = Metric(
    "balanced accuracy", _of_counts(lambda tp, fp, fn, tn: (ratio(tp, tp + fn) + ratio(tn, tn + fp)) / 2)
)
"""Mean of the shares of both classes that are judged rightly; 0.5 is chance."""
ece = Metric("ECE", _ece, probabilities=True)
"""Expected calibration error over ten bins of equal widths."""
FLAG_METRICS = {"precision": precision, "recall": recall, "f1": f1, "balanced_accuracy": balanced_accuracy}
SCORE_METRICS = {"auroc": auroc, "auprc": auprc, "brier": brier, "ece": ece}


def bin_of(values: Floats) -> NDArray[np.intp]:
    """The bin of each value, from 0."""
    return np.searchsorted(np.arange(1, BINS) / BINS, values, side="right")


def intervals(
    wanted: Mapping[str, Estimate], groups: Sequence[Any] | NDArray[Any] | None = None, *, seed: int = 0
) -> dict[str, Interval]:
    """The interval of each estimate, all over the same resamples of the same rows."""
    usable = {name: one for name, one in wanted.items() if one.value is not None}
    rows = max((one.rows for one in usable.values()), default=0)
    drawn: dict[str, list[float]] = {name: [] for name in usable}
    for at in resamples(rows, groups, seed) if rows else ():
        for name, one in usable.items():
            drawn[name].append(one.of_places(at))
    ends = {name: _ends(float(one.value or 0.0), np.array(drawn[name])) for name, one in usable.items()}
    return {name: ends.get(name, Interval(None, reason=one.reason)) for name, one in wanted.items()}


def measured(wanted: Mapping[str, Estimate], groups: Any = None, seed: int = 0) -> dict[str, dict[str, Any]]:
    """The estimates with their intervals, ready for JSON."""
    return {name: one.as_dict() for name, one in intervals(wanted, groups, seed=seed).items()}


def resamples(rows: int, groups: Any, seed: int) -> Iterator[Places]:
    """The places of the rows of each resample; groups are drawn whole."""
    generator, every = np.random.default_rng(seed), np.arange(rows)
    index = every if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]
    units = int(index.max()) + 1
    for _ in range(int(min(MOST_RESAMPLES, max(LEAST_RESAMPLES, MOST_RESAMPLES * 20_000 // rows)))):
        counts = np.bincount(generator.integers(0, units, size=units), minlength=units)
        yield np.repeat(every, counts[index])


def _ends(value: float, drawn: Floats) -> Interval:
    """The interval from the metric's values over the resamples; undefined ones are left out."""
    usable = drawn[np.isfinite(drawn)]
    if usable.size < drawn.size / 2:
        reason = f"no interval: undefined in {drawn.size - usable.size} of {drawn.size} resamples"
        return Interval(value, reason=reason)
    low, high = np.quantile(usable, [0.025, 0.975])
    return Interval(value, float(low), float(high))


def bootstrap_interval(
    labels: ArrayLike, scores: ArrayLike, metric: Metric = auroc, *, groups: Sequence[Any] | None = None, seed: int = 0
) -> Interval:
    """A metric with its interval; its value is None, with the reason, where it is undefined.

    Args:
        groups: a document for each row; whole documents are drawn, because rows of one are not independent.
    """
    truth, values = checked(labels, scores)
    if groups is not None and len(groups) != truth.size:
        raise ValueError(f"groups must have one entry a row, got {len(groups)} for {truth.size} rows")
    return intervals({"": metric.estimate(truth, values)}, groups, seed=seed)[""]
