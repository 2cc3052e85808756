"""Writes reports off the turn: a bounded queue and a thread.

`put` never waits and never raises. What the database does not take waits in the queue, the newest reports as many as it
holds; a report that could be kept nowhere is counted in `lost` and logged.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from evidencerails.errors import StoreError
from evidencerails.operations.store.records import Entry, Record, record_of

log = logging.getLogger("evidencerails")

BATCH = 100
RETRY_S = 5.0
"""Between tries to write again once the database has failed."""


@dataclass
class WriterStatus:
    """What the writer has done since the start, and what is still open."""

    waiting: int = 0
    """In memory."""
    written: int = 0
    lost: int = 0
    error: str | None = None
    """Why the database is not written now; None if it is."""


class Writer:
    """One thread that writes entries in batches: `write` puts records into the database or raises `StoreError`."""

    def __init__(self, write: Callable[[Sequence[Record]], None], *, queue_size: int) -> None:
        self._write, self._queue_size = write, queue_size
        self._queue: deque[Entry] = deque()
        self._in_hand = 0
        self._work = threading.Condition()
        self._is_closed = False
        self._next_try = 0.0
        self._status = WriterStatus()
        self._thread: threading.Thread | None = None

    def put(self, entry: Entry) -> None:
        """Take a report to be written. Returns at once."""
        with self._work:
            self._queue.append(entry)
            self._trim("the queue is full")
            if self._thread is None and not self._is_closed:
                # A daemon: an app that forgets to close must still end; `Store` flushes at exit.
                self._thread = threading.Thread(target=self._run, name="evidencerails-store", daemon=True)
                self._thread.start()
            self._work.notify_all()

    def flush(self, timeout_s: float | None = None) -> bool:
        """Wait until all that was put is written, or the database does not take it now; false if that took longer."""
        with self._work:
            settled = lambda: not self._in_hand and (self._status.error is not None or not self._queue)  # noqa: E731
            return self._work.wait_for(settled, timeout_s)

    def close(self, timeout_s: float) -> None:
        """Write what waits, then stop. What does not get written in time is lost."""
        self.flush(timeout_s)
        with self._work:
            self._is_closed = True
            self._work.notify_all()
            thread, self._thread = self._thread, None
        if thread is not None:
            thread.join(timeout_s)
        with self._work:
            self._trim("the process ends")

    @property
    def status(self) -> WriterStatus:
        with self._work:
            return replace(self._status, waiting=len(self._queue) + self._in_hand)

    def _trim(self, reason: str) -> None:
        """Let go of the oldest reports that the queue has no place for."""
        lost = len(self._queue) - (0 if self._is_closed else self._queue_size)
        if lost > 0:
            self._queue = deque(list(self._queue)[lost:])
            self._status.lost += lost
            log.error("evidencerails: %d reports are lost: %s", lost, self._status.error or reason)

    def _run(self) -> None:
        while True:
            with self._work:
                pause_s = None if self._status.error is None else max(0.0, self._next_try - time.monotonic())
                self._work.wait_for(lambda: self._is_closed or self._may_write(), pause_s)
                if self._is_closed:
                    return
                if not self._may_write():
                    continue
                entries = [self._queue.popleft() for _ in range(min(BATCH, len(self._queue)))]
                self._in_hand = len(entries)
            error: str | None = None
            left: Sequence[Entry] = entries
            try:
                left = self._refused(entries)
            except StoreError as failure:
                error = str(failure)
            except Exception:  # boundary of the thread: it must live as long as the app
                log.exception("evidencerails: the store's writer failed")
            self._note(entries, left, error)

    def _may_write(self) -> bool:
        return bool(self._queue) and time.monotonic() >= self._next_try

    def _refused(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Write; the entries that the database refuses for what is in them. `StoreError`: it takes nothing now."""
        try:
            self._write([record_of(entry) for entry in entries])
        except StoreError as error:
            if error.retryable:
                raise
            if len(entries) > 1:
                return [refused for entry in entries for refused in self._refused([entry])]
            log.error("evidencerails: a report was refused: %s", error)
            return entries
        return ()

    def _note(self, entries: Sequence[Entry], left: Sequence[Entry], error: str | None) -> None:
        """Count what was written; put what waits for another try back to its place."""
        status = self._status
        with self._work:
            if error is None:
                if status.error is not None:
                    log.warning("evidencerails: the store works again")
                status.written += len(entries) - len(left)
                status.lost += len(left)
                self._next_try = 0.0
            else:
                if status.error is None:
                    log.error("evidencerails: reports wait in memory until the store works again: %s", error)
                self._queue.extendleft(reversed(entries))
                self._next_try = time.monotonic() + RETRY_S
            status.error, self._in_hand = error, 0
            self._trim("the queue is full")
            self._work.notify_all()
