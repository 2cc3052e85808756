"""Metrics of a detector with bootstrap intervals. Labels are true for hallucinated; scores rise with the suspicion.

Each metric has one definition, over weighted rows and for many weightings at once: with a weight of 1 each it is the
metric, with how often each row was drawn it gives its percentile interval (Efron and Tibshirani 1993, chapter 13, whole
documents drawn). scikit-learn takes one weighting at a time and scipy.stats.bootstrap draws single rows; the tests
compare with them. A metric without a value for the rows at hand says why; it never becomes a number.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evidencerails.errors import EvidencerailsError, MissingExtraError

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Weighted: TypeAlias = "Callable[[Floats], Floats]"
"""Weights (block, rows) to a value for each weighting; NaN where the metric is undefined."""
BINS = 10
RESAMPLES, SLOW_RESAMPLES = 1000, 200
"""Slow: for statistics that have no form for many resamples at once."""
BLOCK_CELLS = 250_000
"""Weights held at once: 2 MB, which stays in a processor's cache; one resample at least."""


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

    def __init__(self, of_weights: Weighted, rows: int, reason: str = "nothing to divide by", *, slow: bool = False):
        self.of_weights, self.rows, self.slow = of_weights, rows, slow
        value = float(of_weights(np.ones((1, rows)))[0]) if rows else float("nan")
        self.value = round(value, 12) if np.isfinite(value) else None
        self.reason = reason if rows else "no rows: no metric has a value"


def library(name: str) -> Any:
    """A module of scikit-learn or SciPy, such as `sklearn.metrics`. `MissingExtraError`: it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        package = {"sklearn": "scikit-learn"}.get(name.split(".")[0], name.split(".")[0])
        raise MissingExtraError("evaluation", package, "eval") from None


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

    Args:
        title: its name in messages.
        weighted: from labels and scores to a function of weights.
        probabilities: the scores must be in [0, 1].

    Raises (when called):
        ValueError: as `checked`.
        UndefinedMetricError: it has no value for these rows.
    """

    def __init__(self, title: str, weighted: Callable[[Bools, Floats], Weighted], *, probabilities: bool = False):
        self.title, self._weighted, self._probabilities = title, weighted, probabilities

    def __call__(self, labels: ArrayLike, scores: ArrayLike) -> float:
        found = self.estimate(*checked(labels, scores, probabilities=self._probabilities))
        if found.value is None:
            raise UndefinedMetricError(found.reason)
        return found.value

    def estimate(self, labels: Bools, scores: Floats) -> Estimate:
        """Its value over these rows and their resamples."""
        reason = f"all {labels.size} rows are {'hallucinated' if labels.all() else 'clean'}"
        reason = "no row was flagged" if self.title == "precision" else reason
        weighted = self._weighted(labels, scores) if labels.size else lambda weights: np.full(len(weights), np.nan)
        return Estimate(weighted, labels.size, f"{self.title} is undefined: {reason}")


def ratio(above: Floats, below: Floats) -> Floats:
    """Quotients; NaN where there is nothing to divide by."""
    out = np.full(above.shape, np.nan)
    np.divide(above, below, out=out, where=below > 0)
    return out


def of_sums(formula: Callable[..., Floats], *columns: ArrayLike) -> Weighted:
    """A formula of the weighted sums of some columns."""
    table = np.stack([np.asarray(column, dtype=np.float64) for column in columns], axis=1)
    return lambda weights: formula(*(weights @ table).T)


def of_ratio(above: ArrayLike, below: ArrayLike, reason: str = "nothing to divide by") -> Estimate:
    """A sum over the rows divided by another one."""
    return Estimate(of_sums(ratio, above, below), len(np.asarray(above)), reason)


def of_rows(statistic: Callable[[NDArray[Any]], float], table: NDArray[Any], reason: str = "") -> Estimate:
    """Any statistic of the rows of a table, NaN where it is undefined; slow, as each resample is drawn out."""

    def values(weights: Floats) -> Floats:
        return np.array([statistic(np.repeat(table, drawn, axis=0)) for drawn in weights.astype(np.int64)])

    return Estimate(values, len(table), reason, slow=True)


def _cells(labels: Bools, scores: Floats) -> tuple[Bools, ...]:
    """Which rows are true and false positives, false and true negatives."""
    flagged = scores >= 0.5
    return labels & flagged, ~labels & flagged, labels & ~flagged, ~labels & ~flagged


def _of_counts(formula: Callable[[Floats, Floats, Floats, Floats], Floats]) -> Callable[[Bools, Floats], Weighted]:
    """A formula of the weights of true and false positives, false and true negatives."""
    return lambda labels, flags: of_sums(formula, *_cells(labels, flags))


def _ranking(formula: Callable[[Floats, Floats], Floats]) -> Callable[[Bools, Floats], Weighted]:
    """A formula of the weights of hallucinated rows and of all rows at or above each distinct score, (block, scores).

    Rows are sorted once for all weightings.
    """

    def weighted(labels: Bools, scores: Floats) -> Weighted:
        order = np.argsort(-scores, kind="stable")
        truth, ranked = labels[order].astype(np.float64), scores[order]
        last = np.flatnonzero(np.r_[ranked[1:] != ranked[:-1], True])

        def values(weights: Floats) -> Floats:
            drawn = np.take(weights, order, axis=1)
            return formula(np.cumsum(drawn * truth, axis=1)[:, last], np.cumsum(drawn, axis=1)[:, last])

        return values

    return weighted


