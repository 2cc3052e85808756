"""Points of the curves that a report draws; at most `MOST_POINTS` of each."""

from __future__ import annotations

from typing import Any

import numpy as np

from evidencerails.evaluation import metrics
from evidencerails.evaluation.metrics import Bools, Floats

MOST_POINTS = 200
HISTOGRAM_BINS = 20


def curves_of(labels: Bools, scores: Floats) -> dict[str, Any]:
    """ROC, precision-recall, reliability and histograms of scores by label; empty where there is nothing to draw."""
    scored = np.isfinite(scores)
    truth, values = labels[scored], scores[scored]
    if not truth.size:
        return {"roc": [], "pr": [], "reliability": [], "histogram": {}}
    edges = np.linspace(0.0, 1.0, HISTOGRAM_BINS + 1)
    return {
        "roc": roc(truth, values),
        "pr": precision_recall(truth, values),
        "reliability": [bin_._asdict() for bin_ in metrics.reliability(truth, values)],
        "histogram": {
            "hallucinated": np.histogram(values[truth], bins=edges)[0].tolist(),
            "clean": np.histogram(values[~truth], bins=edges)[0].tolist(),
        },
    }


def roc(labels: Bools, scores: Floats) -> list[tuple[float, float]]:
    """False and true positive rates; empty with one class only."""
    if labels.all() or not labels.any():
        return []
    false_rate, true_rate, _ = metrics.sklearn_metrics().roc_curve(labels, scores)
    return _thinned(false_rate, true_rate)


def precision_recall(labels: Bools, scores: Floats) -> list[tuple[float, float]]:
    """Recall and precision; empty with one class only."""
    if labels.all() or not labels.any():
        return []
    precision, recall, _ = metrics.sklearn_metrics().precision_recall_curve(labels, scores)
    return _thinned(recall[::-1], precision[::-1])


def _thinned(xs: Floats, ys: Floats) -> list[tuple[float, float]]:
    chosen = np.unique(np.linspace(0, len(xs) - 1, min(len(xs), MOST_POINTS)).round().astype(int))
    return [(round(float(xs[place]), 5), round(float(ys[place]), 5)) for place in chosen]
