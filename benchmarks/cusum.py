"""CUSUM by simulation against the theory: false alarms and detection delay over 10,000 series each.

    python benchmarks/cusum.py [--series 10000]

Scores are drawn from a mixture that looks like those of answers: most near 0, some near 1. The threshold is derived for
one false alarm in `ARL0` reports. `theory` is the run length of the Markov chain, `straight line` the approximation
h / (shift - slack).
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from tables import publish

from evidencerails.operations.monitoring.charts import average_run_length, empirical, shifted, threshold_for

SEED = 20_261_121
ARL0 = 500.0
SHIFT, SLACK = 0.1, 0.05
SHIFTS = (0.0, 0.05, 0.1, 0.2, 0.3)
LONGEST = 15_000


def scores_like_answers(generator: np.random.Generator, count: int) -> np.ndarray:
    """Scores of answers of which some 8 in 100 are wrong."""
    is_wrong = generator.random(count) < 0.08
    return np.where(is_wrong, generator.beta(8, 2, count), generator.beta(1, 12, count))


def simulated(
    generator: np.random.Generator, pool: np.ndarray, reference: float, threshold: float, series: int
) -> np.ndarray:
    """Run length of each series, all stepped together; `LONGEST` where one has not alarmed by then."""
    statistic = np.zeros(series)
    lengths = np.full(series, LONGEST)
    running = np.arange(series)
    for step in range(1, LONGEST + 1):
        drawn = pool[generator.integers(0, len(pool), len(running))]
        statistic = np.maximum(0.0, statistic + drawn - reference)
        alarmed = statistic > threshold
        lengths[running[alarmed]] = step
        running, statistic = running[~alarmed], statistic[~alarmed]
        if not len(running):
            break
    return lengths


def main() -> None:
    """Simulate and publish."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--series", type=int, default=10_000)
    series = parser.parse_args().series
    generator = np.random.default_rng(SEED)
    pool = scores_like_answers(generator, 4000)
    below, reference = empirical(pool), float(pool.mean()) + SLACK
    threshold = threshold_for(below, reference, ARL0)
    figures: list[dict[str, Any]] = []
    for shift in SHIFTS:
        lengths = simulated(generator, pool + shift, reference, threshold, series)
        figures.append(
            {
                "shift": shift,
                "simulated_mean": round(float(lengths.mean()), 1),
                "standard_error": round(float(lengths.std() / np.sqrt(series)), 2),
                "theory": round(average_run_length(shifted(below, shift), reference, threshold), 1),
                "straight_line": round(threshold / (shift - SLACK), 1) if shift > SLACK else None,
                "alarms_within_100": round(float((lengths <= 100).mean()), 3),
                "not_ended": int((lengths == LONGEST).sum()),
            }
        )
    names = list(figures[0])
    rows = [[name.replace("_", " ") for name in names]]
    rows += [["-" if row[name] is None else str(row[name]) for name in names] for row in figures]
    publish("cusum", rows, {"cusum": figures, "series": series, "threshold": round(threshold, 3), "arl0": ARL0})


if __name__ == "__main__":
    main()
