"""onnxruntime sessions as evidencerails opens them: quiet, on the processor, and harmless after a fork."""

from __future__ import annotations

import ctypes
import os
import weakref
from pathlib import Path
from typing import Any

_open_sessions: weakref.WeakSet[Any] = weakref.WeakSet()


def open_session(model: Path | bytes, threads: int = 1) -> Any:
    """An `onnxruntime.InferenceSession` for a file or its content.

    One thread is best where whole batches can run side by side: threads inside one batch wait for each other at each
    node, and cost half the throughput on a busy machine.

    Raises:
        Exception: whatever onnxruntime raises; its errors have no common base of their own.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # What onnxruntime would fuse beyond this is slower than its parts: see training/graph.py.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.enable_mem_pattern = False  # shapes differ from batch to batch
    # Waiting threads would take the processor from the event loop and from other processes.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # Without VNNI the 8-bit products overflow 16 bits; onnxruntime heeds this only on such processors.
    options.add_session_config_entry("session.x64quantprecision", "1")
    content = model if isinstance(model, bytes) else str(model)
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    _open_sessions.add(session)
    return session


def _keep_for_ever() -> None:
    """In a forked child: a session's end waits for its threads, which only the parent has, so it must never come."""
    for session in list(_open_sessions):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(session))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_keep_for_ever)


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
