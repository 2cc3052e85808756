"""The metrics of a run with their intervals, ready for JSON.

A metric is `{value, low, high}`, a 95 % bootstrap interval over documents; where it is undefined the value is null and
`reason` says why. The values count the rows that the method has a verdict on. `conservative`, where it is given,
counts every unverified row as wrong: as passed if hallucinated, as flagged with certainty if clean.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from evidencerails.evaluation import baselines, metrics
from evidencerails.evaluation.bootstrap import SLOW_RESAMPLES, Estimate, interval, of_metric, of_ratio, of_rows
from evidencerails.evaluation.columns import Columns
from evidencerails.evaluation.levels import (
    CORRELATIONS,
    Metrics,
    claim_metrics,
    count,
    flag_estimates,
    measured,
    risk_coverage_area,
    sentence_metrics,
    span_metrics,
)
from evidencerails.evaluation.metrics import Bools, Floats, Interval

MOST_POINTS = 200
"""Of a curve in the results."""
SCORE_BINS, LATENCY_BINS = 20, 30
_SCORE_METRICS = {"auroc": metrics.auroc, "auprc": metrics.auprc, "brier": metrics.brier, "ece": metrics.ece_by_width,
                  "ece_mass": metrics.ece_by_mass}  # fmt: skip


def results_of(columns: Mapping[str, Columns], *, seed: int = 0) -> dict[str, Any]:
    """`methods`, `baselines` and `details` of a run."""
    first = next(iter(columns.values()), None)
    return {
        "methods": {name: method_metrics(column, seed=seed) for name, column in columns.items()},
        "baselines": baseline_metrics(first, seed=seed) if first is not None else {},
        "details": {name: details_of(column) for name, column in columns.items()},
    }


def method_metrics(columns: Columns, *, seed: int = 0) -> Metrics:
    """All metrics of one method."""
    return {
        "n": count(columns.responses.rows),
        "unverified": count(int((~columns.verified).sum())),
        **_response_level(columns, seed),
        **_cost(columns, seed),
        **_abstention(columns, seed),
        **_correlations(columns, seed),
        **claim_metrics(columns, seed),
        **sentence_metrics(columns, seed),
        **span_metrics(columns, seed),
    }


def _response_level(columns: Columns, seed: int) -> Metrics:
    truth, verified, flagged = columns.truth, columns.verified, columns.flagged
    scores, groups = columns.responses["score"], columns.responses["group"]
    found = measured(_estimates(truth[verified], flagged[verified], scores[verified]), groups[verified], seed)
    if not verified.all():
        wrong_flags = np.where(verified, flagged, ~truth)
        wrong_scores = np.where(verified, scores, np.where(truth, 0.0, 1.0))
        for name, one in measured(_estimates(truth, wrong_flags, wrong_scores), groups, seed).items():
            found[name]["conservative"] = one
    return found


def _estimates(truth: Bools, flagged: Bools, scores: Floats) -> dict[str, Estimate]:
    found = flag_estimates(truth, flagged)
    missing = int((~np.isfinite(scores)).sum())
    for name, metric in _SCORE_METRICS.items():
        if missing:
            found[name] = of_ratio(truth, np.zeros(truth.size), f"{missing} verified rows have no score")
        else:
            found[name] = of_metric(metric, truth, scores)
    return found


def _cost(columns: Columns, seed: int) -> Metrics:
    responses = columns.responses
    latencies = responses["latency_ms"][:, None]
    found = {}
    for share in (50, 95):
        estimate = of_rows(lambda table, share=share: float(np.percentile(table[:, 0], share)), latencies)  # type: ignore[misc]
        found[f"latency_ms_p{share}"] = interval(estimate, resamples=SLOW_RESAMPLES, seed=seed).as_dict()
    ones = np.ones(responses.rows)
    means = {name: of_ratio(responses[name], ones, "no rows") for name in ("llm_calls", "tokens")}
    return {**found, **measured(means, responses["group"], seed)}


def _abstention(columns: Columns, seed: int) -> Metrics:
    """Coverage, the risk of what is covered, and what showing only grounded answers costs.

    `false_abstention_rate`: clean responses that would not be shown (flagged or unverified). `leak_rate`: hallucinated
    ones that would be. `abstention_precision`: unverified rows that are hallucinated, so that abstaining was right.
    """
    truth, verified, flagged = columns.truth, columns.verified, columns.flagged
    scores, groups = columns.responses["score"], columns.responses["group"]
    passed = verified & ~flagged
    ratios = {
        "coverage": of_ratio(verified, np.ones(truth.size), "no rows"),
        "selective_risk": of_ratio(verified & (flagged != truth), verified, "no verified row"),
        "false_abstention_rate": of_ratio(~truth & ~passed, ~truth, "no clean row"),
        "leak_rate": of_ratio(truth & passed, truth, "no hallucinated row"),
        "abstention_precision": of_ratio(truth & ~verified, ~verified, "no unverified row"),
    }
    scored = verified & np.isfinite(scores)
    area = of_rows(risk_coverage_area, np.stack([truth[scored], flagged[scored], scores[scored]], axis=1))
    slow = measured({"risk_coverage_area": area}, groups[scored], seed, resamples=SLOW_RESAMPLES)
    return {**measured(ratios, groups, seed), **slow}


def _correlations(columns: Columns, seed: int) -> Metrics:
    """Of the score with the data set's grade, or with the label where there is none."""
    responses = columns.responses
    scored = columns.verified & np.isfinite(responses["score"])
    table = np.stack([responses["score"][scored], responses["grade"][scored]], axis=1)
    estimates = {name: of_rows(statistic, table) for name, statistic in CORRELATIONS.items()}
    return measured(estimates, responses["group"][scored], seed, resamples=SLOW_RESAMPLES)


