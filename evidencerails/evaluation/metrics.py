"""Metrics of a detector: labels are true for hallucinated, scores are higher the more speaks for a hallucination.

Each metric has one definition, over weighted rows and for many weightings at once: with a weight of 1 each it is the
metric, with the weights of resamples it gives its bootstrap interval (`bootstrap_interval`). scikit-learn takes one
weighting at a time, which is too slow for that; the tests compare with it.

A metric without a value for the rows at hand (AUROC of one class) raises `UndefinedMetricError`; a `NaN` among the
scores is a mistake of the caller and raises `ValueError`. Neither ever becomes a number.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evidencerails.errors import EvidencerailsError, MissingExtraError

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Binning = Literal["width", "mass"]
Weighted: TypeAlias = "Callable[[Floats], Floats]"
"""Weights (block, rows) to a value for each weighting; NaN where the metric is undefined."""
DEFAULT_BINS = 10
DEFAULT_RESAMPLES = 1000
DEFAULT_CONFIDENCE = 0.95


class UndefinedMetricError(EvidencerailsError, ValueError):
    """The metric has no value for these rows, such as AUROC where all have one label."""


class Interval(NamedTuple):
    """A value with the ends of its interval; `value` is None where it is undefined, and `reason` says why."""

    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str = ""

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready; the reason only where there is one."""
        data: dict[str, Any] = {"value": self.value, "low": self.low, "high": self.high}
        return {**data, "reason": self.reason} if self.reason else data


class Bin(NamedTuple):
    """One bin of a reliability diagram."""

    low: float
    high: float
    rows: int
    mean_probability: float
    share_hallucinated: float


class Confusion(NamedTuple):
    """Counts at one threshold."""

    tp: int
    fp: int
    fn: int
    tn: int


