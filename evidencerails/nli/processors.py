"""How many threads a model may sensibly use."""

from __future__ import annotations

import os
from pathlib import Path

MAX_THREADS = 8
"""Batches are small: more threads would wait for each other."""
_CGROUP_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def usable_processors(quota_file: Path = _CGROUP_QUOTA) -> int:
    """Processors this process may run on (affinity and the container's CPU limit), from 1 to `MAX_THREADS`."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(allowed, _quota(quota_file) or allowed, MAX_THREADS))


def _quota(quota_file: Path) -> int | None:
    """Whole processors of a cgroup limit such as `150000 100000`; None without a limit."""
    try:
        quota, period = quota_file.read_text(encoding="ascii").split()
        return max(1, int(quota) // int(period))
    except (OSError, ValueError):  # no cgroup, or `max`
        return None
