"""A clock that does not follow a wall clock that jumps until the jump has lasted."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

log = logging.getLogger("evidencerails")

MAX_DRIFT_S = 2.0
"""Difference of wall and monotonic clock that is taken over at once: what NTP corrects in steps."""
SETTLE_S = 600.0
"""How long a jump must last to be believed: a suspended machine, a clock set right for good."""


class SteadyClock:
    """Seconds since 1970 in UTC. While the wall clock has jumped it goes on by the monotonic one."""

    def __init__(
        self,
        *,
        wall: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
        max_drift_s: float = MAX_DRIFT_S,
        settle_s: float = SETTLE_S,
    ) -> None:
        self._wall, self._monotonic = wall, monotonic
        self._max_drift_s, self._settle_s = max_drift_s, settle_s
        self._wall_base, self._monotonic_base = wall(), monotonic()
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
            wall, monotonic = self._wall(), self._monotonic()
            expected = self._wall_base + (monotonic - self._monotonic_base)
            if abs(wall - expected) <= self._max_drift_s:
                self._follow(wall, monotonic)
                return wall
            if self._jumped_at is None:
                self._jumped_at = monotonic
                log.warning("evidencerails: the clock jumped by %+.0f s; times go on as before", wall - expected)
            if monotonic - self._jumped_at < self._settle_s:
                return expected
            log.warning("evidencerails: the clock stays %+.0f s off; its time is taken over", wall - expected)
            self._follow(wall, monotonic)
            return wall

    def _follow(self, wall: float, monotonic: float) -> None:
        self._wall_base, self._monotonic_base, self._jumped_at = wall, monotonic, None


def iso(at: float) -> str:
    """A time for people and exports, as in `2026-01-31T12:00:00.000Z`."""
    from datetime import datetime, timezone

    return datetime.fromtimestamp(at, timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
