"""Metrics below and beside the response: claims, sentences, spans, correlations, risk and coverage."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evidencerails.evaluation import metrics
from evidencerails.evaluation.bootstrap import Estimate, intervals, of_metric, of_ratio, of_ratio_of_ratios
from evidencerails.evaluation.columns import Columns, Table
from evidencerails.evaluation.metrics import Bools, Floats, UndefinedMetricError

Metrics = dict[str, dict[str, Any]]
FLAG_METRICS: Mapping[str, Callable[..., float]] = {
    "precision": metrics.precision,
    "recall": metrics.recall,
    "f1": metrics.f1,
    "balanced_accuracy": metrics.balanced_accuracy,
}


def measured(estimates: Mapping[str, Estimate], groups: Floats, seed: int, **options: Any) -> Metrics:
    """The estimates with their intervals, ready for JSON."""
    found = intervals(estimates, groups=groups, seed=seed, **options)
    return {name: one.as_dict() for name, one in found.items()}


def flag_estimates(labels: Bools, flags: Bools, prefix: str = "") -> dict[str, Estimate]:
    """Precision, recall, F1 and balanced accuracy."""
    values = flags.astype(np.float64)
    return {prefix + name: of_metric(metric, labels, values) for name, metric in FLAG_METRICS.items()}


def count(value: int) -> dict[str, Any]:
    """A number of rows as a metric."""
    return {"value": value, "low": value, "high": value}


def claim_metrics(columns: Columns, seed: int) -> Metrics:
    """Flagging rates of claims by their response's label, which needs nobody to label claims (ChainCheck's proxy).

    `factual_accuracy_rate` is the share of claims that the method calls correct; `claim_auroc` ranks claims by the
    response's label. With spans, `claim_f1` and its parts count a claim as hallucinated where it touches one.
    """
    claims = columns.claims
    if not claims.rows:
        return {}
    labels, flags, groups = claims.flags("label"), claims.flags("flag"), claims["group"]
    on_bad, on_clean = (flags & labels, labels), (flags & ~labels, ~labels)
    rates = {
        "claim_clean_flagging_rate": of_ratio(*on_clean, "no claim of a clean response"),
        "claim_hallucinated_flagging_rate": of_ratio(*on_bad, "no claim of a hallucinated response"),
        "factual_accuracy_rate": of_ratio(~flags, np.ones(claims.rows)),
        "claim_discrimination_ratio": of_ratio_of_ratios(on_bad, on_clean),
    }
    found = {"claims": count(claims.rows), **measured(rates, groups, seed)}
    found |= _ranking(claims, {"claim_auroc": (metrics.auroc, 1)}, seed)
    gold = columns.gold_claims
    if gold.rows:
        labels = gold.flags("label")
        estimates = flag_estimates(labels, gold.flags("flag"), "claim_")
        estimates["factual_accuracy_rate_gold"] = of_ratio(~labels, np.ones(gold.rows))
        found |= measured(estimates, gold["group"], seed)
    return found


def sentence_metrics(columns: Columns, seed: int) -> Metrics:
    """Metrics over judged sentences; `sentence_auprc_factual` finds the clean ones (SelfCheckGPT's Factual)."""
    sentences = columns.sentences
    if not sentences.rows:
        return {}
    flags = flag_estimates(sentences.flags("label"), sentences.flags("flag"), "sentence_")
    ranked = {"sentence_auroc": (metrics.auroc, 1), "sentence_auprc": (metrics.auprc, 1),
              "sentence_auprc_factual": (metrics.auprc, -1)}  # fmt: skip
    return {
        **measured(flags, sentences["group"], seed),
        **_ranking(sentences, ranked, seed),
        "sentences": count(sentences.rows),
    }


def _ranking(units: Table, wanted: Mapping[str, tuple[Callable[..., float], int]], seed: int) -> Metrics:
    """Metrics of the scored units; with the sign -1 the clean ones are to be found, by low scores."""
    scored = np.isfinite(units["score"])
    labels, scores = units.flags("label")[scored], units["score"][scored]
    estimates = {
        name: of_metric(metric, labels if sign > 0 else ~labels, sign * scores)
        for name, (metric, sign) in wanted.items()
    }
    return measured(estimates, units["group"][scored], seed)


def span_metrics(columns: Columns, seed: int) -> Metrics:
    """Precision, recall and F1 of hallucinated characters and words, pooled over the responses that have spans."""
    found: Metrics = {}
    for unit, rows in columns.overlaps.items():
        if not rows:
            continue
        groups = np.array([group for group, _ in rows])
        hit, wrong, missed = (np.array([one[place] for _, one in rows], dtype=np.float64) for place in range(3))
        ratios = {
            f"span_{unit}_precision": of_ratio(hit, hit + wrong, "no span was marked"),
            f"span_{unit}_recall": of_ratio(hit, hit + missed, "no response has a hallucinated span"),
            f"span_{unit}_f1": of_ratio(2 * hit, 2 * hit + wrong + missed, "no span anywhere"),
        }
        found |= measured(ratios, groups, seed)
    return found


def correlation(name: str, title: str) -> Callable[[NDArray[Any]], float]:
    """A correlation of scipy.stats over the two columns of a table, in [-1, 1]."""

    def statistic(table: NDArray[Any]) -> float:
        if len(table) < 2 or np.ptp(table[:, 0]) == 0 or np.ptp(table[:, 1]) == 0:
            raise UndefinedMetricError(f"{title} is undefined: scores or grades are all equal")
        return float(getattr(metrics.library("scipy.stats"), name)(table[:, 0], table[:, 1])[0])

    return statistic


CORRELATIONS = {
    "pearson": correlation("pearsonr", "Pearson's r"),
    "spearman": correlation("spearmanr", "Spearman's rho"),
    "kendall": correlation("kendalltau", "Kendall's tau"),
}


def risk_coverage_area(table: NDArray[Any]) -> float:
    """Mean error rate over all coverages, the least certain rows left out first (AURC, Geifman 2017); 0 is best.

    Columns: label, flag, score. Certainty is the distance of the score from a half; ties share their mean risk.
    """
    truth, flags, scores = table[:, 0], table[:, 1], table[:, 2]
    if not len(table):
        raise UndefinedMetricError("no scored row")
    order = np.argsort(-np.abs(scores - 0.5), kind="stable")
    wrong = (truth != flags)[order].astype(np.float64)
    certain = np.abs(scores - 0.5)[order]
    starts = np.flatnonzero(np.r_[True, certain[1:] != certain[:-1]])
    sizes = np.diff(np.r_[starts, len(wrong)])
    spread = np.repeat(np.add.reduceat(wrong, starts) / sizes, sizes)
    return float((np.cumsum(spread) / np.arange(1, len(wrong) + 1)).mean())
