"""Writes reports off the turn: a bounded queue, a thread, and the spool for what the database does not take.

`put` never waits and never raises. A report that could be kept nowhere is counted in `lost` and logged.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from evidencerails.errors import StoreError
from evidencerails.operations.store.records import Entry, Record, record_of
from evidencerails.operations.store.spool import Spool

log = logging.getLogger("evidencerails")

BATCH = 100
CLOSE_TIMEOUT_S = 10.0


class WriterStatus(NamedTuple):
    """What the writer has done and what is still open."""

    waiting: int
    """In memory."""
    written: int
    spooled: int
    """Records that went to the spool since the start; those replayed since then included."""
    replayed: int
    lost: int
    error: str | None
    """Why the database is not written now; None if it is."""


class Writer:
    """One thread that writes entries in batches.

    Args:
        write: puts records into the database; raises `StoreError`.
        retry_s: between tries once it has failed.
    """

    def __init__(
        self, write: Callable[[Sequence[Record]], None], spool: Spool, *, queue_size: int, retry_s: float
    ) -> None:
        self._write, self._spool = write, spool
        self._queue_size, self._retry_s = queue_size, retry_s
        self._queue: deque[Entry] = deque()
        self._work = threading.Condition()
        self._in_hand = 0
        self._is_closed = False
        self._next_try = 0.0
        self._replay_due = True
        """Something may wait in the spool: from an earlier process at first."""
        self._pending: list[Record] = []
        """Neither written nor spooled: both are broken. Tried again with the next batch."""
        self._status = WriterStatus(0, 0, 0, 0, 0, None)
        self._thread: threading.Thread | None = None

    def put(self, entry: Entry) -> None:
        """Take a report to be written. Returns at once."""
        with self._work:
            fits = not self._is_closed and len(self._queue) < self._queue_size
            if fits:
                self._queue.append(entry)
                if self._thread is None:
                    # A daemon: an app that forgets to close must still end; `Store` flushes at exit.
                    self._thread = threading.Thread(target=self._run, name="evidencerails-store", daemon=True)
                    self._thread.start()
                self._work.notify()
        if not fits:
            self._keep_aside([record_of(entry)])

    def flush(self, timeout_s: float | None = None) -> bool:
        """Wait until all that was put is written, spooled or lost; false if that took longer."""
        with self._work:
            return self._work.wait_for(lambda: not self._queue and not self._in_hand, timeout_s)

    def close(self, timeout_s: float = CLOSE_TIMEOUT_S) -> None:
        """Write what waits, then stop. What does not get written in time is spooled."""
        self.flush(timeout_s)
        with self._work:
            self._is_closed = True
            left = list(self._queue)
            self._queue.clear()
            self._work.notify_all()
            thread, self._thread = self._thread, None
        if thread is not None:
            thread.join(timeout_s)
        records, self._pending = [*self._pending, *map(record_of, left)], []
        self._keep_aside(records, last_chance=True)

    @property
    def status(self) -> WriterStatus:
        """Counts since the start."""
        with self._work:
            return self._status._replace(waiting=len(self._queue) + self._in_hand + len(self._pending))

    def _count(self, *, written: int = 0, spooled: int = 0, replayed: int = 0, lost: int = 0) -> None:
        with self._work:
            now = self._status
            self._status = now._replace(
                written=now.written + written,
                spooled=now.spooled + spooled,
                replayed=now.replayed + replayed,
                lost=now.lost + lost,
            )

    def _set_error(self, error: str | None) -> None:
        with self._work:
            self._status = self._status._replace(error=error)

    def _run(self) -> None:
        while True:
            with self._work:
                self._work.wait_for(self._has_work, self._pause_s())
                if self._is_closed:
                    return
                entries = [self._queue.popleft() for _ in range(min(BATCH, len(self._queue)))]
                self._in_hand = len(entries)
            try:
                self._handle(entries)
            except Exception:  # boundary of the thread: it must live as long as the app
                log.exception("evidencerails: the store's writer failed")
                self._count(lost=len(entries))
            finally:
                with self._work:
                    self._in_hand = 0
                    self._work.notify_all()

    def _pause_s(self) -> float | None:
        """How long the thread may sleep: for ever when nothing is open."""
        is_clean = self._status.error is None and not self._pending
        return None if is_clean else max(0.05, self._next_try - time.monotonic())

    def _has_work(self) -> bool:
        return bool(self._queue) or self._is_closed or (self._replay_due and self._status.error is None)

    def _handle(self, entries: Sequence[Entry]) -> None:
        records, self._pending = [*self._pending, *map(record_of, entries)], []
        if time.monotonic() < self._next_try:
            self._keep_aside(records)
            return
        try:
            self._replay()
            if records:
                self._write(records)
                self._count(written=len(records))
        except StoreError as error:
            if self._status.error is None:
                log.error("evidencerails: reports are spooled until the store works again: %s", error)
            self._set_error(str(error))
            self._replay_due = True
            self._next_try = time.monotonic() + self._retry_s
            self._keep_aside(records)
        else:
            if self._status.error is not None:
                log.warning("evidencerails: the store works again")
            self._set_error(None)
            self._next_try = 0.0

    def _replay(self) -> None:
        if not self._replay_due:
            return
        self._replay_due = False  # before it begins: what comes to the spool meanwhile is for the next time
        try:
            count = self._spool.replay(self._write)
        except OSError as error:
            log.error("evidencerails: the spool cannot be replayed: %s", error.strerror)
            return
        if count:
            self._count(replayed=count)
            log.warning("evidencerails: %d spooled reports are in the store now", count)

    def _keep_aside(self, records: Sequence[Record], *, last_chance: bool = False) -> None:
        """Spool records; those that the spool does not take stay in memory, the newest as many as the queue holds."""
        if not records:
            return
        try:
            self._spool.append(records)
        except OSError as error:
            with self._work:
                room = 0 if last_chance or self._is_closed else self._queue_size
                held = [*self._pending, *records]
                lost = max(0, len(held) - room)
                self._pending = held[lost:]
            if lost:
                self._count(lost=lost)
                reason = error.strerror or str(error)
                log.error("evidencerails: %d reports are lost: neither store nor spool takes them: %s", lost, reason)
        else:
            self._count(spooled=len(records))
            with self._work:
                self._replay_due = True
                self._work.notify_all()
