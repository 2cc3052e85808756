"""Blocking work of sources off the event loop, in daemon threads that may be left behind.

`asyncio.to_thread` would not do: `asyncio.run` waits for its threads when it ends, so a function that hangs would hold
the whole program.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from evidencerails.errors import KnowledgeError

T = TypeVar("T")

MAX_THREADS = 64
"""Threads of one source at once, those that hang included."""


class Threads:
    """The threads of one source: one for each look-up under way."""

    def __init__(self) -> None:
        self._free = threading.BoundedSemaphore(MAX_THREADS)

    async def run(self, work: Callable[[], T], *, timeout_s: float) -> T:
        """The result of `work()`, run in a thread.

        Raises:
            KnowledgeError: no result in time, or too many look-ups of this source are under way.
        """
        if not self._free.acquire(blocking=False):
            raise KnowledgeError(f"busy: {MAX_THREADS} look-ups are under way")
        future: Future[T] = Future()
        threading.Thread(target=self._do, args=(work, future), name="evidencerails-knowledge", daemon=True).start()
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), timeout_s)
        except asyncio.TimeoutError:
            raise KnowledgeError(f"timeout: no answer in {timeout_s:.3g} s") from None

    def _do(self, work: Callable[[], T], future: Future[T]) -> None:
        try:
            if future.set_running_or_notify_cancel():
                future.set_result(work())
        except BaseException as error:  # boundary to the user's function or driver: handed to the caller
            is_plain = isinstance(error, Exception) and not isinstance(error, StopIteration)
            future.set_exception(error if is_plain else KnowledgeError(f"failed: {type(error).__name__}"))
        finally:
            self._free.release()
