"""The file of a run: a header and one line for each outcome, so that a run that was killed goes on where it stopped.

`outcomes_of` also reads an app's own traffic: the reports of `evidencerails store export`, marked by a person.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from evidencerails import __version__
from evidencerails.config import GuardConfig
from evidencerails.errors import EvidencerailsError
from evidencerails.evaluation.outcomes import Outcome, Part

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
        fresh: discard what the file has.

    Raises:
        RunFileError: the file is another run's, or no run's.
    """

    def __init__(self, path: Path, header: dict[str, Any], *, fresh: bool = False) -> None:
        self.done: set[tuple[str, str]] = set()
        """Row and method of the outcomes that are there already."""
        if fresh or not path.exists() or path.stat().st_size == 0:
            path.write_text(json.dumps(header) + "\n", encoding="utf-8")
        else:
            found = read_header(path)
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