def library(name: str) -> Any:
    """A module of scikit-learn or SciPy, such as `sklearn.metrics`.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError:
        package = {"sklearn": "scikit-learn"}.get(name.split(".")[0], name.split(".")[0])
        raise MissingExtraError("evaluation", package, "eval") from None


def checked(labels: ArrayLike, scores: ArrayLike, *, probabilities: bool = False) -> tuple[Bools, Floats]:
    """Labels and scores as arrays of one length.

    Raises:
        ValueError: lengths differ, a label is not 0 or 1, a score is NaN, infinite, or no probability.
        UndefinedMetricError: there are no rows.
    """
    given, values = np.asarray(labels), np.asarray(scores, dtype=np.float64)
    if given.ndim != 1 or given.shape != values.shape:
        raise ValueError(f"labels and scores must be flat and of one length, got {given.shape} and {values.shape}")
    if given.size == 0:
        raise UndefinedMetricError("no rows: no metric has a value")
    if given.dtype != np.bool_ and not np.isin(given, (0, 1)).all():
        raise ValueError(f"labels must be true or false (1 or 0), got {sorted(set(given.tolist()), key=repr)[:5]}")
    if not np.isfinite(values).all():
        place = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ValueError(f"score {place} is {values[place]}; leave unscored rows out, or count them as unverified")
    if probabilities and ((values < 0).any() or (values > 1).any()):
        place = int(np.flatnonzero((values < 0) | (values > 1))[0])
        raise ValueError(f"probability {place} is {values[place]:g}; expected 0 to 1")
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

    def __init__(
        self, title: str, weighted: Callable[[Bools, Floats], Weighted], *, probabilities: bool = False
    ) -> None:
        self.title, self.weighted, self._probabilities = title, weighted, probabilities

    def __call__(self, labels: ArrayLike, scores: ArrayLike) -> float:
        truth, values = checked(labels, np.asarray(scores, dtype=np.float64), probabilities=self._probabilities)
        value = float(self.weighted(truth, values)(np.ones((1, truth.size)))[0])
        if np.isfinite(value):
            return value
        if self.title == "precision":
            raise UndefinedMetricError("precision is undefined: no row was flagged")
        only = "hallucinated" if truth.all() else "clean"
        raise UndefinedMetricError(f"{self.title} is undefined: all {truth.size} rows are {only}")


def ratio(above: Floats, below: Floats) -> Floats:
    """Quotients; NaN where there is nothing to divide by."""
    out = np.full(above.shape, np.nan)
    np.divide(above, below, out=out, where=below > 0)
    return out


def of_sums(formula: Callable[..., Floats], *columns: ArrayLike) -> Weighted:
    """A formula of the weighted sums of some columns."""
    table = np.stack([np.asarray(column, dtype=np.float64) for column in columns], axis=1)
    return lambda weights: formula(*(weights @ table).T)


def _cells(labels: Bools, scores: Floats) -> tuple[Bools, ...]:
    """Which rows are true and false positives, false and true negatives."""
    flagged = scores >= 0.5
    return labels & flagged, ~labels & flagged, labels & ~flagged, ~labels & ~flagged


def _of_counts(formula: Callable[[Floats, Floats, Floats, Floats], Floats]) -> Callable[[Bools, Floats], Weighted]:
    """A formula of the weights of true and false positives, false and true negatives."""
    return lambda labels, flags: of_sums(formula, *_cells(labels, flags))


def _ranked(labels: Bools, scores: Floats) -> Callable[[Floats], tuple[Floats, Floats]]:
    """From weights to those of hallucinated rows and of all rows at or above each distinct score, (block, scores).

    Rows are sorted once for all weightings.
    """
    order = np.argsort(-scores, kind="stable")
    truth, ranked = labels[order].astype(np.float64), scores[order]
    last = np.flatnonzero(np.r_[ranked[1:] != ranked[:-1], True])

    def sums(weights: Floats) -> tuple[Floats, Floats]:
        drawn = np.take(weights, order, axis=1)
        hits, seen = np.cumsum(drawn * truth, axis=1), np.cumsum(drawn, axis=1)
        return (hits, seen) if last.size == ranked.size else (hits[:, last], seen[:, last])

    return sums


def _auroc(labels: Bools, scores: Floats) -> Weighted:
    sums = _ranked(labels, scores)

    def values(weights: Floats) -> Floats:
        hits, seen = sums(weights)
        bad, all_bad = np.diff(hits, axis=1, prepend=0.0), hits[:, -1]
        good = np.diff(seen, axis=1, prepend=0.0) - bad
        above = np.einsum("ij,ij->i", hits - bad / 2, good)
        return ratio(above, all_bad * (seen[:, -1] - all_bad))

    return values


def _auprc(labels: Bools, scores: Floats) -> Weighted:
    sums = _ranked(labels, scores)

    def values(weights: Floats) -> Floats:
        hits, seen = sums(weights)
        precisions = np.divide(hits, seen, out=np.zeros_like(hits), where=seen > 0)
        found = ratio(np.einsum("ij,ij->i", np.diff(hits, axis=1, prepend=0.0), precisions), hits[:, -1])
        found[seen[:, -1] == hits[:, -1]] = np.nan
        return found

    return values


def _ece(binning: Binning) -> Callable[[Bools, Floats], Weighted]:
    """The calibration error over the bins of all rows."""

    def weighted(labels: Bools, scores: Floats) -> Weighted:
        places = bin_of(scores, DEFAULT_BINS, binning)
        gaps = (np.where(places == number, scores - labels, 0.0) for number in range(DEFAULT_BINS))
        return of_sums(lambda *sums: ratio(np.abs(sums[:-1]).sum(axis=0), sums[-1]), *gaps, np.ones(labels.size))

    return weighted


auroc = Metric("AUROC", _auroc)
"""Probability that a hallucinated row scores above a clean one, ties counting half; constant scores give 0.5."""
auprc = Metric("AUPRC", _auprc)
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
ece_by_width = Metric("ECE", _ece("width"), probabilities=True)
ece_by_mass = Metric("ECE", _ece("mass"), probabilities=True)
"""`ece` over bins of equal widths, and of equal numbers of rows."""
INTERVAL_METRICS = {"auroc": auroc, "auprc": auprc, "brier": brier, "ece": ece_by_width, "precision": precision,
                    "recall": recall, "f1": f1, "balanced_accuracy": balanced_accuracy}  # fmt: skip
"""Metrics that `bootstrap_interval` knows by name."""


def confusion(labels: ArrayLike, flagged: ArrayLike) -> Confusion:
    """Counts of flagged and passed rows by their label."""
    cells = _cells(*checked(labels, np.asarray(flagged, dtype=np.float64)))
    return Confusion(*(int(cell.sum()) for cell in cells))


def ece(labels: ArrayLike, probabilities: ArrayLike, bins: int = DEFAULT_BINS, *, binning: Binning = "width") -> float:
    """Expected calibration error, in [0, 1]: mean distance of stated probability and observed share over bins.

    Every probability falls into a bin: `width` takes equal widths, each closed below and the last one above as well
    (1.0 counts); `mass` takes equal numbers of rows. Naeini et al. 2015; scikit-learn has none.
    """
    found = reliability(labels, probabilities, bins, binning=binning)
    total = sum(one.rows for one in found)
    return float(sum(one.rows * abs(one.mean_probability - one.share_hallucinated) for one in found) / total)


def reliability(
    labels: ArrayLike, probabilities: ArrayLike, bins: int = DEFAULT_BINS, *, binning: Binning = "width"
) -> list[Bin]:
    """The bins of a reliability diagram in order, empty ones left out."""
    truth, values = checked(labels, probabilities, probabilities=True)
    places = bin_of(values, bins, binning)
    found = []
    for number in np.unique(places):
        inside = values[places == number]
        ends = (number / bins, (number + 1) / bins) if binning == "width" else (inside.min(), inside.max())
        share = float(truth[places == number].mean())
        found.append(Bin(float(ends[0]), float(ends[1]), inside.size, float(inside.mean()), share))
    return found


def bin_of(values: Floats, bins: int, binning: Binning) -> NDArray[np.intp]:
    """The bin of each value, from 0. By mass, equal values share a bin: the one of the first of them by rank.

    Raises:
        ValueError: there would be no bin.
    """
    if bins < 1:
        raise ValueError(f"bins must be at least 1, got {bins}")
    if binning == "mass":
        first_rank = np.searchsorted(np.sort(values), values, side="left")
        return first_rank * bins // values.size
    inner = np.arange(1, bins) / bins  # a product such as .29 * 100 falls short of its bin
    return np.searchsorted(inner, values, side="right")


def bootstrap_interval(
    labels: ArrayLike,
    scores: ArrayLike,
    metric: str | Callable[[Any, Any], float] = auroc,
    *,
    groups: Sequence[Any] | None = None,
    resamples: int = DEFAULT_RESAMPLES,
    confidence: float = DEFAULT_CONFIDENCE,
    seed: int = 0,
) -> Interval:
    """The metric with its percentile bootstrap interval (Efron and Tibshirani 1993, chapter 13).

    Args:
        metric: a function of this module, its name, or any function of labels and scores.
        groups: a document for each row; whole documents are drawn, because rows of one are not independent.
        confidence: of the interval, in (0, 1).

    Returns:
        An interval whose value is None, with the reason, where the metric is undefined. Resamples in which it is
        undefined are left out; with fewer than half left, the ends are None and the reason says so.
    """
    from evidencerails.evaluation import bootstrap

    if isinstance(metric, str) and metric not in INTERVAL_METRICS:
        raise ValueError(f"unknown metric {metric!r}; available: {', '.join(INTERVAL_METRICS)}")
    function: Callable[[Any, Any], float] = INTERVAL_METRICS[metric] if isinstance(metric, str) else metric
    try:
        truth, values = checked(labels, scores)
    except UndefinedMetricError as error:
        return Interval(None, reason=str(error))
    if groups is not None and len(groups) != truth.size:
        raise ValueError(f"groups must have one entry a row, got {len(groups)} for {truth.size} rows")
    estimate = bootstrap.of_metric(function, truth, values)
    return bootstrap.interval(estimate, groups=groups, resamples=resamples, confidence=confidence, seed=seed)
