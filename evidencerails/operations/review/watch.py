"""Waits for decisions: one thread asks the database for all turns that are held, however many there are."""

from __future__ import annotations

import asyncio
import logging
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING

from evidencerails.errors import StoreError

if TYPE_CHECKING:
    from evidencerails.operations.review.package import Item
    from evidencerails.operations.review.queue import ReviewQueue

log = logging.getLogger("evidencerails")


class DecisionWatch:
    """Wakes held turns when their reviews are decided.

    Args:
        poll_s: between two queries.
    """

    def __init__(self, queue: ReviewQueue, poll_s: float) -> None:
        self._queue, self._poll_s = queue, poll_s
        self._waiting: dict[str, list[Future[Item]]] = {}
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    async def decided(self, review_id: str, timeout_s: float) -> Item | None:
        """The item once it is decided; None if nobody does in time. A cancelled wait leaves the item in the queue."""
        future = self._add(review_id)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), timeout_s)
        except asyncio.TimeoutError:  # the built-in one only since 3.11
            return None
        finally:
            self._remove(review_id, future)

    def close(self) -> None:
        """Stop asking."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(self._poll_s + 10)

    def _add(self, review_id: str) -> Future[Item]:
        future: Future[Item] = Future()
        with self._lock:
            self._waiting.setdefault(review_id, []).append(future)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="evidencerails-reviews", daemon=True)
                self._thread.start()
        return future

    def _remove(self, review_id: str, future: Future[Item]) -> None:
        with self._lock:
            left = [other for other in self._waiting.get(review_id, ()) if other is not future]
            if left:
                self._waiting[review_id] = left
            else:
                self._waiting.pop(review_id, None)

    def _run(self) -> None:
        while not self._stop.wait(self._poll_s):
            with self._lock:
                if not self._waiting:
                    self._thread = None
                    return
                ids = list(self._waiting)
            try:
                items = self._queue.states(ids)
            except StoreError as error:
                log.error("evidencerails: decisions cannot be read, trying again: %s", error)
                continue
            for item in items.values():
                if item.state != "pending":
                    self._wake(item)

    def _wake(self, item: Item) -> None:
        with self._lock:
            futures = self._waiting.pop(item.id, [])
        for future in futures:
            if future.set_running_or_notify_cancel():
                future.set_result(item)
