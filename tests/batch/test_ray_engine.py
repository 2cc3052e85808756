"""The same job on a local Ray cluster of two workers, one of them killed half-way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ray = pytest.importorskip("ray", reason="ray is not installed: pip install 'groundrails[ray]'")
psutil = pytest.importorskip("psutil", reason="finding the workers needs psutil")

from groundrails.batch.output import lines_of  # noqa: E402

FACT = "Rhenium melts at 3186 degrees Celsius. It was discovered in 1925."
ROWS = 800


def rows() -> list[dict[str, object]]:
    return [
        {"id": f"r{n}", "response": f"Rhenium melts at {3186 if n % 2 else 1200} degrees Celsius.", "evidence": FACT}
        for n in range(ROWS)
    ]


def start(output: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "groundrails", "batch", "in.jsonl", output, "--engine", "ray", "--workers", "2"],
        stderr=subprocess.PIPE,
    )


def workers_of(process: subprocess.Popen[bytes]) -> list[int]:
    """Actors of ours: Ray names the process after the class."""
    return [
        child.pid
        for child in psutil.Process(process.pid).children(recursive=True)
        if "MapWorker" in " ".join(child.cmdline())
    ]


def test_a_killed_worker_costs_time_but_no_row() -> None:
    Path("in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows()) + "{broken\n", encoding="utf-8")
    process = start("out.jsonl")
    deadline = time.monotonic() + 200
    while time.monotonic() < deadline:  # half-way: both workers are there and lines come
        workers = workers_of(process)
        size = Path("out.jsonl").stat().st_size if Path("out.jsonl").exists() else 0
        if len(workers) == 2 and size > 100_000:
            break
        assert process.poll() is None, process.communicate()[1].decode()
        time.sleep(0.1)
    else:
        process.kill()
        pytest.fail(f"never saw two workers at work: {workers}")
    os.kill(workers[0], signal.SIGKILL)
    _, errors = process.communicate(timeout=250)
    assert process.returncode == 3, errors.decode()  # the broken row
    lines = list(lines_of(Path("out.jsonl")))
    assert [line["id"] for line in lines] == [f"r{n}" for n in range(ROWS)]
    assert [line["report"]["status"] for line in lines] == ["hallucinated", "grounded"] * (ROWS // 2)
    assert [line["row"] for line in lines_of(Path("out.rejected.jsonl"))] == [ROWS + 1]
