"""Blocking work of sources off the event loop, in threads that may be left behind.

`asyncio.to_thread` would not do: `asyncio.run` waits for its threads when it ends, so a function that hangs would hold
the whole program. These threads are daemons; while all of a source's threads hang, its look-ups time out.
"""

from __future__ import annotations

import asyncio
import os
import queue
import threading
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from evidencerails.errors import KnowledgeError

T = TypeVar("T")

MAX_THREADS = 8
"""Threads of one source at once, those that hang included."""
IDLE_S = 5.0
"""An idle thread ends after so long; the next look-up starts another."""


class _Job(NamedTuple):
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    work: Callable[[], Any]


class Threads:
    """The threads of one source. Made lazily, anew in a forked process."""

    def __init__(self, limit: int = MAX_THREADS) -> None:
        self._limit = limit
        self._reset()

    def _reset(self) -> None:
        self._jobs: queue.Queue[_Job] = queue.Queue()
        self._lock = threading.Lock()
        self._count = 0
        self._idle = 0
        self._pid = os.getpid()

    async def run(self, work: Callable[[], T], *, timeout_s: float) -> T:
        """The result of `work()`, run in one of the threads.

        Raises:
            KnowledgeError: no result in time.
        """
        if self._pid != os.getpid():
            self._reset()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._jobs.put(_Job(loop, future, work))
        with self._lock:
            if self._idle == 0 and self._count < self._limit:
                self._count += 1
                threading.Thread(target=self._serve, name="evidencerails-knowledge", daemon=True).start()
        try:
            return await asyncio.wait_for(future, timeout_s)
        except asyncio.TimeoutError:
            raise KnowledgeError(f"timeout: no answer in {timeout_s:.3g} s") from None

    def _serve(self) -> None:
        while True:
            with self._lock:
                self._idle += 1
            try:
                job = self._jobs.get(timeout=IDLE_S)
            except queue.Empty:
                with self._lock:
                    self._idle -= 1
                    if self._jobs.empty():  # a job that came in between is taken in the next round
                        self._count -= 1
                        return
                continue
            with self._lock:
                self._idle -= 1
            _do(job)


def _do(job: _Job) -> None:
    if job.future.cancelled():  # its caller waits no more
        return
    result, error = None, None
    try:
        result = job.work()
    except BaseException as caught:  # boundary to the user's function or driver: handed to the caller
        error = caught
    try:
        job.loop.call_soon_threadsafe(_settle, job.future, result, error)
    except RuntimeError:  # the loop has ended: nobody waits any more
        return


def _settle(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    elif isinstance(error, Exception) and not isinstance(error, StopIteration):
        future.set_exception(error)
    else:
        future.set_exception(KnowledgeError(f"failed: {type(error).__name__}"))
