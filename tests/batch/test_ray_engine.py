"""The same job on a local Ray cluster of two workers, one of them killed half-way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from extras import needs

pytestmark = pytest.mark.slow

psutil = needs("psutil")
needs("ray")

FACT = "Rhenium melts at 3186 degrees Celsius. It was discovered in 1925."
ROWS = 800
START_S = 600
"""Seconds until both workers have written a quarter, at most: a machine may be very busy."""
END_S = 300


def write_rows() -> None:
    rows = [
        {"id": f"r{n}", "response": f"Rhenium melts at {3186 if n % 2 else 1200} degrees Celsius.", "evidence": FACT}
        for n in range(ROWS)
    ]
    Path("in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + "{broken\n", encoding="utf-8")


@contextmanager
def job() -> Iterator[subprocess.Popen[bytes]]:
    """The command at work; whatever it started has ended with the block."""
    command = ["evidencerails", "batch", "in.jsonl", "out.jsonl", "--engine", "ray", "--workers", "2"]
    with (
        Path("errors.txt").open("wb") as errors,
        subprocess.Popen([sys.executable, "-m", *command], stderr=errors) as process,
    ):
        try:
            yield process
        finally:
            for left in (*children_of(process), *([process] if process.poll() is None else [])):
                left.kill()


def children_of(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    try:
        return psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def workers_of(process: subprocess.Popen[bytes]) -> list[int]:
    """Actors of ours: Ray names the process after the class."""
    found = []
    for child in children_of(process):
        try:
            if "MapWorker" in " ".join(child.cmdline()):
                found.append(child.pid)
        except psutil.Error:  # it ended meanwhile
            continue
    return found


def written() -> int:
    return Path("out.jsonl").read_bytes().count(b"\n") if Path("out.jsonl").exists() else 0


def log_text() -> str:
    return Path("errors.txt").read_text(encoding="utf-8")


@pytest.mark.timeout(START_S + END_S + 60)
def test_a_killed_worker_costs_time_but_no_row() -> None:
    write_rows()
    with job() as process:
        deadline = time.monotonic() + START_S
        while (before := written()) < ROWS // 4 or len(workers := workers_of(process)) < 2:
            assert process.poll() is None, log_text()
            assert time.monotonic() < deadline, f"{before} rows after {START_S} s, workers {workers_of(process)}"
            time.sleep(0.1)
        os.kill(workers[0], signal.SIGKILL)
        assert written() < ROWS, "the job had ended before a worker was killed"
        process.wait(END_S)
    assert process.returncode == 3, log_text()  # the broken row
    assert "A worker died or was killed" in log_text()  # Ray prints it to standard output, which is for results
    assert "Warning" not in log_text()
    lines, rejected = (
        [json.loads(line) for line in Path(name).read_text(encoding="ascii").splitlines()]
        for name in ("out.jsonl", "out.rejected.jsonl")
    )
    assert [line["id"] for line in lines] == [f"r{n}" for n in range(ROWS)]
    assert [line["report"]["status"] for line in lines] == ["hallucinated", "grounded"] * (ROWS // 2)
    assert [line["row"] for line in rejected] == [ROWS + 1]
