"""Where records wait that the database did not take: files of one JSON line a record, replayed later.

Each process appends to a file of its own. Whoever replays a file holds a lock on it, so that of two services one does;
and a record that is already in the database is not written again, so that a crash between the two does no harm.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import threading
import uuid
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from evidencerails.operations.files import lock_file
from evidencerails.operations.store.records import Record, as_json

log = logging.getLogger("evidencerails")

BAD_SUFFIX = ".unreadable"
BATCH = 200


class Spool:
    """A folder of spooled records, made when the first one comes; all its files together hold `max_bytes`."""

    def __init__(self, folder: Path, max_bytes: float) -> None:
        self._folder, self._max_bytes = folder, max_bytes
        self._lock = threading.Lock()
        self._round = uuid.uuid4().hex

    def append(self, records: Sequence[Record]) -> None:
        """Keep records on disk; an `OSError` says that the folder cannot be written, or has reached its size."""
        with self._lock:
            self._append(f"{os.getpid()}-{self._round}.jsonl", records, self._max_bytes)

    def put_aside(self, records: Sequence[Record]) -> None:
        """Keep records that no database takes, for people; they are not replayed."""
        self._append(f"refused{BAD_SUFFIX}", records, float("inf"))

    def replay(self, write: Callable[[Sequence[Record]], None]) -> int:
        """Hand every record to `write`, in files' order, and delete what it took; how many it took.

        What `write` raises is raised, and what it did not take stays. A line that cannot be read is kept aside.
        """
        with self._lock:
            self._round = uuid.uuid4().hex  # what comes from now on goes to a new file
        return sum(self._replay_file(file, write) for file in self.files())

    def files(self) -> list[Path]:
        """The files that hold records."""
        return sorted(self._folder.glob("*.jsonl"))

    def aside(self) -> list[Path]:
        """The files of records that no database takes."""
        return sorted(self._folder.glob(f"*{BAD_SUFFIX}"))

    def waiting(self) -> int:
        """How many records wait."""
        count = 0
        for file in self.files():
            with contextlib.suppress(OSError):  # another service has just replayed it
                count += len(file.read_bytes().splitlines())
        return count

    def _append(self, name: str, records: Sequence[Record], max_bytes: float) -> None:
        lines = "".join(as_json(record) + "\n" for record in records).encode("ascii")
        if sum(map(_size_bytes, (*self.files(), *self.aside()))) + len(lines) > max_bytes:
            raise OSError(f"the spool {str(self._folder)!r} has reached {max_bytes:.0f} bytes")
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with (self._folder / name).open("a+b") as file:
            if file.tell():
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":  # a full disk has cut the last line; it must not spoil the next one
                    file.write(b"\n")
            file.write(lines)

    def _replay_file(self, file: Path, write: Callable[[Sequence[Record]], None]) -> int:
        try:
            stream = file.open("r+b")
        except FileNotFoundError:
            return 0
        with stream:
            if not lock_file(stream.fileno()) or not file.exists():
                return 0
            records, bad = _parsed(stream.read().splitlines())
            if bad:
                log.error("evidencerails: %d spooled lines cannot be read; kept aside", len(bad))
                with file.with_name(file.name + BAD_SUFFIX).open("ab") as aside:
                    aside.write(b"\n".join([*bad, b""]))
            for start in range(0, len(records), BATCH):
                write(records[start : start + BATCH])
            file.unlink(missing_ok=True)
            return len(records)


def _size_bytes(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


def _parsed(lines: Iterable[bytes]) -> tuple[list[Record], list[bytes]]:
    """The records, and the lines that hold none."""
    records: list[Record] = []
    bad: list[bytes] = []
    for line in lines:
        try:
            record = json.loads(line)
            if not isinstance(record["report"]["id"], str) or not isinstance(record["findings"], list):
                raise ValueError
            records.append(record)
        except (ValueError, KeyError, TypeError):
            bad.append(line)
    return records, bad
