"""How much at once: a gate for checks at work."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from evidencerails.service.problems import busy

FIRST_GUESS_S = 0.5
"""Duration of a check before one was measured."""
MEMORY = 0.9
"""Weight of the past in the running mean of durations."""


class Gate:
    """Lets `running` checks work at once and `waiting` requests wait; refuses the rest at once. For one event loop."""

    def __init__(self, *, running: int, waiting: int) -> None:
        self._places = asyncio.Semaphore(running)
        self._max_running, self._max_admitted = running, running + waiting
        self._mean_s = FIRST_GUESS_S
        self.admitted = 0
        """Requests inside, waiting or at work."""
        self.running = 0
        """Checks at work."""

    @contextmanager
    def admission(self) -> Iterator[None]:
        """A place for one request, whatever number of checks it brings; 429 if all are taken."""
        if self.admitted >= self._max_admitted:
            left_s = self._mean_s * self.admitted / self._max_running
            raise busy(left_s, "busy", f"{self.admitted} requests are under way")
        self.admitted += 1
        try:
            yield
        finally:
            self.admitted -= 1

    @asynccontextmanager
    async def work(self) -> AsyncIterator[None]:
        """A turn to check, as soon as one is free."""
        async with self._places:
            self.running += 1
            started = time.monotonic()
            try:
                yield
            finally:
                self.running -= 1
                self._mean_s = MEMORY * self._mean_s + (1 - MEMORY) * (time.monotonic() - started)
