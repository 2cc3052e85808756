"""Bootstrap intervals: a resample is a row of weights, and each metric is computed for a block of them (`weighted`).

Drawing n rows with replacement is the same as giving each row the number of times it was drawn. Scores are sorted once,
and sums over weights are matrix products. With groups, whole documents are drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evidencerails.evaluation import metrics
from evidencerails.evaluation.metrics import Bools, Floats, Interval, UndefinedMetricError
from evidencerails.evaluation.weighted import WEIGHTED, ratio

BLOCK_CELLS = 250_000
"""Weights held at once: 2 MB, which stays in a processor's cache; one resample at least."""
DIGITS = 12
"""Digits of a metric that are kept."""
Groups: TypeAlias = "Sequence[Any] | NDArray[Any]"
"""The document of each row."""


def weight_blocks(rows: int, groups: Groups | None, resamples: int, seed: int) -> Iterator[Floats]:
    """Blocks of weights, shape (block, rows), of `resamples` resamples in all."""
    generator = np.random.default_rng(seed)
    index = None if groups is None else _numbered(groups)
    units = rows if index is None else int(index.max()) + 1
    per_block = max(1, BLOCK_CELLS // max(rows, units))
    for start in range(0, resamples, per_block):
        counts = np.empty((min(per_block, resamples - start), units))
        for row in counts:
            row[:] = np.bincount(generator.integers(0, units, size=units, dtype=np.int32), minlength=units)
        yield counts if index is None else np.take(counts, index, axis=1)


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
    blocks = weight_blocks(truth.size, groups, resamples, seed)
    if metric in WEIGHTED:
        of_weights = WEIGHTED[metric](truth, values)
        drawn = np.concatenate([of_weights(block) for block in blocks])
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
    # Weighted sums end a rounding error beside the value they equal: the interval would leave its value out.
    low, high = np.quantile(np.round(usable, DIGITS), [tail, 1.0 - tail])
    return Interval(round(float(value), DIGITS), float(low), float(high))


def _slow(metric: Callable[[Any, Any], float], labels: Bools, scores: Floats, weights: Floats) -> float:
    chosen = np.repeat(np.arange(labels.size), weights.astype(np.int64))
    try:
        return float(metric(labels[chosen], scores[chosen]))
    except UndefinedMetricError:
        return float("nan")


def resamples_for(rows: int, most: int = metrics.DEFAULT_RESAMPLES) -> int:
    """`most` up to 20,000 rows, then fewer, at least a fifth: the more rows, the steadier an interval."""
    return int(min(most, max(most // 5, most * 20_000 // max(rows, 1))))


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
    prepared = {name: WEIGHTED[metric](truth, scores) for name, (metric, scores) in wanted.items() if name in values}
    for block in weight_blocks(truth.size, groups, count, seed):
        for name, of_weights in prepared.items():
            drawn[name].append(of_weights(block))
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
    columns = np.stack([np.asarray(one, dtype=np.float64) for one in (*first, *second)], axis=1)
    above, above_of, below, below_of = columns.sum(axis=0)
    if above_of <= 0 or below_of <= 0 or below <= 0:
        return Interval(None, reason="nothing to divide by")
    rows = len(columns)
    sums = np.concatenate([block @ columns for block in weight_blocks(rows, groups, resamples_for(rows), seed)]).T
    drawn = ratio(ratio(sums[0], sums[1]), ratio(sums[2], sums[3]))
    return ends(above / above_of / (below / below_of), drawn, metrics.DEFAULT_CONFIDENCE)


def ratio_intervals(
    wanted: Mapping[str, tuple[ArrayLike, ArrayLike, str]],
    *,
    groups: Groups | None = None,
    resamples: int | None = None,
    seed: int = 0,
) -> dict[str, Interval]:
    """Sums over sums with their intervals, such as flagged claims over claims, all over the same resamples.

    Args:
        wanted: name -> numerators and denominators of the rows, and the reason that is told where the latter are 0.
    """
    columns = {name: np.stack([np.asarray(one, dtype=np.float64) for one in pair[:2]], axis=1)
               for name, pair in wanted.items()}  # fmt: skip
    found = {name: Interval(None, reason=pair[2]) for name, pair in wanted.items()}
    usable = [name for name, column in columns.items() if len(column) and column[:, 1].sum() > 0]
    if not usable:
        return found
    table = np.concatenate([columns[name] for name in usable], axis=1)
    count = resamples or resamples_for(len(table))
    sums = np.concatenate([block @ table for block in weight_blocks(len(table), groups, count, seed)])
    for place, name in enumerate(usable):
        above, below = columns[name].sum(axis=0)
        drawn = ratio(sums[:, 2 * place], sums[:, 2 * place + 1])
        found[name] = ends(above / below, drawn, metrics.DEFAULT_CONFIDENCE)
    return found


def ratio_interval(
    above: ArrayLike,
    below: ArrayLike,
    *,
    groups: Groups | None = None,
    resamples: int | None = None,
    seed: int = 0,
    reason: str = "nothing to divide by",
) -> Interval:
    """One of `ratio_intervals`."""
    return ratio_intervals({"": (above, below, reason)}, groups=groups, resamples=resamples, seed=seed)[""]


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
