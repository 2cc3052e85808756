"""The metrics of a run with their intervals, ready for JSON.

A metric is `{value, low, high}`, a 95 % bootstrap interval over documents; where it is undefined the value is null and
`reason` says why. The values count the rows that the method said something about. `conservative`, where it stands,
counts every unverified row as told wrong: as passed if hallucinated, as flagged with certainty if clean.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from evidencerails.evaluation import baselines, levels, metrics
from evidencerails.evaluation.columns import Columns, floats
from evidencerails.evaluation.curves import curves_of
from evidencerails.evaluation.metrics import Bools, Floats, Interval
from evidencerails.evaluation.resampling import joint_intervals, ratio_intervals, statistic_interval

Metrics = dict[str, dict[str, Any]]
SLOW_RESAMPLES = 200
"""For statistics that have no vectorised form: correlations, percentiles, the area under the risk-coverage curve."""
_FLAG_METRICS = {"precision": metrics.precision, "recall": metrics.recall, "f1": metrics.f1,
                 "balanced_accuracy": metrics.balanced_accuracy}  # fmt: skip
_SCORE_METRICS = {"auroc": metrics.auroc, "auprc": metrics.auprc, "brier": metrics.brier, "ece": metrics.ece,
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
    truth, verified = columns.truth, columns.verified
    unverified = int((~verified).sum())
    found: Metrics = {
        "n": _count(truth.size),
        "unverified": _count(unverified),
        **_response_level(columns, seed),
        **_cost(columns, seed),
        **_abstention(columns, seed),
        **_correlations(columns, seed),
        **levels.claim_metrics(columns, seed=seed),
        **levels.sentence_metrics(columns, seed=seed),
        **levels.span_metrics(columns, seed=seed),
    }
    return found


def _count(value: int) -> dict[str, Any]:
    return {"value": value, "low": value, "high": value}


def _response_level(columns: Columns, seed: int) -> Metrics:
    truth, verified, flagged = columns.truth, columns.verified, columns.flagged
    scores, groups = floats(columns.scores), floats(columns.groups)
    seen = _intervals(truth[verified], flagged[verified], scores[verified], groups[verified], seed)
    found = {name: one.as_dict() for name, one in seen.items()}
    if verified.all():
        return found
    wrong_flags = np.where(verified, flagged, ~truth)
    wrong_scores = np.where(verified, scores, np.where(truth, 0.0, 1.0))
    for name, one in _intervals(truth, wrong_flags, wrong_scores, groups, seed).items():
        found[name]["conservative"] = one.as_dict()
    return found


def _intervals(truth: Bools, flagged: Bools, scores: Floats, groups: Floats, seed: int) -> dict[str, Interval]:
    flags = flagged.astype(np.float64)
    wanted: dict[str, tuple[Any, Floats]] = {name: (metric, flags) for name, metric in _FLAG_METRICS.items()}
    missing = int((~np.isfinite(scores)).sum())
    if not missing:
        wanted.update((name, (metric, scores)) for name, metric in _SCORE_METRICS.items())
    found = joint_intervals(wanted, truth, groups=groups, seed=seed)
    if missing:
        reason = f"{missing} verified rows have no score"
        found.update((name, Interval(None, reason=reason)) for name in _SCORE_METRICS)
    return found


def _cost(columns: Columns, seed: int) -> Metrics:
    latencies, groups = floats(columns.latencies_ms), floats(columns.groups)
    ones = np.ones(latencies.size)
    found = {
        f"latency_ms_p{share}": statistic_interval(
            lambda table, share=share: float(np.percentile(table[:, 0], share)),  # type: ignore[misc]
            latencies[:, None], resamples=SLOW_RESAMPLES, seed=seed,
        )
        for share in (50, 95)
    }  # fmt: skip
    means = {
        "llm_calls": (floats(columns.llm_calls), ones, "no rows"),
        "tokens": (floats(columns.tokens), ones, "no rows"),
    }
    found.update(ratio_intervals(means, groups=groups, seed=seed))
    return {name: one.as_dict() for name, one in found.items()}


def _abstention(columns: Columns, seed: int) -> Metrics:
    """Coverage, the risk of what is covered, and what showing only grounded answers costs (control stack 20.3.4).

    `false_abstention_rate`: clean responses that would not be shown (flagged or unverified). `leak_rate`: hallucinated
    ones that would be. `abstention_precision`: unverified rows that are hallucinated, so that abstaining was right.
    """
    truth, verified, flagged = columns.truth, columns.verified, columns.flagged
    groups = floats(columns.groups)
    passed = verified & ~flagged
    wrong = verified & (flagged != truth)
    ratios = {
        "coverage": (verified, np.ones(truth.size), "no rows"),
        "selective_risk": (wrong, verified, "no verified row"),
        "false_abstention_rate": (~truth & ~passed, ~truth, "no clean row"),
        "leak_rate": (truth & passed, truth, "no hallucinated row"),
        "abstention_precision": (truth & ~verified, ~verified, "no unverified row"),
    }
    found = {name: one.as_dict() for name, one in ratio_intervals(ratios, groups=groups, seed=seed).items()}
    scored = verified & np.isfinite(floats(columns.scores))
    table = np.stack([truth[scored], flagged[scored], floats(columns.scores)[scored]], axis=1).astype(np.float64)
    area = statistic_interval(levels.risk_coverage_area, table, groups=groups[scored], resamples=SLOW_RESAMPLES)
    found["risk_coverage_area"] = area.as_dict()
    return found


def _correlations(columns: Columns, seed: int) -> Metrics:
    """Of the score with the data set's grade, or with the label where there is none."""
    scores, grades = floats(columns.scores), floats(columns.grades)
    scored = columns.verified & np.isfinite(scores)
    table, groups = np.stack([scores[scored], grades[scored]], axis=1), floats(columns.groups)[scored]
    return {
        name: statistic_interval(statistic, table, groups=groups, resamples=SLOW_RESAMPLES, seed=seed).as_dict()
        for name, statistic in (("pearson", levels.pearson), ("spearman", levels.spearman), ("kendall", levels.kendall))
    }


