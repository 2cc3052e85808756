"""A run as Markdown, for a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evidencerails.evaluation.report.wording import BASELINE_NAMES, MAIN, SHORT, conservative, told, undefined


def markdown(results: Mapping[str, Any]) -> str:
    """The whole report."""
    return "\n".join(_lines(results)) + "\n"


def _lines(results: Mapping[str, Any]) -> Iterator[str]:
    run = results["run"]
    yield f"# Evaluation on {_cell(run['dataset'])}"
    yield ""
    yield about(results)
    yield ""
    yield from table(results)
    for name, metrics in results["methods"].items():
        lines = undefined(metrics)
        unverified = results["details"].get(name, {}).get("unverified") or {}
        if unverified:
            lines.append("unverified: " + ", ".join(f"{count} {reason}" for reason, count in unverified.items()))
        yield from ("", f"`{name}`", *(f"- {_cell(line)}" for line in lines)) if lines else ()
    for comparison in results.get("comparisons", ()):
        yield ""
        yield _cell(compared(comparison))


def about(results: Mapping[str, Any]) -> str:
    """One line: rows, problems, date, machine, seed."""
    run = results["run"]
    parts = [f"{run['rows']} rows", run["problems"], run["date"], run["machine"], f"evidencerails {run['version']}"]
    sample = f"sample of {run['sample']}, seed {run['seed']}" if run.get("sample") else ""
    return "; ".join(part for part in (*parts, sample, "95 % bootstrap intervals over documents") if part) + "."


def table(results: Mapping[str, Any]) -> Iterator[str]:
    """The first table: methods, then baselines."""
    yield "| method | " + " | ".join(SHORT.get(name, name) for name in MAIN) + " |"
    yield "|---" * (len(MAIN) + 1) + "|"
    for method, metrics in results["methods"].items():
        yield f"| {_cell(method)} | " + " | ".join(told(name, metrics.get(name)) for name in MAIN) + " |"
        if any("conservative" in metric for metric in metrics.values()):
            cells = (conservative(name, metrics.get(name)) or "-" for name in MAIN)
            yield f"| {_cell(method)}, unverified counted as wrong | " + " | ".join(cells) + " |"
    for baseline, metrics in results["baselines"].items():
        yield f"| *{BASELINE_NAMES[baseline]}* | " + " | ".join(told(name, metrics.get(name)) for name in MAIN) + " |"


def compared(comparison: Mapping[str, Any]) -> str:
    """A comparison in one sentence."""
    differences = ", ".join(
        f"{SHORT.get(name, name)} {metric['value']:+.3f} [{metric['low']:+.3f}, {metric['high']:+.3f}]"
        for name, metric in comparison["differences"].items()
        if metric["value"] is not None and metric["low"] is not None
    )
    p = comparison["p_mcnemar"]
    chance = "no row differs" if p is None else f"McNemar {_p(p)}"
    if comparison["p_delong"] is not None:
        chance += f"; AUROC: DeLong {_p(comparison['p_delong'])}, rows taken as independent"
    return (
        f"{comparison['second']} against {comparison['first']} on {comparison['rows']} common rows: {differences}; "
        f"right only here {comparison['only_second_right']}, only there {comparison['only_first_right']} ({chance})"
    )


def _p(p: float) -> str:
    return f"p = {p:.4f}" if p >= 0.0001 else "p < 0.0001"


def _cell(text: str) -> str:
    """A text of others inside Markdown: no table, link or HTML of its own."""
    for character in "\\|<>[]*_`":
        text = (
            text.replace(character, "\\" + character)
            if character in "\\|[]*_`"
            else text.replace(character, "&lt;" if character == "<" else "&gt;")
        )
    return " ".join(text.split())
