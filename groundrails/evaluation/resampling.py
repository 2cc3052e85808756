"""Bootstrap intervals, vectorised: a resample is a row of weights, and each metric is computed for a block of them.

Drawing n rows with replacement is the same as giving each row the number of times it was drawn. Sums over weights are
matrix products, so 1000 resamples of 1000 rows take a fraction of a second. With groups, whole documents are drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from groundrails.evaluation import metrics
from groundrails.evaluation.metrics import Bools, Floats, Interval, UndefinedMetricError

BLOCK_CELLS = 1_000_000
"""Weights held at once: 8 MB, whatever the number of rows."""
Groups: TypeAlias = "Sequence[Any] | NDArray[Any]"
"""The document of each row."""
Weighted = Callable[[Floats, Bools, Floats], Floats]
"""Weights (block, rows), labels and scores to one value a resample; NaN where the metric is undefined."""


def weight_blocks(rows: int, groups: Groups | None, resamples: int, seed: int) -> Iterator[Floats]:
    """Blocks of weights, shape (block, rows), of `resamples` resamples in all."""
    generator = np.random.default_rng(seed)
    index = None if groups is None else _numbered(groups)
    units = rows if index is None else int(index.max()) + 1
    per_block = max(1, BLOCK_CELLS // max(rows, units))
    for start in range(0, resamples, per_block):
        drawn = generator.integers(0, units, size=(min(per_block, resamples - start), units))
        offsets = np.arange(len(drawn))[:, None] * units
        counts = np.bincount((drawn + offsets).ravel(), minlength=len(drawn) * units).reshape(len(drawn), units)
        yield (counts if index is None else counts[:, index]).astype(np.float64)


def _numbered(groups: Groups) -> NDArray[np.intp]:
    """The number of each row's group, from 0."""
    array = groups if isinstance(groups, np.ndarray) else np.asarray(list(map(str, groups)))
    return np.unique(array, return_inverse=True)[1]


def interval(
    metric: Callable[[Any, Any], float],
    labels: ArrayLike,
    scores: ArrayLike,
    *,
    groups: Groups | None = None,
    resamples: int = metrics.DEFAULT_RESAMPLES,
    confidence: float = metrics.DEFAULT_CONFIDENCE,
    seed: int = 0,
) -> Interval:
    """See `metrics.bootstrap_interval`."""
    try:
        truth, values = metrics.checked(labels, scores)
        value = metric(truth, values)
    except UndefinedMetricError as error:
        return Interval(None, reason=str(error))
    if groups is not None and len(groups) != truth.size:
        raise ValueError(f"groups must have one entry a row, got {len(groups)} for {truth.size} rows")
    quick = _FAST.get(metric)
    blocks = weight_blocks(truth.size, groups, resamples, seed)
    if quick is not None:
        drawn = np.concatenate([quick(block, truth, values) for block in blocks])
    else:
        drawn = np.array([_slow(metric, truth, values, weights) for block in blocks for weights in block])
    return ends(value, drawn, confidence)


def ends(value: float, drawn: Floats, confidence: float) -> Interval:
    """The interval from the metric's values over the resamples; NaN ones are left out."""
    usable = drawn[np.isfinite(drawn)]
    if usable.size < drawn.size / 2:
        return Interval(
            float(value), reason=f"no interval: undefined in {drawn.size - usable.size} of {drawn.size} resamples"
        )
    tail = (1.0 - confidence) / 2
    low, high = np.quantile(usable, [tail, 1.0 - tail])
    return Interval(float(value), float(low), float(high))


def _slow(metric: Callable[[Any, Any], float], labels: Bools, scores: Floats, weights: Floats) -> float:
    chosen = np.repeat(np.arange(labels.size), weights.astype(np.int64))
    try:
        return float(metric(labels[chosen], scores[chosen]))
    except UndefinedMetricError:
        return float("nan")


def _ratio(above: Floats, below: Floats) -> Floats:
    out = np.full(above.shape, np.nan)
    np.divide(above, below, out=out, where=below > 0)
    return out


