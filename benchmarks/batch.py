"""Rows a second of `evidencerails batch` in one process.

python benchmarks/batch.py --rows 1000     # writes docs/reference/benchmarks.md, prints JSON; minutes
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tables import publish

FACTS = "Items can be returned within 30 days of delivery. Refunds are paid within 5 business days."


def job(folder: Path) -> dict[str, Any]:
    """One run of the command, as its summary reports it, and its wall time."""
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "evidencerails", "batch", "in.jsonl", "out.jsonl", "--json"],
        cwd=folder, capture_output=True, text=True, check=False, env={**os.environ, "DO_NOT_TRACK": "1"},
    )  # fmt: skip
    if done.returncode != 0:
        raise SystemExit(f"evidencerails batch ended with {done.returncode}:\n{done.stderr[-4000:]}")
    seconds = time.perf_counter() - started
    run = json.loads(done.stdout)["this_run"]
    lines = (folder / "out.jsonl").read_text(encoding="utf-8").count("\n")
    return {"rows": lines, "wall_s": round(seconds, 1), "job_s": run["seconds"], "rows_per_s": run["rows_per_s"]}


def main() -> None:
    """Measure, publish."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = (
            json.dumps({"id": n, "response": f"Refunds are paid within {n} business days.", "evidence": FACTS})
            for n in range(arguments.rows)
        )
        (folder / "in.jsonl").write_text("\n".join(rows), encoding="utf-8")
        found = job(folder)
    table = [["rows", "rows/s", "seconds in total"]]
    table += [[str(found["rows"]), f"{found['rows_per_s']:.1f}", f"{found['wall_s']:.1f}"]]
    publish("batch", table, found)


if __name__ == "__main__":
    main()
