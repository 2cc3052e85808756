"""A clock that does not follow a wall clock that jumps until the jump has lasted."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from datetime import datetime, timezone

log = logging.getLogger("evidencerails")

MAX_DRIFT_S = 2.0
"""Difference of wall and monotonic clock that is taken over at once: what NTP corrects in steps."""
SETTLE_S = 600.0
"""How long a jump must last to be taken over: a suspended machine, a clock that was set right."""


class SteadyClock:
    """Seconds since 1970 in UTC. While the wall clock has jumped it goes on by the monotonic one."""

    def __init__(
        self, *, wall: Callable[[], float] = time.time, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._wall, self._monotonic = wall, monotonic
        self._offset = wall() - monotonic()
        self._jumped_at: float | None = None
        self._lock = threading.Lock()

    @property
    def is_settled(self) -> bool:
        """False while the wall clock is off; nothing is deleted by age then."""
        self.now()
        return self._jumped_at is None

    def now(self) -> float:
        """The time."""
        with self._lock:
            monotonic = self._monotonic()
            offset = self._wall() - monotonic
            jump = offset - self._offset
            if abs(jump) > MAX_DRIFT_S:
                if self._jumped_at is None:
                    self._jumped_at = monotonic
                    log.warning("evidencerails: the clock jumped by %+.0f s; times go on as before", jump)
                if monotonic - self._jumped_at < SETTLE_S:
                    return monotonic + self._offset
                log.warning("evidencerails: the clock stays %+.0f s off; its time is taken over", jump)
            self._offset, self._jumped_at = offset, None
            return monotonic + offset


def iso(at: float) -> str:
    """A time for people and exports, as in `2026-01-31T12:00:00.000Z`."""
    return datetime.fromtimestamp(at, timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
