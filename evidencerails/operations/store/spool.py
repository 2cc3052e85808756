"""Where records wait that the database did not take: files of one JSON line a record, replayed later.

Each process appends to a file of its own. Whoever replays a file holds a lock on it, so that of two services one does;
and a record that is already in the database is not written again, so that a crash between the two does no harm.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

from evidencerails.operations.store.records import Record, as_json

log = logging.getLogger("evidencerails")

SUFFIX = ".jsonl"
BAD_SUFFIX = ".unreadable"
BATCH = 200


class SpoolFullError(OSError):
    """The spool has reached its size."""


class Spool:
    """A folder of spooled records.

    Args:
        folder: made when the first record comes.
        max_bytes: of all files together.
    """

    def __init__(self, folder: Path, max_bytes: float) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._name = self._new_name()
        self._pid = os.getpid()

    def append(self, records: Sequence[Record]) -> None:
        """Keep records on disk.

        Raises:
            OSError: the folder cannot be written, or is full (`SpoolFullError`).
        """
        lines = "".join(as_json(record) + "\n" for record in records).encode("ascii")
        with self._lock:
            if self._pid != os.getpid():  # after a fork: never two processes in one file
                self._name, self._pid = self._new_name(), os.getpid()
            if self.size_bytes() + len(lines) > self._max_bytes:
                raise SpoolFullError(f"the spool {str(self._folder)!r} has reached {self._max_bytes:.0f} bytes")
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            _append_whole(self._folder / self._name, lines)

    def put_aside(self, records: Sequence[Record]) -> None:
        """Keep records that no database takes, for people; they are not replayed.

        Raises:
            OSError: the folder cannot be written.
        """
        lines = "".join(as_json(record) + "\n" for record in records).encode("ascii")
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        _append_whole(self._folder / f"refused{BAD_SUFFIX}", lines)

    def replay(self, write: Callable[[Sequence[Record]], None]) -> int:
        """Hand every spooled record to `write`, in files' order, and delete what it took. Returns the records taken.

        Raises whatever `write` raises; what it did not take stays. A line that cannot be read is kept aside.
        """
        with self._lock:
            self._name = self._new_name()  # what comes from now on goes to a new file
        return sum(self._replay_file(file, write) for file in self.files())

    def files(self) -> list[Path]:
        """The files that hold records."""
        try:
            return sorted(self._folder.glob(f"*{SUFFIX}"))
        except OSError:
            return []

    def aside(self) -> list[Path]:
        """The files of records that no database takes."""
        return sorted(self._folder.glob(f"*{BAD_SUFFIX}"))

    def size_bytes(self) -> int:
        """Size of all files, those kept aside included."""
        total = 0
        try:
            for entry in os.scandir(self._folder):
                total += entry.stat().st_size
        except OSError:  # not there yet, or a file that another service has just replayed
            pass
        return total

    def waiting(self) -> int:
        """How many records wait."""
        count = 0
        for file in self.files():
            try:
                with file.open("rb") as stream:
                    count += sum(1 for _ in stream)
            except OSError:
                continue
        return count

    def _new_name(self) -> str:
        return f"{os.getpid()}-{uuid.uuid4().hex}{SUFFIX}"

    def _replay_file(self, file: Path, write: Callable[[Sequence[Record]], None]) -> int:
        try:
            stream = file.open("r+b")
        except FileNotFoundError:
            return 0
        with stream:
            if not _lock_file(stream.fileno()) or not file.exists():
                return 0
            records, bad = _parsed(stream.readlines())
            if bad:
                log.error(
                    "evidencerails: %d spooled lines cannot be read; kept in %s", len(bad), file.name + BAD_SUFFIX
                )
                _append_whole(file.with_name(file.name + BAD_SUFFIX), b"".join(bad))
            for start in range(0, len(records), BATCH):
                write(records[start : start + BATCH])
            file.unlink(missing_ok=True)
            return len(records)


def _append_whole(file: Path, data: bytes) -> None:
    """Append all of it or nothing: a half line at the end would spoil the next one."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        before = os.fstat(descriptor).st_size
        try:
            written = 0
            while written < len(data):
                written += os.write(descriptor, data[written:])
        except OSError:
            os.ftruncate(descriptor, before)
            raise
    finally:
        os.close(descriptor)


def _lock_file(descriptor: int) -> bool:
    """Take the file for this process; false if another holds it. Where there are no such locks, records stay unique by
    their id."""
    try:
        import fcntl
    except ImportError:  # Windows
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _parsed(lines: Sequence[bytes]) -> tuple[list[Record], list[bytes]]:
    records: list[Record] = []
    bad: list[bytes] = []
    for line in lines:
        try:
            record = json.loads(line)
            if not isinstance(record["report"]["id"], str) or not isinstance(record["findings"], list):
                raise ValueError
        except (ValueError, KeyError, TypeError):
            bad.append(line if line.endswith(b"\n") else line + b"\n")
        else:
            records.append(record)
    return records, bad
