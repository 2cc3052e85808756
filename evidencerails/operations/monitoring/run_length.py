"""How long a CUSUM chart runs until it alarms, and the threshold for a wanted run length.

The average run length is that of the Markov chain of Brook and Evans (Biometrika 59, 1972): the statistic between 0 and
the threshold is cut into states, and the mean number of steps until it leaves them follows from one linear system. It
holds for any distribution of scores, also for those of hallucination scores, which heap up near 0 and 1; the control
stack's h / (shift - slack) is the straight line that the chart follows once it has left 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Distribution = Callable[[Any], Any]
"""P(score <= x) for an array of x."""

MIN_STATES, MAX_STATES, STATES_PER_UNIT = 80, 600, 30
"""More change the run length by less than one in a hundred, for scores between 0 and 1 as for standard normal ones."""
MAX_THRESHOLD = 20.0


def normal(mean: float, sd: float) -> Distribution:
    """The distribution function of a normal variable."""
    scaled = np.vectorize(lambda x: 0.5 * (1.0 + math.erf((x - mean) / (sd * math.sqrt(2.0)))), otypes=[float])

    def below(x: Any) -> Any:
        return scaled(np.asarray(x, dtype=float))

    return below


def empirical(scores: Sequence[float]) -> Distribution:
    """The distribution function of observed scores."""
    ordered = np.sort(np.asarray(scores, dtype=float))

    def below(x: Any) -> Any:
        return np.searchsorted(ordered, np.asarray(x, dtype=float), side="right") / len(ordered)

    return below


def shifted(below: Distribution, by: float) -> Distribution:
    """The same distribution, moved up by `by`."""
    return lambda x: below(np.asarray(x, dtype=float) - by)


def average_run_length(below: Distribution, reference: float, threshold: float) -> float:
    """Mean number of scores until S = max(0, S + score - reference) exceeds the threshold, from S = 0.

    Infinite if it never does.
    """
    states = min(MAX_STATES, max(MIN_STATES, math.ceil(threshold * STATES_PER_UNIT)))
    width = 2.0 * threshold / (2 * states - 1)
    steps = np.arange(states)
    difference = steps[None, :] - steps[:, None] + states - 1
    edges = below((np.arange(2 * states) - states + 0.5) * width + reference)  # of the differences of two states
    upper, lower = edges[difference + 1], edges[difference].copy()
    lower[:, 0] = 0.0  # everything below 0 is 0
    stays = upper - lower
    try:
        lengths = np.linalg.solve(np.eye(states) - stays, np.ones(states))
    except np.linalg.LinAlgError:  # from some state it cannot leave
        return math.inf
    length = float(lengths[0])
    return length if math.isfinite(length) and 0 < length < 1e15 else math.inf


def threshold_for(below: Distribution, reference: float, run_length: float) -> float:
    """The smallest threshold whose average run length is at least `run_length`.

    Raises:
        ValueError: no threshold up to 20 is: the mean of the scores lies above the reference.
    """
    low, high = 0.0, 0.01
    while average_run_length(below, reference, high) < run_length:
        low, high = high, high * 2.0
        if high > MAX_THRESHOLD:
            raise ValueError("the chart alarms too soon with any threshold: the reference is not above the mean score")
    while high - low > 1e-3 * high:
        middle = (low + high) / 2.0
        low, high = (middle, high) if average_run_length(below, reference, middle) < run_length else (low, middle)
    return high
