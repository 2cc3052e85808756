"""The verdict of a method on a row, without the texts, and the file of a run: a header and one line for each outcome,
so that a run that was killed goes on where it stopped.

`outcomes_of` also reads an app's own traffic: the reports of `evidencerails store export`, marked by a person.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from pydantic import Field

from evidencerails.config import GuardConfig
from evidencerails.errors import EvidencerailsError
from evidencerails.evaluation.datasets.reading import location
from evidencerails.evaluation.rows import Row
from evidencerails.exchange import Value
from evidencerails.report import Status
from evidencerails.version import __version__

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
                "gold_parts": tuple(
                    any(_shared(part.start, part.end, *span) for span in row.spans) for part in verdict.parts
                ),
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


def character_overlap(marked: Offsets, gold: Offsets) -> Overlap:
    """Characters in both, only in the marked spans, and only in the gold ones; overlapping spans count once."""
    ours, theirs = ({place for span in spans for place in range(*span)} for spans in (marked, gold))
    return Overlap(len(ours & theirs), len(ours - theirs), len(theirs - ours))


SCHEMA = "evidencerails-run-1"


class RunFileError(EvidencerailsError):
    """The file of a run cannot be used for this run; the message says what to do."""


def header_of(dataset: str, fingerprint: str, sample: int | None, seed: int, config: GuardConfig) -> dict[str, Any]:
    """What must be equal for outcomes to belong together. The methods are not in it: more can be added later."""
    settings = config.model_dump_json(exclude={"store", "escalation", "telemetry"})
    return {
        "schema": SCHEMA,
        "dataset": dataset,
        "fingerprint": fingerprint,
        "sample": sample,
        "seed": seed,
        "settings": hashlib.sha256(settings.encode()).hexdigest()[:16],
        "version": __version__,
        "calibrated": bool(config.calibration.methods),
    }


class RunFile:
    """Outcomes on disk, written as they come.

    Args:
        path: the file; made if need be.
        header: of this run.
        fresh: discard the outcomes that the file has.

    Raises:
        RunFileError: the file is another run's, or no run's.
    """

    def __init__(self, path: Path, header: dict[str, Any], *, fresh: bool = False) -> None:
        self.done: set[tuple[str, str]] = set()
        """Row and method of the outcomes that are there already."""
        found = read_header(path) if path.exists() and path.stat().st_size else None
        if fresh or found is None:
            path.write_text(json.dumps(header) + "\n", encoding="utf-8")
        else:
            changed = [name for name in header if found.get(name) != header[name]]
            if changed:
                values = ", ".join(f"{name} {found.get(name)!r} there, {header[name]!r} here" for name in changed)
                remedy = "give another file, or --fresh to start over"
                raise RunFileError(f"{str(path)!r} is the file of another run ({values}); {remedy}")
            # A killed run may have been writing: what is behind the last line end is half an outcome.
            os.truncate(path, path.read_bytes().rfind(b"\n") + 1)
            self.done = {(outcome.id, outcome.method) for outcome in outcomes_in(path)}
        self._handle: IO[str] = path.open("a", encoding="utf-8")

    def add(self, outcome: Outcome) -> None:
        """Write one outcome; it survives whatever ends the process after that."""
        self._handle.write(outcome.line() + "\n")
        self._handle.flush()

    def __enter__(self) -> RunFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._handle.close()


def read_header(path: Path) -> dict[str, Any]:
    """The header of a run's file. `RunFileError`: there is none."""
    remedy = "give a file that `eval --run` wrote"
    try:
        header = _first_line(path)
    except (OSError, ValueError) as error:
        raise RunFileError(f"cannot read the run {str(path)!r}: {error}; {remedy}") from None
    if header.get("schema") != SCHEMA:
        raise RunFileError(f"{str(path)!r} is not the file of a run (schema {SCHEMA}); {remedy}")
    return header


def outcomes_in(path: Path) -> Iterator[Outcome]:
    """The outcomes of a run's file, one by one. `RunFileError`: a line is not an outcome."""
    return _read(path, lambda row: iter([Outcome.model_validate(row)]), "an outcome", skipped=1)


def outcomes_of(path: Path) -> tuple[dict[str, Any], Iterator[Outcome]]:
    """Header and outcomes of a run's file, or of exported reports to which a person added `hallucinated: true` where an
    answer is wrong. One without a mark counts as right, so that nobody has to read all of them. `RunFileError`: it is
    neither, or a line of it is not."""
    try:
        is_traffic = isinstance(_first_line(path).get("report"), dict)
    except (OSError, ValueError):
        is_traffic = False
    if not is_traffic:
        return read_header(path), outcomes_in(path)
    remedy = "; give the lines that `evidencerails store export` wrote, with hallucinated: true or false"
    return {"dataset": path.name}, _read(path, _outcomes_of_report, "an exported report", remedy)


def _first_line(path: Path) -> dict[str, Any]:
    with path.open(encoding="utf-8") as lines:
        first = json.loads(lines.readline())
    return first if isinstance(first, dict) else {}


def _read(
    path: Path, outcomes: Callable[[Any], Iterator[Outcome]], what: str, remedy: str = "", *, skipped: int = 0
) -> Iterator[Outcome]:
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                yield from outcomes(json.loads(line)) if number > skipped else ()
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                problem = str(error).splitlines()[0] if skipped else repr(error)
                raise RunFileError(f"{path.name}:{number}: not {what} ({problem}){remedy}") from None


def _outcomes_of_report(row: dict[str, Any]) -> Iterator[Outcome]:
    is_wrong, report = row.get("hallucinated", False), row["report"]
    if not isinstance(is_wrong, bool):
        raise TypeError(f"hallucinated: {is_wrong!r}")
    parts = tuple(
        Part(one["span"]["start"], one["span"]["end"], one["score"], one["label"] not in ("supported", "unevaluatable"))
        for one in report["claims"]
    )
    for name, check in report["checks"].items():
        if "raw_score" in check.get("details", {}):
            raise ValueError("its scores are calibrated already")
        if check["status"] != "skipped":
            about = {"id": row["id"], "document": str(row.get("question") or row["id"]), "method": name}
            kept = {"status": check["status"], "score": check["score"], "reason": check.get("reason", "")}
            yield Outcome(**about, **kept, hallucinated=is_wrong, parts=parts)
