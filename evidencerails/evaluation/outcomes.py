"""The verdict of a method on a row, as one line of a file: all that the metrics need, without the texts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from pydantic import Field

from evidencerails.evaluation.datasets.reading import location
from evidencerails.evaluation.rows import Row
from evidencerails.exchange import Value
from evidencerails.report import Status

Offsets = Sequence[tuple[int, int]]


class Part(NamedTuple):
    start: int
    end: int
    score: float | None
    flagged: bool


class Verdict(NamedTuple):
    status: Status
    score: float | None = None
    reason: str = ""
    parts: tuple[Part, ...] = ()
    llm_calls: int = 0
    tokens: int = 0
    latency_ms: float = 0.0


class Overlap(NamedTuple):
    """Hallucinated characters found, wrongly marked, and missed."""

    found: int = 0
    wrong: int = 0
    missed: int = 0


class Outcome(Value):
    """One method's verdict on one row, beside the row's labels."""

    id: str
    document: str
    method: str
    hallucinated: bool
    grade: float | None = None
    status: Status
    score: float | None = None
    reason: str = ""
    latency_ms: float = 0.0
    llm_calls: int = 0
    tokens: int = 0
    parts: tuple[Part, ...] = ()
    """Each claim the method judged."""
    gold_parts: tuple[bool, ...] | None = None
    """For each part whether it touches a hallucinated span; None where the data set has no spans."""
    sentences: tuple[tuple[bool, float | None, bool], ...] = ()
    """Label, score and flag of each judged sentence that is in the response."""
    lost_sentences: int = 0
    """Judged sentences that are not in the response."""
    characters: Overlap | None = None
    baselines: dict[str, float] = Field(default_factory=dict)

    def line(self) -> str:
        return json.dumps(self.model_dump(mode="json", exclude_defaults=True), ensure_ascii=True)

    @property
    def flagged(self) -> bool:
        return self.status == "hallucinated"


def outcome_of(row: Row, method: str, verdict: Verdict, baselines: dict[str, float]) -> Outcome:
    gold: dict[str, object] = {}
    if verdict.status != "unverified":
        sentences, lost = _sentences(row, verdict.parts)
        gold = {"sentences": sentences, "lost_sentences": lost}
        if row.spans is not None:
            flagged = [(part.start, part.end) for part in verdict.parts if part.flagged]
            gold |= {
                "gold_parts": tuple(_touches(part.start, part.end, row.spans) for part in verdict.parts),
                "characters": character_overlap(flagged, row.spans),
            }
    about = {"id": row.id, "document": row.document, "hallucinated": bool(row.hallucinated), "grade": row.grade}
    measured = verdict._replace(latency_ms=round(verdict.latency_ms, 3))._asdict()
    return Outcome(method=method, baselines=baselines, **about, **measured, **gold)  # type: ignore[arg-type]


def _sentences(row: Row, parts: Sequence[Part]) -> tuple[tuple[tuple[bool, float | None, bool], ...], int]:
    """Each judged sentence with the worst of the parts in it; without any part it makes no claim: 0.0."""
    found: list[tuple[bool, float | None, bool]] = []
    lost, begin = 0, 0
    for sentence in row.sentences:
        if sentence.hallucinated is None:
            continue
        place = location(row.response, sentence.text, begin) or location(row.response, sentence.text)
        if place is None:
            lost += 1
            continue
        begin = place[1]
        inside = [part for part in parts if _shared(part.start, part.end, *place) * 2 > part.end - part.start]
        scores = [part.score for part in inside if part.score is not None]
        score = max(scores) if scores else (None if inside else 0.0)
        found.append((sentence.hallucinated, score, any(part.flagged for part in inside)))
    return tuple(found), lost


def _shared(start: int, end: int, other_start: int, other_end: int) -> int:
    return max(0, min(end, other_end) - max(start, other_start))


def _touches(start: int, end: int, spans: Offsets) -> bool:
    return any(_shared(start, end, *span) > 0 for span in spans)


def character_overlap(marked: Offsets, gold: Offsets) -> Overlap:
    """Characters in both, only in the marked spans, and only in the gold ones; overlapping spans count once."""
    ours, theirs = ({place for span in spans for place in range(*span)} for spans in (marked, gold))
    return Overlap(len(ours & theirs), len(ours - theirs), len(theirs - ours))
