"""The store of reports: what service, monitor and command line open. Reports are written off the turn, by a thread.

`put` never waits and never raises. What the database does not take waits in a bounded queue, the newest reports as many
as it holds; a report that could be kept nowhere is counted in `lost` and logged.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import random
import threading
import time
import uuid
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from evidencerails.errors import StoreError, extra_for
from evidencerails.exchange import Exchange
from evidencerails.operations.store.records import Entry, Record, record_of
from evidencerails.report import Redaction, Report
from evidencerails.settings.operations import StoreSettings

if TYPE_CHECKING:
    from sqlalchemy import Engine

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


DAY_S = 86_400.0
PURGE_EVERY_S = 3600.0
_OPEN: weakref.WeakSet[Store] = weakref.WeakSet()


class Store:
    """Keeps reports in a database, off the turn.

    Making one opens nothing: the database may be away when a service starts, and reports wait in memory then.
    `redaction` is what is kept of texts where the settings do not say; `now` gives seconds since 1970.
    """

    def __init__(
        self,
        settings: StoreSettings | None = None,
        *,
        redaction: Redaction = "off",
        now: Callable[[], float] = time.time,
    ) -> None:
        with extra_for("the store"):
            from evidencerails.operations.store.engine import sqlite_file
        self.settings = settings or StoreSettings()
        self._address = self.settings.address
        self.file = sqlite_file(self._address)
        self.redaction: Redaction = self.settings.redaction or redaction
        self.now = now
        self._engine: Engine | None = None
        self._lock = threading.Lock()
        self._opened: tuple[int, int] | None = None
        self._writer = Writer(self._write, queue_size=self.settings.queue_size)
        self._purged_at = time.monotonic()
        _OPEN.add(self)

    @property
    def engine(self) -> Engine:
        """The open database, with its tables up to date; else a `StoreError`."""
        with self._lock:
            if self._engine is None:
                from evidencerails.operations.store.engine import open_engine

                self._engine = open_engine(self._address, lock_timeout_s=self.settings.lock_timeout_s)
                self._opened = _identity(self.file)
            return self._engine

    def put(
        self, report: Report, exchange: Exchange, *, sample_rate: float | None = None, sampling_rate: float = 1.0
    ) -> str | None:
        """Keep a report, unless it is not in the sample. Returns at once, with the report's id or None; never raises.

        Of such reports the share `sample_rate` is kept (unset: that of the settings for its stakes), and the share
        `sampling_rate` was checked at all; a kept one stands for 1 / (both).
        """
        rate = float(getattr(self.settings.sample, report.stakes)) if sample_rate is None else sample_rate
        if report.review is not None:
            rate = 1.0  # a person looks at it: what it was must be found
        if rate < 1.0 and random.random() >= rate:
            return None
        if not report.id:
            report = report.model_copy(update={"id": new_id()})
        entry = Entry(
            report=report,
            exchange=exchange,
            created_at=self.now(),
            sample_rate=rate * sampling_rate,
            redaction=self.redaction,
        )
        self._writer.put(entry)
        return report.id

    def _write(self, records: Sequence[Record]) -> None:
        """Put records into the database, and once an hour delete what is too old; in the writer's thread."""
        from evidencerails.operations.store.queries import insert_records

        if self._engine is not None and self.file is not None and _identity(self.file) != self._opened:
            # A file that was deleted or replaced is still written by those that hold it open, to no avail.
            log.error("evidencerails: the store's file %s was replaced or deleted; it is opened again", self.file)
            self._let_go()
        try:
            insert_records(self.engine, records)
        except StoreError as error:
            if error.retryable:
                self._let_go()  # it may come back empty, and then needs its tables
            raise
        if time.monotonic() - self._purged_at >= PURGE_EVERY_S:
            self._purged_at = time.monotonic()
            try:
                self.purge()
            except StoreError as error:
                log.warning("evidencerails: retention is put off: %s", error)

    def purge(self, *, force: bool = False) -> int:
        """Delete what is older than `keep_days`; how many reports went. It refuses if no report would be left, unless
        `force` is set."""
        from evidencerails.operations.store.queries import delete_reports_before

        if self.settings.keep_days is None:
            return 0
        before = self.now() - self.settings.keep_days * DAY_S
        return delete_reports_before(self.engine, before, force=force)

    def flush(self, timeout_s: float | None = None) -> bool:
        """Wait until all that was put is written, or the database does not take it; false if that took longer."""
        return self._writer.flush(timeout_s)

    @property
    def status(self) -> WriterStatus:
        return self._writer.status

    def close(self, timeout_s: float = 10.0) -> None:
        """Write what waits, and let go of the database; what is not written in time is lost, counted and logged."""
        _OPEN.discard(self)
        self._writer.close(timeout_s)
        self._let_go()

    def _let_go(self) -> None:
        with self._lock:
            if self._engine is not None:
                self._engine.dispose()
                self._engine = None

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def new_id() -> str:
    return uuid.uuid4().hex


def _identity(file: Path | None) -> tuple[int, int] | None:
    try:
        found = file.stat() if file is not None else None
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if found is not None else None


@atexit.register
def _close_all() -> None:
    for store in list(_OPEN):
        with contextlib.suppress(StoreError):
            store.close()
