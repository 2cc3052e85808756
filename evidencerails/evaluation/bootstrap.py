"""Percentile bootstrap intervals (Efron and Tibshirani 1993, chapter 13): whole documents are drawn, and all metrics of
one table share their resamples.

scipy.stats.bootstrap draws single rows, for one metric at a time. Here a resample is a row of weights, how often each
row was drawn, and a metric is computed for a block of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evidencerails.evaluation import metrics
from evidencerails.evaluation.metrics import Bools, Floats, Interval, UndefinedMetricError, Weighted, of_sums, ratio

BLOCK_CELLS = 250_000
"""Weights held at once: 2 MB, which stays in a processor's cache; one resample at least."""
DIGITS = 12
"""Digits of a metric that are kept."""
SLOW_RESAMPLES = 200
"""For statistics that have no form for many resamples at once."""
Groups: TypeAlias = "Sequence[Any] | NDArray[Any]"
"""The document of each row."""


class Estimate(NamedTuple):
    """A value over some rows, and how to compute it for resamples of them."""

    value: float | None
    """None where it is undefined; `reason` says why."""
    of_weights: Weighted
    rows: int
    reason: str = ""


def of_metric(metric: Callable[[Any, Any], float], labels: Bools, scores: Floats) -> Estimate:
    """A function of labels and scores; any but a `Metric` is slow."""
    if not isinstance(metric, metrics.Metric):
        table = np.stack([labels, scores], axis=1)
        return of_rows(lambda rows: metric(rows[:, 0].astype(np.bool_), rows[:, 1]), table)
    try:
        return Estimate(metric(labels, scores), metric.weighted(labels, scores), labels.size)
    except UndefinedMetricError as error:
        return Estimate(None, _nan, labels.size, str(error))


def of_ratio(above: ArrayLike, below: ArrayLike, reason: str = "nothing to divide by") -> Estimate:
    """A sum over the rows divided by another one."""
    return _of_sums(ratio, above, below, reason=reason)


def of_ratio_of_ratios(first: tuple[ArrayLike, ArrayLike], second: tuple[ArrayLike, ArrayLike]) -> Estimate:
    """A ratio of sums divided by another one."""
    return _of_sums(lambda a, b, c, d: ratio(ratio(a, b), ratio(c, d)), *first, *second, reason="nothing to divide by")


def _of_sums(formula: Callable[..., Floats], *columns: ArrayLike, reason: str) -> Estimate:
    rows, of_weights = len(np.asarray(columns[0])), of_sums(formula, *columns)
    value = float(of_weights(np.ones((1, rows)))[0])
    return Estimate(value, of_weights, rows) if np.isfinite(value) else Estimate(None, _nan, rows, reason)


def of_rows(statistic: Callable[[NDArray[Any]], float], table: ArrayLike) -> Estimate:
    """Any statistic of the rows of a table, shape (rows, columns); slow, as each resample is drawn out."""
    rows = np.asarray(table, dtype=np.float64)

    def value(of: NDArray[Any]) -> float:
        try:
            return float(statistic(of))
        except UndefinedMetricError:
            return float("nan")

    def values(weights: Floats) -> Floats:
        return np.array([value(np.repeat(rows, drawn, axis=0)) for drawn in weights.astype(np.int64)])

    if not len(rows):
        return Estimate(None, _nan, 0, "no rows: no metric has a value")
    try:
        return Estimate(float(statistic(rows)), values, len(rows))
    except UndefinedMetricError as error:
        return Estimate(None, _nan, len(rows), str(error))


def interval(estimate: Estimate, **options: Any) -> Interval:
    """One of `intervals`."""
    return intervals({"": estimate}, **options)[""]


def intervals(
    wanted: Mapping[str, Estimate],
    *,
    groups: Groups | None = None,
    resamples: int | None = None,
    confidence: float = metrics.DEFAULT_CONFIDENCE,
    seed: int = 0,
) -> dict[str, Interval]:
    """The interval of each estimate, all over the same resamples of the same rows.

    Args:
        resamples: unset, 1000 up to 20,000 rows, then fewer, at least 200: the more rows, the steadier an interval.
    """
    usable = {name: one for name, one in wanted.items() if one.value is not None}
    found = {name: Interval(None, reason=one.reason) for name, one in wanted.items()}
    drawn: dict[str, list[Floats]] = {name: [] for name in usable}
    rows = max((one.rows for one in usable.values()), default=0)
    for block in weight_blocks(rows, groups, resamples or resamples_for(rows), seed) if rows else ():
        for name, one in usable.items():
            drawn[name].append(one.of_weights(block))
    for name, one in usable.items():
        assert one.value is not None
        found[name] = ends(one.value, np.concatenate(drawn[name]), confidence)
    return found


def resamples_for(rows: int, most: int = metrics.DEFAULT_RESAMPLES) -> int:
    """`most` up to 20,000 rows, then fewer, at least a fifth."""
    return int(min(most, max(most // 5, most * 20_000 // max(rows, 1))))


def weight_blocks(rows: int, groups: Groups | None, resamples: int, seed: int) -> Iterator[Floats]:
    """Blocks of weights, shape (block, rows), of `resamples` resamples in all."""
    generator = np.random.default_rng(seed)
    names = groups if groups is None or isinstance(groups, np.ndarray) else np.asarray(list(map(str, groups)))
    index = None if names is None else np.unique(names, return_inverse=True)[1]
    units = rows if index is None else int(index.max()) + 1
    per_block = max(1, BLOCK_CELLS // max(rows, units))
    for start in range(0, resamples, per_block):
        counts = np.empty((min(per_block, resamples - start), units))
        for row in counts:
            row[:] = np.bincount(generator.integers(0, units, size=units, dtype=np.int32), minlength=units)
        yield counts if index is None else np.take(counts, index, axis=1)


def ends(value: float, drawn: Floats, confidence: float = metrics.DEFAULT_CONFIDENCE) -> Interval:
    """The interval from the metric's values over the resamples; NaN ones are left out."""
    usable = drawn[np.isfinite(drawn)]
    if usable.size < drawn.size / 2:
        reason = f"no interval: undefined in {drawn.size - usable.size} of {drawn.size} resamples"
        return Interval(float(value), reason=reason)
    tail = (1.0 - confidence) / 2
    # Weighted sums end a rounding error beside the value they equal: the interval would leave its value out.
    low, high = np.quantile(np.round(usable, DIGITS), [tail, 1.0 - tail])
    return Interval(round(float(value), DIGITS), float(low), float(high))


def _nan(weights: Floats) -> Floats:
    return np.full(len(weights), np.nan)
