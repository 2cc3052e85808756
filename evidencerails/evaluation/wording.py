"""A run in words: one way of writing a value and its interval, for the terminal and Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from evidencerails.evaluation.outcomes import Outcome
from evidencerails.evaluation.rows import Row
from evidencerails.text.visible import visible

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
SHOWN_PER_METHOD, MOST_CHARACTERS = 10, 1500
"""Rows judged wrongly, and of each of their texts."""
_WHOLE = ("n", "unverified", "claims", "sentences")


def number(name: str, value: float) -> str:
    if name in _WHOLE or name.startswith("latency") or name == "tokens":
        return f"{value:.0f}"
    return f"{value:.2f}" if name in ("llm_calls", "claim_discrimination_ratio") else f"{value:.3f}"


def shown(name: str, metric: Mapping[str, Any] | None, *, interval: bool = True) -> str:
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
    return shown(name, second) if second else ""


def remarks(results: Mapping[str, Any], method: str) -> list[str]:
    """Why metrics of a method have no value, each reason once with the metrics' names, and why rows are unverified."""
    reasons: dict[str, list[str]] = {}
    for name, metric in results["methods"][method].items():
        if metric.get("value") is None and metric.get("reason"):
            reasons.setdefault(metric["reason"], []).append(SHORT.get(name, name))
    lines = [f"{', '.join(names)}: {reason}" for reason, names in reasons.items()]
    unverified = results["details"].get(method, {}).get("unverified") or {}
    return [*lines, "unverified: " + ", ".join(f"{n} {why}" for why, n in unverified.items())] if unverified else lines


def table_rows(results: Mapping[str, Any], columns: Sequence[str]) -> Iterator[tuple[str, str, list[str]]]:
    """The rows of the first table: kind (`method`, `conservative`, `baseline`), name, and the words of each column."""
    for name, metrics in results["methods"].items():
        yield "method", name, [shown(column, metrics.get(column)) for column in columns]
        if any("conservative" in metric for metric in metrics.values()):
            yield "conservative", name, [conservative(column, metrics.get(column)) for column in columns]
    for name, metrics in results["baselines"].items():
        yield "baseline", BASELINE_NAMES[name], [shown(column, metrics.get(column)) for column in columns]


def markdown(results: Mapping[str, Any], outcomes: Iterable[Outcome], rows: Iterable[Row]) -> str:
    """The whole report, with the rows that were judged wrongly with most certainty."""
    lines = [f"# Evaluation on {escaped(results['run']['dataset'])}", "", about(results), "", *table(results)]
    for name in results["methods"]:
        if found := [*_counts(results["details"][name]), *remarks(results, name)]:
            lines += ["", f"`{name}`", *(f"- {escaped(line)}" for line in found)]
    for comparison in results.get("comparisons", ()):
        lines += ["", escaped(compared(comparison))]
    lines += ["", "## Judged wrongly with most certainty", *_worst(results["details"], outcomes, rows)]
    return "\n".join(lines) + "\n"


def _counts(details: Mapping[str, Any]) -> Iterator[str]:
    if found := details.get("confusion"):
        yield "hallucinated: {tp} flagged, {fn} passed; clean: {fp} flagged, {tn} passed".format(**found)


def _worst(details: Mapping[str, Any], outcomes: Iterable[Outcome], rows: Iterable[Row]) -> Iterator[str]:
    """The worst rows of each method, worst first; one pass over the outcomes and one over the rows."""
    wanted = [(method, one["id"]) for method, found in details.items() for one in found["worst"][:SHOWN_PER_METHOD]]
    judged = {(one.method, one.id): one for one in outcomes if (one.method, one.id) in wanted}
    texts = {row.id: row for row in rows if row.id in {row_id for _, row_id in wanted}}
    for method, row_id in wanted:
        if (method, row_id) not in judged or row_id not in texts:
            continue
        one, row = judged[method, row_id], texts[row_id]
        score = "" if one.score is None else f", score {one.score:.2f}"
        label = "hallucinated" if row.hallucinated else "clean"
        flagged = [row.response[part.start : part.end] for part in one.parts if part.flagged]
        fields = {"question": row.prompt, "answer": row.response, "evidence": "\n".join(row.evidence),
                  "flagged": " / ".join(flagged), "reason": one.reason}  # fmt: skip
        yield f"\n`{method}` says {one.status}{score}; the label is {label} (row {escaped(row_id)})\n"
        yield from (f"- {name}: {escaped(text[:MOST_CHARACTERS])}" for name, text in fields.items() if text)


def about(results: Mapping[str, Any]) -> str:
    """One line: rows, problems, date, machine, seed."""
    run = results["run"]
    parts = [f"{run['rows']} rows", run["problems"], run["date"], run["machine"], f"evidencerails {run['version']}"]
    sample = f"sample of {run['sample']}, seed {run['seed']}" if run.get("sample") else ""
    return "; ".join(part for part in (*parts, sample, "95 % bootstrap intervals over documents") if part) + "."


def table(results: Mapping[str, Any]) -> Iterator[str]:
    yield "| method | " + " | ".join(SHORT.get(name, name) for name in MAIN) + " |"
    yield "|---" * (len(MAIN) + 1) + "|"
    titles = {"method": "{}", "conservative": "{}, unverified counted as wrong", "baseline": "*{}*"}
    for kind, name, cells in table_rows(results, MAIN):
        yield f"| {titles[kind].format(escaped(name))} | " + " | ".join(cell or "-" for cell in cells) + " |"


def compared(comparison: Mapping[str, Any]) -> str:
    differences = ", ".join(
        f"{SHORT.get(name, name)} {metric['value']:+.3f} [{metric['low']:+.3f}, {metric['high']:+.3f}]"
        for name, metric in comparison["differences"].items()
        if metric["value"] is not None and metric["low"] is not None
    )
    p = comparison["p_mcnemar"]
    chance = "no row differs" if p is None else f"McNemar {_p(p)}"
    return (
        f"{comparison['second']} against {comparison['first']} on {comparison['rows']} common rows: {differences}; "
        f"right only here {comparison['only_second_right']}, only there {comparison['only_first_right']} ({chance})"
    )


def _p(p: float) -> str:
    return f"p = {p:.4f}" if p >= 0.0001 else "p < 0.0001"


def escaped(text: str) -> str:
    """A text of others inside Markdown: no table, link or HTML of its own."""
    text = re.sub(r"([\\|\[\]*_`])", r"\\\1", " ".join(text.split()))
    return visible(text.replace("<", "&lt;").replace(">", "&gt;"))
