"""Results of the red team in words: the rows of its tables, Markdown for a pull request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from evidencerails.evaluation.wording import escaped as cell
from evidencerails.text.visible import visible

TITLES = ("category", "expected behaviour", "score", "false answers caught", "true answers passed", "questions")


def wanted(data: Mapping[str, Any]) -> dict[str, Any]:
    """The categories that there are attacks of, or that the evidence should have given some of."""
    missing = data["run"]["not_generated"]
    return {name: one for name, one in data["categories"].items() if one["attacks"] or name in missing}


def score_shown(one: Mapping[str, Any]) -> str:
    """A score with its interval; why there is none."""
    if one["value"] is None:
        return "not attempted"
    interval = "" if one.get("low") is None else f" [{one['low']:.2f}, {one['high']:.2f}]"
    return f"{one['value']:.2f}{interval}"


def category_rows(data: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """A row a category that was wanted."""
    for name, one in wanted(data).items():
        asked = f"{one['asked'] - one['asked_failed']} of {one['asked']}" if one["asked"] else "-"
        yield (
            name.replace("_", " "),
            one["expected"].replace("_", " "),
            score_shown(one),
            _share(one["false_caught"], one["false_planted"], one["false_unverified"]),
            _share(one["true_passed"], one["true_planted"], one["true_unverified"]),
            asked,
        )


def _share(hits: int, total: int, unverified: int) -> str:
    if not total:
        return "-"
    return f"{hits} of {total}" + (f", {unverified} unverified" if unverified else "")


def dimension_rows(data: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """A row a dimension: name, score, over how many."""
    for name, one in data["dimensions"].items():
        yield name.replace("_", " "), score_shown(one), str(one["n"])
        if "tampering" in one:
            yield "attack detection, called tampering", score_shown(one["tampering"]), str(one["tampering"]["n"])


def summary(data: Mapping[str, Any]) -> Iterator[str]:
    """The overall score and what it does not cover, line by line."""
    run, counts = data["run"], data["counts"]
    tried = sum(one["attempted"] for one in data["categories"].values())
    yield (
        f"robustness score {score_shown(data['score'])} over {tried} attacks on {run['target']} (1 is best; flagging "
        "everything, or nothing, has 0.50)"
    )
    yield coverage_line(data)
    if not run["asks_a_model"]:
        yield "no model was asked: only ready answers were tried, so this is the guard's score, not a whole system's"
    if counts["without_verdict"]:
        yield f"{counts['without_verdict']} answers got no verdict and count nowhere"
    for name, one in data["categories"].items():
        reason = one.get("not_attempted") or run["not_generated"].get(name)
        if reason:
            yield f"not attempted: {name.replace('_', ' ')}: {reason}"
    if run["changed"]:
        yield f"aimed at what changed since the last run: {run['changed']}"
    for change in run["change_log"]:
        yield f"change since the last run: {change}"
    if data["regression"]:
        yield data["regression"]["message"]


def coverage_line(data: Mapping[str, Any]) -> str:
    """How many of the wanted categories got a verdict, which did not, and what that does to the score."""
    coverage = data["coverage"]
    uncovered = [name.replace("_", " ") for name in coverage["uncovered"]]
    line = f"coverage: {coverage['wanted'] - len(uncovered)} of {coverage['wanted']} categories"
    if not uncovered:
        return line
    left_out = [data["categories"][name] for name in coverage["uncovered"]]
    is_counted = any(one.get("not_attempted") or not one["attacks"] for one in left_out)
    counted = " (what no check can notice, or the evidence has nothing for, has 0.50)" if is_counted else ""
    return f"{line}; not covered: {', '.join(uncovered)}{counted}"


def markdown(data: Mapping[str, Any]) -> str:
    run = data["run"]
    about = f"{run['date']}; {cell(run['machine'])}; evidencerails {run['version']}; seed {run['seed']}."
    lines = ["# Red team", "", about, "", *(f"- {cell(visible(line, one_line=True))}" for line in summary(data)), ""]
    lines += [*_table(TITLES, category_rows(data)), "", *_table(("dimension", "score", "n"), dimension_rows(data))]
    if data["failures"]:
        failures = (
            (one["attack"], one["what"], visible(one["answer"][:200], one_line=True)) for one in data["failures"]
        )
        lines += ["", *_table(("attack", "what happened", "answer"), failures)]
    return "\n".join(lines) + "\n"


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield "| " + " | ".join(titles) + " |"
    yield "|---" * len(titles) + "|"
    yield from ("| " + " | ".join(map(cell, row)) + " |" for row in rows)
