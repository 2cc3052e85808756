"""The output of a job: whole lines only, one for each row, so that a killed job goes on where it was.

Beside `out.jsonl` stand `out.rejected.jsonl`, rows that cannot be checked with the reason, and `out.job.json`, which
says what settings the lines were made with.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

from evidencerails.errors import EvidencerailsError, InputError

SYNC_S = 2.0
"""Seconds between writes to the disk itself; a kill loses nothing, a power cut at most this."""
TO_STDOUT = "-"
_OURS = re.compile(rb'\{"row": \d+, "row_hash": "|\{\s+"input": |\Z')
"""How the files of a job begin; an empty one is as good."""


class OutputError(EvidencerailsError):
    """The output cannot be written any further: the disk is full, or failed. What was written before is whole."""


def files_of(name: str) -> tuple[Path, Path, Path]:
    """The files of a job with that output: of the reports, of the rejected rows, and of what made them."""
    path = Path(name)
    return path, path.parent / f"{path.stem}.rejected.jsonl", path.parent / f"{path.stem}.job.json"


class Result(NamedTuple):
    """What became of one row: a report, or the reason why there is none."""

    number: int
    digest: str
    identity: Any
    report: dict[str, Any] | None
    reason: str = ""

    def line(self) -> bytes:
        """The line of the output: JSON in ASCII, so that nothing in it is a line break."""
        data: dict[str, Any] = {"row": self.number, "row_hash": self.digest, "id": self.identity}
        data |= {"report": self.report} if self.report is not None else {"reason": self.reason}
        return (json.dumps(data, default=str) + "\n").encode("ascii")


class Output:
    """Where results go: a path, or `-` for standard output, which cannot be resumed. Use it as a context manager.

    `fingerprint` is what the lines depend on beside the input; `is_restart` begins anew, whichever job's it is. An
    `InputError` says that the output belongs to another job or is no job's, is in use, or cannot be written.
    """

    def __init__(self, name: str, fingerprint: Mapping[str, Any], *, is_restart: bool = False) -> None:
        self.done: dict[int, str] = {}
        """Rows that have a line, and the hashes of what they were."""
        self.statuses: Counter[str] = Counter()
        """Of the lines that were there already, too."""
        self._name = name
        self._synced_at = time.monotonic()
        self._files: list[IO[bytes]] = []
        if name == TO_STDOUT:
            self._reports, self._rejected = sys.stdout.buffer, sys.stderr.buffer
            return
        path, self.rejected_path, job = files_of(name)
        if path.exists() and not path.is_file():  # a device may have no end to read to
            raise InputError(
                f"cannot write {name!r}: not a regular file; give the path of one, or - for standard output"
            )
        try:
            for own in files_of(name):
                _require_ours(own)
            self._files = [path.open("a+b")]
            if not _locked(self._files[0].fileno()):
                raise InputError(f"another job is writing to {name!r}; wait for it, or give another output")
            self._files.append(self.rejected_path.open("a+b"))
            self._reports, self._rejected = self._files
            if is_restart:
                for file in self._files:
                    file.truncate(0)
            elif path.stat().st_size:
                _require_same_job(job, fingerprint)
            job.write_text(json.dumps(fingerprint, indent=2), encoding="utf-8")
        except OSError as error:
            self._close()
            raise InputError(f"cannot write {name!r}: {error.strerror}; give a path in a folder that exists") from None
        except InputError:
            self._close()
            raise
        for file in self._files:
            self._take_stock(file)

    def _take_stock(self, file: IO[bytes]) -> None:
        """Note the rows that are done, and cut off a line that a kill left unfinished."""
        end = 0
        file.seek(0)
        for line in file:
            try:
                data = json.loads(line if line.endswith(b"\n") else b"")
                number, digest = int(data["row"]), str(data["row_hash"])
            except (ValueError, KeyError, TypeError):
                break  # what follows was not written by us, or by a disk that failed
            self.done[number] = digest
            self.statuses[(data.get("report") or {}).get("status", "rejected")] += 1
            end += len(line)
        file.seek(end)
        file.truncate()

    def write(self, result: Result) -> None:
        """Write one line and hand it to the system: from here on a kill cannot lose it. Of a line that cannot be
        written, the part that is there is cut off when the job goes on."""
        file = self._reports if result.report is not None else self._rejected
        try:
            file.write(result.line())
            file.flush()
            if time.monotonic() - self._synced_at > SYNC_S:
                self._sync()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise self._failed(error) from error
        self.statuses[result.report["status"] if result.report is not None else "rejected"] += 1

    def _failed(self, error: OSError) -> OutputError:
        is_file = self._name != TO_STDOUT
        again = "; make room and run the same command again to go on" if is_file else ""
        where = repr(self._name) if is_file else "standard output"
        return OutputError(f"cannot write to {where}: {error.strerror}{again}")

    def _sync(self) -> None:
        for file in self._files:
            os.fsync(file.fileno())
        self._synced_at = time.monotonic()

    def _close(self) -> None:
        for file in self._files:
            with contextlib.suppress(OSError):  # of a line that could not be written, which has been said
                file.close()

    def __enter__(self) -> Output:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._sync()
        except OSError as error:
            raise self._failed(error) from error
        finally:
            self._close()


def _require_ours(file: Path) -> None:
    """Refuse to touch a file that no job has written (an `InputError`)."""
    if file.exists():
        with file.open("rb") as there:
            if not _OURS.match(there.read(64)):
                remedy = "give another output, or move that file"
                raise InputError(f"{str(file)!r} would be lost, and no batch job has written it; {remedy}")


def _require_same_job(job: Path, fingerprint: Mapping[str, Any]) -> None:
    try:
        before = json.loads(job.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise InputError(
            f"the output has lines, but {str(job)!r}, which says how they were made, cannot be read; give another "
            "output, or --restart to begin anew"
        ) from None
    changed = sorted(key for key in {*before, *fingerprint} if before.get(key) != fingerprint.get(key))
    if changed:
        raise InputError(
            f"the output was begun with other values of {' and '.join(changed)}; give another output, or --restart to "
            "begin anew"
        )


def _locked(descriptor: int) -> bool:
    """Take an open file for this process, until it is closed; false if another holds it. Always true on Windows."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
