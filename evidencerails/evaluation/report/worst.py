"""The rows that a method told wrong with most certainty, with their texts read again from the data set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from evidencerails.evaluation.outcomes import Outcome
from evidencerails.evaluation.rows import Row

SHOWN_PER_METHOD = 10
MOST_EVIDENCE_CHARS = 1500


class Item(NamedTuple):
    """One row told wrong."""

    method: str
    id: str
    said: str
    label: str
    score: float | None
    reason: str
    prompt: str
    pieces: list[tuple[str, str]]
    """Stretches of the response and what they are: `flagged`, `read`, or nothing."""
    evidence: list[str]


def worst_items(details: Mapping[str, Any], outcomes: Iterable[Outcome], rows: Iterable[Row]) -> list[Item]:
    """The worst rows of each method, worst first; one pass over the outcomes and one over the rows."""
    wanted = {
        (method, one["id"]): place
        for method, found in details.items()
        for place, one in enumerate(found["worst"][:SHOWN_PER_METHOD])
    }
    said = {(one.method, one.id): one for one in outcomes if (one.method, one.id) in wanted}
    ids = {row_id for _, row_id in wanted}
    texts = {row.id: row for row in rows if row.id in ids}
    keys = [key for key in wanted if key in said and key[1] in texts]
    return [
        _item(said[key], texts[key[1]])
        for key in sorted(keys, key=lambda key: (list(details).index(key[0]), wanted[key]))
    ]


def _item(outcome: Outcome, row: Row) -> Item:
    left = MOST_EVIDENCE_CHARS
    shown = []
    for passage in row.evidence:
        if left > 0:
            shown.append(passage if len(passage) <= left else passage[:left] + " …")
            left -= len(passage)
    return Item(
        method=outcome.method,
        id=row.id,
        said=outcome.status,
        label="hallucinated" if row.hallucinated else "clean",
        score=outcome.score,
        reason=outcome.reason,
        prompt=row.prompt[:MOST_EVIDENCE_CHARS],
        pieces=pieces_of(row.response, outcome),
        evidence=shown,
    )


def pieces_of(response: str, outcome: Outcome) -> list[tuple[str, str]]:
    """The response cut at the borders of its claims; where claims overlap, a flagged one wins."""
    borders = sorted({0, len(response), *(end for part in outcome.parts for end in part[:2] if end <= len(response))})
    pieces: list[tuple[str, str]] = []
    for start, end in pairwise(borders):
        inside = [part for part in outcome.parts if part[0] <= start and end <= part[1]]
        kind = "flagged" if any(part[3] for part in inside) else "read" if inside else ""
        if pieces and pieces[-1][1] == kind:
            pieces[-1] = (pieces[-1][0] + response[start:end], kind)
        else:
            pieces.append((response[start:end], kind))
    return pieces
