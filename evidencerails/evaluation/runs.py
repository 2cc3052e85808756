"""The file of a run: a header and one line for each outcome, so that a run that was killed goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from evidencerails import __version__
from evidencerails.config import GuardConfig
from evidencerails.errors import EvidencerailsError
from evidencerails.evaluation.outcomes import Outcome, read_outcome

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
        self.path = path
        self.done: set[int] = set()
        """Keys of the outcomes that are there already."""
        if fresh or not path.exists() or path.stat().st_size == 0:
            path.write_text(json.dumps(header) + "\n", encoding="utf-8")
        else:
            self._resume(header)
        self._handle: IO[str] = path.open("a", encoding="utf-8")

    def _resume(self, header: dict[str, Any]) -> None:
        found = read_header(self.path)
        changed = [name for name in header if found.get(name) != header[name]]
        if changed:
            values = ", ".join(f"{name} {found.get(name)!r} there, {header[name]!r} here" for name in changed)
            remedy = "give another file, or --fresh to start over"
            raise RunFileError(f"{str(self.path)!r} is the file of another run ({values}); {remedy}")
        whole = self.path.read_bytes()  # a killed run may have been writing: what is behind the last line end is half
        os.truncate(self.path, whole.rfind(b"\n") + 1)
        for outcome in outcomes_in(self.path):
            self.done.add(key_of(outcome.id, outcome.method))

    def has(self, row_id: str, method: str) -> bool:
        """True if the outcome is there already."""
        return key_of(row_id, method) in self.done

    def add(self, outcome: Outcome) -> None:
        """Write one outcome; it survives whatever ends the process after that."""
        self._handle.write(outcome.line() + "\n")
        self._handle.flush()

    def __enter__(self) -> RunFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._handle.close()


def key_of(row_id: str, method: str) -> int:
    """A short key of an outcome, equal in every process."""
    digest = hashlib.blake2b(f"{method}\x00{row_id}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def read_header(path: Path) -> dict[str, Any]:
    """The header of a run's file.

    Raises:
        RunFileError: there is none.
    """
    remedy = "give a file that `eval --run` wrote"
    try:
        with path.open(encoding="utf-8") as lines:
            header = json.loads(lines.readline())
    except (OSError, ValueError) as error:
        raise RunFileError(f"cannot read the run {str(path)!r}: {error}; {remedy}") from None
    if not isinstance(header, dict) or header.get("schema") != SCHEMA:
        raise RunFileError(f"{str(path)!r} is not the file of a run (schema {SCHEMA}); {remedy}")
    return header


def outcomes_in(path: Path) -> Iterator[Outcome]:
    """The outcomes of a run's file, one by one.

    Raises:
        RunFileError: a line is not an outcome.
    """
    with path.open(encoding="utf-8") as lines:
        next(lines, None)
        for number, line in enumerate(lines, start=2):
            try:
                yield read_outcome(line)
            except ValueError as error:
                raise RunFileError(f"{path.name}:{number}: not an outcome: {str(error).splitlines()[0]}") from None