def _tied_sums(weights: Floats, labels: Bools, scores: Floats) -> tuple[Floats, Floats]:
    """Weight of hallucinated and clean rows at each distinct score, from the highest down; shape (block, scores)."""
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    starts = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]])
    sorted_weights, truth = weights[:, order], labels[order].astype(np.float64)
    bad = np.add.reduceat(sorted_weights * truth, starts, axis=1)
    return bad, np.add.reduceat(sorted_weights, starts, axis=1) - bad


def _auroc(weights: Floats, labels: Bools, scores: Floats) -> Floats:
    bad, good = _tied_sums(weights, labels, scores)
    above = np.cumsum(bad, axis=1) - bad / 2
    return _ratio((above * good).sum(axis=1), bad.sum(axis=1) * good.sum(axis=1))


def _auprc(weights: Floats, labels: Bools, scores: Floats) -> Floats:
    bad, good = _tied_sums(weights, labels, scores)
    hits, seen = np.cumsum(bad, axis=1), np.cumsum(bad + good, axis=1)
    precision = np.divide(hits, seen, out=np.zeros_like(hits), where=seen > 0)
    values = _ratio((bad * precision).sum(axis=1), bad.sum(axis=1))
    values[good.sum(axis=1) == 0] = np.nan
    return values


def _brier(weights: Floats, labels: Bools, scores: Floats) -> Floats:
    return _ratio(weights @ (scores - labels) ** 2, weights.sum(axis=1))


def _binned_gap(weights: Floats, labels: Bools, scores: Floats, places: NDArray[np.intp]) -> Floats:
    gaps = np.zeros((labels.size, metrics.DEFAULT_BINS))
    gaps[np.arange(labels.size), places] = scores - labels
    return _ratio(np.abs(weights @ gaps).sum(axis=1), weights.sum(axis=1))


def _ece(weights: Floats, labels: Bools, scores: Floats) -> Floats:
    return _binned_gap(weights, labels, scores, metrics.bin_of(scores, metrics.DEFAULT_BINS, "width"))


def _ece_by_mass(weights: Floats, labels: Bools, scores: Floats) -> Floats:
    return _binned_gap(weights, labels, scores, metrics.bin_of(scores, metrics.DEFAULT_BINS, "mass"))