def baseline_metrics(columns: Columns, *, seed: int = 0) -> dict[str, Metrics]:
    """Metrics of the baselines over all rows of a run."""
    truth, groups = columns.truth, columns.responses["group"]
    found: dict[str, Metrics] = {}
    for name in baselines.NAMES:
        if name == "everything_flagged":
            values, flags = np.ones(truth.size), np.ones(truth.size, dtype=np.bool_)
        else:
            seen = columns.baselines[name]
            if not seen.size or not np.isfinite(seen).all():
                reason = Interval(None, reason="rows without evidence").as_dict()
                found[name] = dict.fromkeys(("f1", "balanced_accuracy", "auroc", "auprc"), reason)
                continue
            values = baselines.best_direction(truth, seen) if name == "length" else seen
            flags = baselines.best_flags(truth, values)
        estimates = flag_estimates(truth, flags)
        estimates |= {kind: of_metric(_SCORE_METRICS[kind], truth, values) for kind in ("auroc", "auprc")}
        found[name] = {"n": count(truth.size), **measured(estimates, groups, seed)}
    return found


def details_of(columns: Columns) -> dict[str, Any]:
    """What the report draws: curves, counts, reasons, and the rows judged wrongly with most certainty."""
    truth, verified = columns.truth, columns.verified
    counts: dict[str, Any] = {"unverified": dict(columns.reasons.most_common())}
    if verified.any():
        counts["confusion"] = metrics.confusion(truth[verified], columns.flagged[verified])._asdict()
    latencies = columns.responses["latency_ms"]
    highest = float(np.percentile(latencies, 99)) if latencies.size else 0.0
    latency_counts, edges = np.histogram(latencies, bins=LATENCY_BINS, range=(0.0, highest or 1.0))
    return {
        **counts,
        **_curves(truth[verified], columns.responses["score"][verified]),
        "latency": {"edges": edges.round(3).tolist(), "counts": latency_counts.tolist()},
        "lost_sentences": columns.lost_sentences,
        "worst": [{"id": row, "certainty": round(how, 4)} for how, row in sorted(columns.worst, reverse=True)],
    }


def _curves(labels: Bools, scores: Floats) -> dict[str, Any]:
    """ROC, precision-recall, reliability and histograms of scores by label; empty where there is nothing to draw."""
    scored = np.isfinite(scores)
    truth, values = labels[scored], scores[scored]
    if not truth.size:
        return {"roc": [], "pr": [], "reliability": [], "histogram": {}}
    curves: dict[str, Any] = {"roc": [], "pr": []}
    if truth.any() and not truth.all():
        false_rate, true_rate, _ = metrics.library("sklearn.metrics").roc_curve(truth, values)
        precision, recall, _ = metrics.library("sklearn.metrics").precision_recall_curve(truth, values)
        curves = {"roc": _thinned(false_rate, true_rate), "pr": _thinned(recall[::-1], precision[::-1])}
    edges = np.linspace(0.0, 1.0, SCORE_BINS + 1)
    return {
        **curves,
        "reliability": [one._asdict() for one in metrics.reliability(truth, values)],
        "histogram": {
            "hallucinated": np.histogram(values[truth], bins=edges)[0].tolist(),
            "clean": np.histogram(values[~truth], bins=edges)[0].tolist(),
        },
    }


def _thinned(xs: Floats, ys: Floats) -> list[tuple[float, float]]:
    """At most `MOST_POINTS` points of a curve."""
    chosen = np.unique(np.linspace(0, len(xs) - 1, min(len(xs), MOST_POINTS)).round().astype(int))
    return [(round(float(xs[place]), 5), round(float(ys[place]), 5)) for place in chosen]
