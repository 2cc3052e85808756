"""A run as one HTML page that stands alone: no script, no request, and nothing in it that its texts could change."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evidencerails.cli.terminal import visible
from evidencerails.evaluation.report import charts
from evidencerails.evaluation.report.markdown import about, compared
from evidencerails.evaluation.report.wording import BASELINE_NAMES, MAIN, SHORT, conservative, number, told, undefined
from evidencerails.evaluation.report.worst import Item
from evidencerails.text.html import templates_of

FOLDER = Path(__file__).resolve().parent


def page(results: Mapping[str, Any], worst: Sequence[Item] = ()) -> str:
    """The page. Texts of others are data: escaped, with control and bidirectional characters spelled out."""
    from markupsafe import Markup

    environment = templates_of(FOLDER)
    style = (FOLDER / "page.css").read_text(encoding="utf-8")
    return environment.get_template("page.html.j2").render(
        run=_harmless(results["run"]),
        about=visible(about(results)),
        main=MAIN,
        short=SHORT,
        rows=_rows(results),
        reasons=[visible(line) for line in _reasons(results)],
        comparisons=[visible(compared(one)) for one in results.get("comparisons", ())],
        methods=list(results["methods"]),
        plots=[{"title": title, "svg": Markup(svg)} for title, svg in _plots(results)],
        confusion=_confusion(results),
        worst=[_harmless(item._asdict()) for item in worst],
        everything=_everything(results),
        style=Markup(style),
        style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
    )


def _cells(metrics: Mapping[str, Any], *, second: bool = False) -> list[tuple[str, str]]:
    """Value and interval of each metric of the first table."""
    cells = []
    for name in MAIN:
        shown = conservative(name, metrics.get(name)) if second else told(name, metrics.get(name))
        value, _, interval = shown.partition(" ")
        cells.append((value, interval))
    return cells


def _rows(results: Mapping[str, Any]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for name, metrics in results["methods"].items():
        rows.append({"kind": "method", "name": name, "cells": _cells(metrics)})
        if any("conservative" in metric for metric in metrics.values()):
            told_wrong = {"kind": "second", "name": "unverified as wrong", "cells": _cells(metrics, second=True)}
            rows.append(told_wrong)
    for name, metrics in results["baselines"].items():
        rows.append({"kind": "baseline", "name": BASELINE_NAMES[name], "cells": _cells(metrics)})
    return rows


def _reasons(results: Mapping[str, Any]) -> list[str]:
    lines = []
    for name, metrics in results["methods"].items():
        lines += [f"{name}: {line}" for line in undefined({key: metrics[key] for key in MAIN if key in metrics})]
        unverified = results["details"].get(name, {}).get("unverified") or {}
        if unverified:
            lines.append(f"{name}: unverified: " + ", ".join(f"{count} {why}" for why, count in unverified.items()))
    return lines


def _plots(results: Mapping[str, Any]) -> list[tuple[str, str]]:
    details = results["details"]
    groups = [(name, found["reliability"]) for name, found in details.items()]
    roc = [charts.Series(name, found["roc"]) for name, found in details.items()]
    pr = [charts.Series(name, found["pr"]) for name, found in details.items()]
    plots = [
        ("ROC", charts.curves("ROC curves", "false positive rate", "true positive rate", roc, chance=[(0, 0), (1, 1)])),
        ("Precision and recall", charts.curves("Precision-recall curves", "recall", "precision", pr)),
        ("Reliability", charts.reliability("Reliability diagram", groups)),
    ]
    for name, found in details.items():
        if found["histogram"]:
            svg = charts.score_histogram(
                f"Scores of {name}", found["histogram"]["hallucinated"], found["histogram"]["clean"]
            )
            plots.append((f"Scores: {name}", svg))
        latency = found["latency"]
        title = f"Latency: {name}"
        plots.append((title, charts.value_histogram(title, "milliseconds", latency["edges"], latency["counts"])))
    return plots


def _confusion(results: Mapping[str, Any]) -> list[dict[str, Any]]:
    rows = []
    for name, found in results["details"].items():
        metrics = results["methods"][name]
        counts = found.get("confusion") or dict.fromkeys(("tp", "fp", "fn", "tn"), 0)
        cost = {"calls": told("llm_calls", metrics["llm_calls"], interval=False),
                "tokens": told("tokens", metrics["tokens"], interval=False)}  # fmt: skip
        rows.append({"name": name, **counts, **cost, "unverified": number("n", metrics["unverified"]["value"])})
    return rows


def _everything(results: Mapping[str, Any]) -> list[tuple[str, list[tuple[str, str, str, str]]]]:
    return [
        (name, [(key, told(key, one), conservative(key, one), one.get("reason", "")) for key, one in metrics.items()])
        for name, metrics in results["methods"].items()
    ]


def _harmless(value: Any) -> Any:
    """Plain data with every text made visible: escaping alone lets bidirectional controls through."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, Mapping):
        return {key: _harmless(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(_harmless(item) for item in value)
    return [_harmless(item) for item in value] if isinstance(value, list) else value