def _counts(weights: Floats, labels: Bools, scores: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    flagged = scores >= 0.5
    cells = np.stack([labels & flagged, ~labels & flagged, labels & ~flagged, ~labels & ~flagged], axis=1)
    counts = weights @ cells.astype(np.float64)
    return counts[:, 0], counts[:, 1], counts[:, 2], counts[:, 3]


def _precision(weights: Floats, labels: Bools, scores: Floats) -> Floats:
    tp, fp, _, _ = _counts(weights, labels, scores)
    return _ratio(tp, tp + fp)


def _recall(weights: Floats, labels: Bools, scores: Floats) -> Floats:
    tp, _, fn, _ = _counts(weights, labels, scores)
    return _ratio(tp, tp + fn)


def _f1(weights: Floats, labels: Bools, scores: Floats) -> Floats:
    tp, fp, fn, _ = _counts(weights, labels, scores)
    values = _ratio(2 * tp, 2 * tp + fp + fn)
    values[tp + fn == 0] = np.nan
    return values


def _balanced_accuracy(weights: Floats, labels: Bools, scores: Floats) -> Floats:
    tp, fp, fn, tn = _counts(weights, labels, scores)
    return (_ratio(tp, tp + fn) + _ratio(tn, tn + fp)) / 2


_FAST: dict[Callable[..., float], Weighted] = {
    metrics.auroc: _auroc,
    metrics.auprc: _auprc,
    metrics.brier: _brier,
    metrics.ece: _ece,
    metrics.ece_by_mass: _ece_by_mass,
    metrics.precision: _precision,
    metrics.recall: _recall,
    metrics.f1: _f1,
    metrics.balanced_accuracy: _balanced_accuracy,
}


def resamples_for(rows: int, most: int = metrics.DEFAULT_RESAMPLES) -> int:
    """`most` up to 20,000 rows, then fewer, at least a fifth: the more rows, the steadier an interval."""
    return int(min(most, max(most // 5, most * 20_000 // max(rows, 1))))


def fast(metric: Callable[[Any, Any], float]) -> Weighted:
    """The vectorised form of a metric.

    Raises:
        KeyError: it has none.
    """
    return _FAST[metric]


def joint_intervals(
    wanted: Mapping[str, tuple[Callable[[Any, Any], float], Floats]],
    labels: ArrayLike,
    *,
    groups: Groups | None = None,
    resamples: int | None = None,
    seed: int = 0,
) -> dict[str, Interval]:
    """Intervals of several vectorised metrics over the same resamples, each metric with its own scores or flags.

    Many rows need fewer resamples for an interval as steady: unset, 1000 up to 20,000 rows, then fewer, at least 200.
    """
    truth = np.asarray(labels, dtype=np.bool_)
    if not truth.size:
        return {name: Interval(None, reason="no rows: no metric has a value") for name in wanted}
    values: dict[str, float] = {}
    found: dict[str, Interval] = {}
    for name, (metric, scores) in wanted.items():
        try:
            values[name] = metric(truth, scores)
        except UndefinedMetricError as error:
            found[name] = Interval(None, reason=str(error))
    count = resamples or resamples_for(truth.size)
    drawn: dict[str, list[Floats]] = {name: [] for name in values}
    for block in weight_blocks(truth.size, groups, count, seed):
        for name in values:
            metric, scores = wanted[name]
            drawn[name].append(_FAST[metric](block, truth, scores))
    for name, value in values.items():
        found[name] = ends(value, np.concatenate(drawn[name]), metrics.DEFAULT_CONFIDENCE)
    return {name: found[name] for name in wanted}


def ratio_of_ratios_interval(
    first: tuple[ArrayLike, ArrayLike],
    second: tuple[ArrayLike, ArrayLike],
    *,
    groups: Groups | None,
    seed: int = 0,
) -> Interval:
    """Ratio of two ratios of sums with its interval; None where the second is 0."""
    columns = [np.asarray(one, dtype=np.float64) for one in (*first, *second)]
    above, above_of, below, below_of = (float(column.sum()) for column in columns)
    if above_of <= 0 or below_of <= 0 or below <= 0:
        return Interval(None, reason="nothing to divide by")
    drawn = []
    for block in weight_blocks(columns[0].size, groups, resamples_for(columns[0].size), seed):
        sums = [block @ column for column in columns]
        drawn.append(_ratio(_ratio(sums[0], sums[1]), _ratio(sums[2], sums[3])))
    return ends(above / above_of / (below / below_of), np.concatenate(drawn), metrics.DEFAULT_CONFIDENCE)


def ratio_interval(
    above: ArrayLike,
    below: ArrayLike,
    *,
    groups: Groups | None = None,
    resamples: int | None = None,
    seed: int = 0,
    reason: str = "nothing to divide by",
) -> Interval:
    """Sum of `above` over sum of `below` with its interval, such as flagged claims over claims, rows as units."""
    top, bottom = np.asarray(above, dtype=np.float64), np.asarray(below, dtype=np.float64)
    if bottom.size == 0 or bottom.sum() <= 0:
        return Interval(None, reason=reason)
    count = resamples or resamples_for(top.size)
    drawn = [_ratio(block @ top, block @ bottom) for block in weight_blocks(top.size, groups, count, seed)]
    return ends(float(top.sum() / bottom.sum()), np.concatenate(drawn), metrics.DEFAULT_CONFIDENCE)


def statistic_interval(
    statistic: Callable[[NDArray[Any]], float],
    columns: ArrayLike,
    *,
    groups: Groups | None = None,
    resamples: int = metrics.DEFAULT_RESAMPLES,
    seed: int = 0,
) -> Interval:
    """A statistic of the rows of a table, shape (rows, columns), with its interval; None where it is undefined."""
    table = np.asarray(columns, dtype=np.float64)
    if not len(table):
        return Interval(None, reason="no rows")
    try:
        value = float(statistic(table))
    except UndefinedMetricError as error:
        return Interval(None, reason=str(error))
    drawn = []
    for block in weight_blocks(len(table), groups, resamples_for(len(table) * 4, resamples), seed):
        for weights in block.astype(np.int64):
            try:
                drawn.append(float(statistic(np.repeat(table, weights, axis=0))))
            except UndefinedMetricError:
                drawn.append(float("nan"))
    return ends(value, np.array(drawn), metrics.DEFAULT_CONFIDENCE)
