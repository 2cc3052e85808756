"""Metrics below and beside the response: claims, sentences, spans, correlations, risk and coverage."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from evidencerails.evaluation import metrics
from evidencerails.evaluation.columns import Columns, Units, floats
from evidencerails.evaluation.metrics import Bools, Floats, Interval, UndefinedMetricError
from evidencerails.evaluation.outcomes import Overlap
from evidencerails.evaluation.resampling import (
    joint_intervals,
    ratio_interval,
    ratio_intervals,
    ratio_of_ratios_interval,
)

Metrics = dict[str, dict[str, Any]]
Table = NDArray[Any]


def _arrays(units: Units) -> tuple[Bools, Floats, Bools, Floats]:
    labels = np.frombuffer(units.labels, dtype=np.int8).astype(np.bool_) if len(units.labels) else np.empty(0, np.bool_)
    flags = np.frombuffer(units.flags, dtype=np.int8).astype(np.bool_) if len(units.flags) else np.empty(0, np.bool_)
    return labels, floats(units.scores), flags, floats(units.groups)


def claim_metrics(columns: Columns, *, seed: int = 0) -> Metrics:
    """Flagging rates of claims by their response's label, which needs nobody to label claims (ChainCheck's proxy).

    `factual_accuracy_rate` (control stack 20.6.4) is the share of claims that the method calls correct;
    `claim_auroc` ranks claims by the response's label. With spans, `claim_f1` and its parts count a claim as
    hallucinated where it touches one.
    """
    labels, scores, flags, groups = _arrays(columns.parts)
    if not labels.size:
        return {}
    ones = np.ones(labels.size)
    found = {
        "claims": Interval(float(labels.size), float(labels.size), float(labels.size)),
        **ratio_intervals(
            {
                "claim_clean_flagging_rate": (flags & ~labels, ~labels, "no claim of a clean response"),
                "claim_hallucinated_flagging_rate": (flags & labels, labels, "no claim of a hallucinated response"),
                "factual_accuracy_rate": (~flags, ones, "no claim"),
            },
            groups=groups,
            seed=seed,
        ),
        "claim_discrimination_ratio": ratio_of_ratios_interval(
            (flags & labels, labels), (flags & ~labels, ~labels), groups=groups, seed=seed
        ),
    }
    scored = np.isfinite(scores)
    wanted = {"claim_auroc": (metrics.auroc, scores[scored])}
    found.update(joint_intervals(wanted, labels[scored], groups=groups[scored], seed=seed))
    return {**{name: one.as_dict() for name, one in found.items()}, **_gold_claims(columns, seed)}


def _gold_claims(columns: Columns, seed: int) -> Metrics:
    labels, _, flags, groups = _arrays(columns.gold_parts)
    if not labels.size:
        return {}
    found = _flag_intervals("claim", labels, flags, groups, seed)
    right = ratio_interval(~labels, np.ones(labels.size), groups=groups, seed=seed).as_dict()
    return {**found, "factual_accuracy_rate_gold": right}


def _flag_intervals(prefix: str, labels: Bools, flags: Bools, groups: Floats, seed: int) -> Metrics:
    wanted = {
        name: (getattr(metrics, name), flags.astype(np.float64))
        for name in ("precision", "recall", "f1", "balanced_accuracy")
    }
    intervals = joint_intervals(wanted, labels, groups=groups, seed=seed)
    return {f"{prefix}_{name}": one.as_dict() for name, one in intervals.items()}


def sentence_metrics(columns: Columns, *, seed: int = 0) -> Metrics:
    """Metrics over judged sentences; `sentence_auprc_factual` finds the clean ones (SelfCheckGPT's Factual)."""
    labels, scores, flags, groups = _arrays(columns.sentences)
    if not labels.size:
        return {}
    found = _flag_intervals("sentence", labels, flags, groups, seed)
    scored = np.isfinite(scores)
    truth, values, documents = labels[scored], scores[scored], groups[scored]
    wanted = {"sentence_auroc": (metrics.auroc, values), "sentence_auprc": (metrics.auprc, values)}
    intervals = joint_intervals(wanted, truth, groups=documents, seed=seed)
    intervals |= joint_intervals(
        {"sentence_auprc_factual": (metrics.auprc, -values)}, ~truth, groups=documents, seed=seed
    )
    found.update((name, one.as_dict()) for name, one in intervals.items())
    found["sentences"] = Interval(float(labels.size), float(labels.size), float(labels.size)).as_dict()
    return found


def span_metrics(columns: Columns, *, seed: int = 0) -> Metrics:
    """Precision, recall and F1 of hallucinated characters and words, pooled over the responses that have spans."""
    found: Metrics = {}
    for unit, rows in columns.overlaps.items():
        if not rows:
            continue
        groups = np.array([group for group, _ in rows])
        hit, wrong, missed = (np.array([one[place] for _, one in rows], dtype=np.float64) for place in range(3))
        ratios = {
            "precision": (hit, hit + wrong, "no span was marked"),
            "recall": (hit, hit + missed, "no response has a hallucinated span"),
            "f1": (2 * hit, 2 * hit + wrong + missed, "no span anywhere"),
        }
        for name, interval in ratio_intervals(ratios, groups=groups, seed=seed).items():
            found[f"span_{unit}_{name}"] = interval.as_dict()
    return found


def overlap_f1(overlap: Overlap) -> float:
    """F1 of one overlap.

    Raises:
        UndefinedMetricError: nothing is marked on either side.
    """
    if not any(overlap):
        raise UndefinedMetricError("no span on either side")
    return 2 * overlap.found / (2 * overlap.found + overlap.wrong + overlap.missed)


def _varied(table: Table, name: str) -> tuple[Floats, Floats]:
    if len(table) < 2 or np.ptp(table[:, 0]) == 0 or np.ptp(table[:, 1]) == 0:
        raise UndefinedMetricError(f"{name} is undefined: scores or grades are all equal")
    return table[:, 0], table[:, 1]


def pearson(table: Table) -> float:
    """Pearson's correlation of two columns, in [-1, 1]."""
    return float(metrics.scipy_stats().pearsonr(*_varied(table, "Pearson's r"))[0])


def spearman(table: Table) -> float:
    """Spearman's rank correlation of two columns, in [-1, 1]."""
    return float(metrics.scipy_stats().spearmanr(*_varied(table, "Spearman's rho"))[0])


def kendall(table: Table) -> float:
    """Kendall's tau-b of two columns, in [-1, 1]."""
    return float(metrics.scipy_stats().kendalltau(*_varied(table, "Kendall's tau"))[0])


def risk_coverage_area(table: Table) -> float:
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
