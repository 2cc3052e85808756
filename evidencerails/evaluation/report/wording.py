"""Numbers in words for people: one way of writing a value and its interval, for the page, Markdown and the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MAIN = ("n", "unverified", "f1", "precision", "recall", "balanced_accuracy", "auroc", "auprc", "brier", "ece",
        "latency_ms_p50", "latency_ms_p95")  # fmt: skip
"""Metrics of the first table."""
SHORT = {"balanced_accuracy": "bal. acc.", "latency_ms_p50": "p50 ms", "latency_ms_p95": "p95 ms", "auroc": "AUROC",
         "auprc": "AUPRC", "brier": "Brier", "ece": "ECE", "f1": "F1"}  # fmt: skip
BASELINE_NAMES = {
    "everything_flagged": "everything flagged",
    "length": "length only",
    "unseen_words": "unseen words only",
}
_WHOLE = ("n", "unverified", "claims", "sentences")


def number(name: str, value: float | None) -> str:
    """A metric's value; a dash where it has none."""
    if value is None:
        return "-"
    if name in _WHOLE:
        return f"{value:.0f}"
    if name.startswith("latency") or name == "tokens":
        return f"{value:.0f}"
    return f"{value:.2f}" if name in ("llm_calls", "claim_discrimination_ratio") else f"{value:.3f}"


def told(name: str, metric: Mapping[str, Any] | None, *, interval: bool = True) -> str:
    """A metric with its interval, as in `0.812 [0.78, 0.84]`."""
    if metric is None or metric.get("value") is None:
        return "-"
    shown = number(name, metric["value"])
    if not interval or name in _WHOLE or metric.get("low") is None:
        return shown
    digits = 0 if name.startswith("latency") or name == "tokens" else 2
    return f"{shown} [{metric['low']:.{digits}f}, {metric['high']:.{digits}f}]"


def conservative(name: str, metric: Mapping[str, Any] | None) -> str:
    """The conservative value of a metric, unverified rows counted as wrong; empty if there are none."""
    second = (metric or {}).get("conservative")
    return told(name, second) if second else ""


def undefined(metrics: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The reasons of metrics without a value, each once, with the metrics' names."""
    reasons: dict[str, list[str]] = {}
    for name, metric in metrics.items():
        if metric.get("value") is None and metric.get("reason"):
            reasons.setdefault(metric["reason"], []).append(SHORT.get(name, name))
    return [f"{', '.join(names)}: {reason}" for reason, names in reasons.items()]
