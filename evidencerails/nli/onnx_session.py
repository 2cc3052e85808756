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
