"""Metrics of a detector: labels are true for hallucinated, scores are higher the more speaks for a hallucination.

Values come from scikit-learn where it has the metric; `bootstrap_interval` puts an interval on each. A metric without a
value for the rows at hand (AUROC of one class) raises `UndefinedMetricError`; a `NaN` among the scores is a mistake of
the caller and raises `ValueError`. Neither ever becomes a number.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evidencerails.errors import EvidencerailsError, MissingExtraError

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Binning = Literal["width", "mass"]
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


def _both_classes(labels: Bools, name: str) -> None:
    if labels.all() or not labels.any():
        only = "hallucinated" if labels.all() else "clean"
        raise UndefinedMetricError(f"{name} is undefined: all {labels.size} rows are {only}")


def auroc(labels: ArrayLike, scores: ArrayLike) -> float:
    """Probability that a hallucinated row scores above a clean one, ties counting half; constant scores give 0.5."""
    truth, values = checked(labels, scores)
    _both_classes(truth, "AUROC")
    return float(library("sklearn.metrics").roc_auc_score(truth, values))


def auprc(labels: ArrayLike, scores: ArrayLike) -> float:
    """Average precision: precision at each distinct score weighted by the recall it adds; chance is the base rate."""
    truth, values = checked(labels, scores)
    _both_classes(truth, "AUPRC")
    return float(library("sklearn.metrics").average_precision_score(truth, values))


def brier(labels: ArrayLike, probabilities: ArrayLike) -> float:
    """Mean squared distance of probability and outcome, in [0, 1]; 0 is perfect, 0.25 is what a constant 0.5 gets."""
    truth, values = checked(labels, probabilities, probabilities=True)
    return float(library("sklearn.metrics").brier_score_loss(truth, values, pos_label=True))


def ece(labels: ArrayLike, probabilities: ArrayLike, bins: int = DEFAULT_BINS, *, binning: Binning = "width") -> float:
    """Expected calibration error, in [0, 1]: mean distance of stated probability and observed share over bins.

    Every probability falls into a bin: `width` takes equal widths, each closed below and the last one above as well
    (1.0 counts); `mass` takes equal numbers of rows. Naeini et al. 2015; scikit-learn has none.
    """
    found = reliability(labels, probabilities, bins, binning=binning)
    total = sum(one.rows for one in found)
    return float(sum(one.rows * abs(one.mean_probability - one.share_hallucinated) for one in found) / total)


def ece_by_mass(labels: ArrayLike, probabilities: ArrayLike) -> float:
    """`ece` over bins of equal numbers of rows."""
    return ece(labels, probabilities, binning="mass")


def reliability(
    labels: ArrayLike, probabilities: ArrayLike, bins: int = DEFAULT_BINS, *, binning: Binning = "width"
) -> list[Bin]:
    """The bins of a reliability diagram in order, empty ones left out."""
    truth, values = checked(labels, probabilities, probabilities=True)
    places = bin_of(values, bins, binning)
    found = []
    for number in np.unique(places):
        inside = places == number
        ends = (
            (number / bins, (number + 1) / bins) if binning == "width" else (values[inside].min(), values[inside].max())
        )
        mean, share = float(values[inside].mean()), float(truth[inside].mean())
        found.append(Bin(float(ends[0]), float(ends[1]), int(inside.sum()), mean, share))
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


class Confusion(NamedTuple):
    """Counts at one threshold."""

    tp: int
    fp: int
    fn: int
    tn: int


def confusion(labels: ArrayLike, flagged: ArrayLike) -> Confusion:
    """Counts of flagged and passed rows by their label."""
    truth, flags = _flags(labels, flagged)
    tn, fp, fn, tp = library("sklearn.metrics").confusion_matrix(truth, flags, labels=[False, True]).ravel()
    return Confusion(int(tp), int(fp), int(fn), int(tn))


def _flags(labels: ArrayLike, flagged: ArrayLike) -> tuple[Bools, Bools]:
    truth, said = checked(labels, np.asarray(flagged, dtype=np.float64))
    return truth, said >= 0.5


def precision(labels: ArrayLike, flagged: ArrayLike) -> float:
    """Share of flagged rows that are hallucinated; undefined where nothing is flagged."""
    truth, flags = _flags(labels, flagged)
    if not flags.any():
        raise UndefinedMetricError("precision is undefined: no row was flagged")
    return float(library("sklearn.metrics").precision_score(truth, flags))


def recall(labels: ArrayLike, flagged: ArrayLike) -> float:
    """Share of hallucinated rows that are flagged; undefined where no row is hallucinated."""
    truth, flags = _flags(labels, flagged)
    if not truth.any():
        raise UndefinedMetricError("recall is undefined: no row is hallucinated")
    return float(library("sklearn.metrics").recall_score(truth, flags))


def f1(labels: ArrayLike, flagged: ArrayLike) -> float:
    """Harmonic mean of precision and recall; 0 where nothing is flagged, undefined where no row is hallucinated."""
    truth, flags = _flags(labels, flagged)
    if not truth.any():
        raise UndefinedMetricError("F1 is undefined: no row is hallucinated")
    return float(library("sklearn.metrics").f1_score(truth, flags))


def balanced_accuracy(labels: ArrayLike, flagged: ArrayLike) -> float:
    """Mean of the shares of both classes that are judged rightly; 0.5 is chance."""
    truth, flags = _flags(labels, flagged)
    _both_classes(truth, "balanced accuracy")
    return float(library("sklearn.metrics").balanced_accuracy_score(truth, flags))


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
    function = globals()[metric] if isinstance(metric, str) else metric
    try:
        truth, values = checked(labels, scores)
    except UndefinedMetricError as error:
        return Interval(None, reason=str(error))
    if groups is not None and len(groups) != truth.size:
        raise ValueError(f"groups must have one entry a row, got {len(groups)} for {truth.size} rows")
    estimate = bootstrap.of_metric(function, truth, values)
    return bootstrap.interval(estimate, groups=groups, resamples=resamples, confidence=confidence, seed=seed)


INTERVAL_METRICS = ("auroc", "auprc", "brier", "ece", "precision", "recall", "f1", "balanced_accuracy")
"""Metrics that have a name here."""
