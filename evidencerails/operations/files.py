"""Locks on files that several processes may write."""

from __future__ import annotations


def lock_file(descriptor: int) -> bool:
    """Take an open file for this process, until it is closed; false if another holds it. Always true on Windows."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
