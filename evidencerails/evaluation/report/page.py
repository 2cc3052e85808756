"""A run as one HTML page without script or request; all texts in it are escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from markupsafe import Markup

from evidencerails.evaluation.outcomes import Outcome
from evidencerails.evaluation.report import charts
from evidencerails.evaluation.report.wording import (
    BASELINE_NAMES,
    MAIN,
    SHORT,
    about,
    compared,
    conservative,
    remarks,
    shown,
)
from evidencerails.evaluation.rows import Row
from evidencerails.text.html import standalone_page

FOLDER = Path(__file__).resolve().parent
STYLE = FOLDER / "page.css"
SHOWN_PER_METHOD = 10
MOST_EVIDENCE_CHARS = 1500


def page(results: Mapping[str, Any], worst: Sequence[Mapping[str, Any]] = ()) -> str:
    """The page of an evaluation, with the rows judged wrongly with most certainty."""
    return standalone_page(
        FOLDER / "page.html.j2",
        STYLE,
        results=results,
        about=about(results),
        main=MAIN,
        short=SHORT,
        baseline_names=BASELINE_NAMES,
        shown=shown,
        conservative=conservative,
        remarks=remarks,
        comparisons=[compared(one) for one in results.get("comparisons", ())],
        plots=_plots(results),
        worst=worst,
    )


def _plots(results: Mapping[str, Any]) -> list[tuple[str, Markup]]:
    """Title and drawing of each plot."""
    details = results["details"]
    groups, roc, pr = ({name: one[kind] for name, one in details.items()} for kind in ("reliability", "roc", "pr"))
    plots = [
        ("ROC", charts.curves("ROC curves", "false positive rate", "true positive rate", roc, chance=[(0, 0), (1, 1)])),
        ("Precision and recall", charts.curves("Precision-recall curves", "recall", "precision", pr)),
        ("Reliability", charts.reliability("Reliability diagram", groups)),
    ]
    for name, found in details.items():
        if bars := found["histogram"]:
            title = f"Scores: {name}"
            plots.append((title, charts.score_histogram(title, bars["hallucinated"], bars["clean"])))
    return plots


def worst_items(details: Mapping[str, Any], outcomes: Iterable[Outcome], rows: Iterable[Row]) -> list[dict[str, Any]]:
    """The worst rows of each method, worst first; one pass over the outcomes and one over the rows."""
    wanted = [(method, one["id"]) for method, found in details.items() for one in found["worst"][:SHOWN_PER_METHOD]]
    judged = {(one.method, one.id): one for one in outcomes if (one.method, one.id) in wanted}
    texts = {row.id: row for row in rows if row.id in {row_id for _, row_id in wanted}}
    return [_item(judged[key], texts[key[1]]) for key in wanted if key in judged and key[1] in texts]


def _item(outcome: Outcome, row: Row) -> dict[str, Any]:
    left, shown = MOST_EVIDENCE_CHARS, []
    for passage in row.evidence:
        if left > 0:
            shown.append(passage if len(passage) <= left else passage[:left] + " …")
            left -= len(passage)
    return {
        **{name: getattr(outcome, name) for name in ("method", "id", "status", "score", "reason")},
        "label": "hallucinated" if row.hallucinated else "clean",
        "prompt": row.prompt[:MOST_EVIDENCE_CHARS],
        "pieces": pieces_of(row.response, outcome),
        "evidence": shown,
    }


def pieces_of(response: str, outcome: Outcome) -> list[tuple[str, str]]:
    """The response cut at the bounds of its claims; where claims overlap, a flagged one wins."""
    ends = (end for part in outcome.parts for end in (part.start, part.end))
    bounds = sorted({0, len(response), *(end for end in ends if end <= len(response))})
    pieces: list[tuple[str, str]] = []
    for start, end in pairwise(bounds):
        inside = [part for part in outcome.parts if part.start <= start and end <= part.end]
        kind = "flagged" if any(part.flagged for part in inside) else "read" if inside else ""
        if pieces and pieces[-1][1] == kind:
            pieces[-1] = (pieces[-1][0] + response[start:end], kind)
        else:
            pieces.append((response[start:end], kind))
    return pieces
