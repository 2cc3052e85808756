"""Writes reports off the turn: a bounded queue, a thread, and the spool for what the database does not take.

`put` never waits and never raises. What neither takes stays in the queue, the newest reports as many as it holds; a
report that could be kept nowhere is counted in `lost` and logged.
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
from evidencerails.operations.store.spool import Spool

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
    spooled: int = 0
    """Those replayed since then included."""
    replayed: int = 0
    lost: int = 0
    error: str | None = None
    """Why the database is not written now; None if it is."""


class Writer:
    """One thread that writes entries in batches: `write` puts records into the database or raises `StoreError`."""

    def __init__(self, write: Callable[[Sequence[Record]], None], spool: Spool, *, queue_size: int) -> None:
        self._write, self._spool, self._queue_size = write, spool, queue_size
        self._queue: deque[Entry] = deque()
        self._in_hand = 0
        self._work = threading.Condition()
        self._is_closed = False
        self._is_stuck = False
        """Neither database nor spool took the last batch: the queue waits for the next try."""
        self._next_try = 0.0
        self._replay_due = True
        """Something may wait in the spool: from an earlier process at first."""
        self._status = WriterStatus()
        self._thread: threading.Thread | None = None

    def put(self, entry: Entry) -> None:
        """Take a report to be written. Returns at once."""
        with self._work:
            has_place = not self._is_closed and len(self._queue) < self._queue_size
            if has_place:
                self._queue.append(entry)
                if self._thread is None:
                    # A daemon: an app that forgets to close must still end; `Store` flushes at exit.
                    self._thread = threading.Thread(target=self._run, name="evidencerails-store", daemon=True)
                    self._thread.start()
                self._work.notify_all()
        if not has_place:
            self._keep_aside([entry])

    def flush(self, timeout_s: float | None = None) -> bool:
        """Wait until all that was put is written, spooled or lost, or has nowhere to go; false if that took longer."""
        with self._work:
            return self._work.wait_for(lambda: not self._in_hand and (self._is_stuck or not self._queue), timeout_s)

    def close(self, timeout_s: float) -> None:
        """Write what waits, then stop. What does not get written in time is spooled."""
        self.flush(timeout_s)
        with self._work:
            self._is_closed = True
            left, self._queue = list(self._queue), deque()
            self._work.notify_all()
            thread, self._thread = self._thread, None
        if thread is not None:
            thread.join(timeout_s)
        self._keep_aside(left)

    @property
    def status(self) -> WriterStatus:
        """Counts since the start."""
        with self._work:
            return replace(self._status, waiting=len(self._queue) + self._in_hand)

    def _run(self) -> None:
        while True:
            with self._work:
                pause_s = None if self._status.error is None else max(0.05, self._next_try - time.monotonic())
                self._work.wait_for(self._has_work, pause_s)
                if self._is_closed:
                    return
                entries = [self._queue.popleft() for _ in range(min(BATCH, len(self._queue)))]
                self._in_hand, self._is_stuck = len(entries), False
            try:
                if not self._written(entries):
                    self._is_stuck = not self._keep_aside(entries, are_oldest=True)
            except Exception:  # boundary of the thread: it must live as long as the app
                log.exception("evidencerails: the store's writer failed")
                with self._work:
                    self._status.lost += len(entries)
            finally:
                with self._work:
                    self._in_hand = 0
                    self._work.notify_all()

    def _has_work(self) -> bool:
        is_waiting = bool(self._queue) and not self._is_stuck
        return self._is_closed or is_waiting or (self._replay_due and self._status.error is None)

    def _written(self, entries: Sequence[Entry]) -> bool:
        """Put entries into the database, after what is in the spool; false if it does not take them now."""
        status = self._status
        if time.monotonic() < self._next_try:
            return False
        try:
            self._replay()
            if entries:
                self._write([record_of(entry) for entry in entries])
        except StoreError as error:
            if status.error is None:
                log.error("evidencerails: reports are spooled until the store works again: %s", error)
            status.error, self._replay_due = str(error), True
            self._next_try = time.monotonic() + RETRY_S
            return False
        if status.error is not None:
            log.warning("evidencerails: the store works again")
        status.error, self._next_try = None, 0.0
        status.written += len(entries)
        return True

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
            self._status.replayed += count
            log.warning("evidencerails: %d spooled reports are in the store now", count)

    def _keep_aside(self, entries: Sequence[Entry], *, are_oldest: bool = False) -> bool:
        """Spool entries; false if the spool does not take them: they stay in the queue then, as many as it holds."""
        lost, reason = 0, ""
        try:
            if entries:
                self._spool.append([record_of(entry) for entry in entries])
        except OSError as error:
            reason = error.strerror or str(error)
        with self._work:
            if reason:
                held = [*entries, *self._queue] if are_oldest else [*self._queue, *entries]
                lost = max(0, len(held) - (0 if self._is_closed else self._queue_size))
                self._queue = deque(held[lost:])
                self._status.lost += lost
            elif entries:
                self._status.spooled += len(entries)
                self._replay_due = True
                self._work.notify_all()
        if lost:
            log.error("evidencerails: %d reports are lost: neither store nor spool takes them: %s", lost, reason)
        return not reason