def baseline_metrics(columns: Columns, *, seed: int = 0) -> dict[str, Metrics]:
    """Metrics of the baselines over all rows of a run."""
    truth, groups = columns.truth, floats(columns.groups)
    found: dict[str, Metrics] = {}
    for name in baselines.NAMES:
        if name == "everything_flagged":
            values, flags = np.ones(truth.size), np.ones(truth.size, dtype=np.bool_)
        else:
            seen = floats(columns.baselines[name]) if name in columns.baselines else np.empty(0)
            if not seen.size or not np.isfinite(seen).all():
                reason = Interval(None, reason="rows without evidence").as_dict()
                found[name] = dict.fromkeys(("f1", "balanced_accuracy", "auroc", "auprc"), reason)
                continue
            values = baselines.best_direction(truth, seen) if name == "length" else seen
            flags = baselines.best_flags(truth, values)
        wanted: dict[str, tuple[Any, Floats]] = {k: (m, flags.astype(np.float64)) for k, m in _FLAG_METRICS.items()}
        wanted.update({"auroc": (metrics.auroc, values), "auprc": (metrics.auprc, values)})
        intervals = joint_intervals(wanted, truth, groups=groups, seed=seed)
        found[name] = {"n": _count(truth.size), **{metric: one.as_dict() for metric, one in intervals.items()}}
    return found


def details_of(columns: Columns) -> dict[str, Any]:
    """What the report draws: curves, counts, reasons, and the rows told wrong with most certainty."""
    verified = columns.verified
    counts = {"unverified": dict(sorted(columns.reasons.items(), key=lambda item: -item[1]))}
    if verified.any():
        confusion = metrics.confusion(columns.truth[verified], columns.flagged[verified])
        counts["confusion"] = confusion._asdict()
    return {
        **counts,
        **curves_of(columns.truth[verified], floats(columns.scores)[verified]),
        "latency": _histogram(floats(columns.latencies_ms)),
        "lost_sentences": columns.lost_sentences,
        "worst": [{"id": row, "certainty": round(how, 4)} for how, row in sorted(columns.worst, reverse=True)],
    }


def _histogram(values: Floats, bins: int = 30) -> dict[str, list[float]]:
    if not values.size:
        return {"edges": [], "counts": []}
    counts, edges = np.histogram(values, bins=bins, range=(0.0, float(np.percentile(values, 99)) or 1.0))
    return {"edges": [round(float(edge), 3) for edge in edges], "counts": [int(count) for count in counts]}