def _area(hits: Floats, seen: Floats) -> Floats:
    bad = np.diff(hits, axis=1, prepend=0.0)
    good = np.diff(seen, axis=1, prepend=0.0) - bad
    return ratio(np.einsum("ij,ij->i", hits - bad / 2, good), hits[:, -1] * (seen[:, -1] - hits[:, -1]))


def _average_precision(hits: Floats, seen: Floats) -> Floats:
    precisions = np.divide(hits, seen, out=np.zeros_like(hits), where=seen > 0)
    found = ratio(np.einsum("ij,ij->i", np.diff(hits, axis=1, prepend=0.0), precisions), hits[:, -1])
    found[seen[:, -1] == hits[:, -1]] = np.nan
    return found


def _ece(labels: Bools, scores: Floats) -> Weighted:
    """Mean distance of stated probability and observed share over bins (Naeini et al. 2015; scikit-learn has none)."""
    places = bin_of(scores)
    gaps = (np.where(places == number, scores - labels, 0.0) for number in range(BINS))
    return of_sums(lambda *sums: ratio(np.abs(sums[:-1]).sum(axis=0), sums[-1]), *gaps, np.ones(labels.size))


auroc = Metric("AUROC", _ranking(_area))
"""Probability that a hallucinated row scores above a clean one, ties counting half; constant scores give 0.5."""
auprc = Metric("AUPRC", _ranking(_average_precision))
"""Average precision: precision at each distinct score weighted by the recall it adds; chance is the base rate."""
brier = Metric("Brier score", lambda labels, scores: of_sums(ratio, (scores - labels) ** 2, np.ones(labels.size)),
               probabilities=True)  # fmt: skip
"""Mean squared distance of probability and outcome, in [0, 1]; 0 is perfect, 0.25 is what a constant 0.5 gets."""
precision = Metric("precision", _of_counts(lambda tp, fp, fn, tn: ratio(tp, tp + fp)))
"""Share of flagged rows that are hallucinated; undefined where nothing is flagged. Flags are scores from 0.5 on."""
recall = Metric("recall", _of_counts(lambda tp, fp, fn, tn: ratio(tp, tp + fn)))
"""Share of hallucinated rows that are flagged; undefined where no row is hallucinated."""
f1 = Metric("F1", _of_counts(lambda tp, fp, fn, tn: np.where(tp + fn == 0, np.nan, ratio(2 * tp, 2 * tp + fp + fn))))
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


def reliability(labels: Bools, values: Floats) -> list[dict[str, float]]:
    """The bins of a reliability diagram in order, empty ones left out."""
    places = bin_of(values)
    bins = ((number / BINS, places == number) for number in np.unique(places))
    return [
        {"low": float(low), "high": float(low + 1 / BINS), "rows": int(inside.sum()),
         "mean_probability": float(values[inside].mean()), "share_hallucinated": float(labels[inside].mean())}
        for low, inside in bins
    ]  # fmt: skip


def intervals(
    wanted: Mapping[str, Estimate], groups: Sequence[Any] | NDArray[Any] | None = None, *, seed: int = 0
) -> dict[str, Interval]:
    """The interval of each estimate, all over the same resamples of the same rows.

    Up to 20,000 rows there are 1000 resamples, of more rows fewer, at least 200: the more rows, the steadier it is.
    """
    found = {name: Interval(None, reason=one.reason) for name, one in wanted.items()}
    for slow in (False, True):
        usable = {name: one for name, one in wanted.items() if one.value is not None and one.slow is slow}
        rows = max((one.rows for one in usable.values()), default=0)
        count = SLOW_RESAMPLES if slow else int(min(RESAMPLES, max(SLOW_RESAMPLES, RESAMPLES * 20_000 // max(rows, 1))))
        drawn: dict[str, list[Floats]] = {name: [] for name in usable}
        for block in weight_blocks(rows, groups, count, seed) if rows else ():
            for name, one in usable.items():
                drawn[name].append(one.of_weights(block))
        found |= {name: _ends(one.value or 0.0, np.concatenate(drawn[name])) for name, one in usable.items()}
    return found


def measured(wanted: Mapping[str, Estimate], groups: Any = None, seed: int = 0) -> dict[str, dict[str, Any]]:
    """The estimates with their intervals, ready for JSON."""
    return {name: one.as_dict() for name, one in intervals(wanted, groups, seed=seed).items()}


def weight_blocks(rows: int, groups: Any, resamples: int, seed: int) -> Iterator[Floats]:
    """Blocks of weights, shape (block, rows), of `resamples` resamples in all; groups are drawn whole."""
    generator = np.random.default_rng(seed)
    index = None if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]
    units = rows if index is None else int(index.max()) + 1
    per_block = max(1, BLOCK_CELLS // max(rows, units))
    for start in range(0, resamples, per_block):
        counts = np.empty((min(per_block, resamples - start), units))
        for row in counts:
            row[:] = np.bincount(generator.integers(0, units, size=units, dtype=np.int32), minlength=units)
        yield counts if index is None else np.take(counts, index, axis=1)


def _ends(value: float, drawn: Floats) -> Interval:
    """The interval from the metric's values over the resamples; undefined ones are left out."""
    usable = drawn[np.isfinite(drawn)]
    if usable.size < drawn.size / 2:
        reason = f"no interval: undefined in {drawn.size - usable.size} of {drawn.size} resamples"
        return Interval(value, reason=reason)
    # Weighted sums end a rounding error beside the value they equal: the interval would leave its value out.
    low, high = np.quantile(np.round(usable, 12), [0.025, 0.975])
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
