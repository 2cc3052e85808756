"""Times for people and exports."""

from __future__ import annotations

from datetime import datetime, timezone


def iso(at: float) -> str:
    """Seconds since 1970 in UTC, as in `2026-01-31T12:00:00.000Z`."""
    return datetime.fromtimestamp(at, timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
