"""Shared by the benchmarks: the machine's name, JSON on standard output, the table in the documentation."""

from __future__ import annotations

import datetime
import json
import os
import platform
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGES = [DOCS / name for name in ("benchmarks.md", "reference/benchmarks.md", "reference/audit.md")]

COLOURS = {"--dim": "#5c6773", "--text": "#30363d", "--line": "#8a94a3", "--c0": "#0b57b0", "--c1": "#b3480b"}
"""A picture has no style sheet."""


def machine() -> dict[str, Any]:
    """Processor, its usable cores, Python, and the load of the machine at this moment."""
    model = next((line.partition(":")[2].strip() for line in _cpuinfo() if line.startswith("model name")), "")
    return {
        "processor": model or platform.processor() or platform.machine(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 1),
        "date": datetime.date.today().isoformat(),
    }


def _cpuinfo() -> list[str]:
    file = Path("/proc/cpuinfo")
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


def publish(name: str, rows: Sequence[Sequence[str]], data: dict[str, Any]) -> None:
    """Print the figures as JSON and write the table between the markers `name` of the page that has them.

    `rows` begins with the heading.
    """
    where = machine()
    print(json.dumps({"machine": where, **data}, indent=2))
    heading, *body = ["| " + " | ".join(row) + " |" for row in rows]
    rule = "|" + "---|" * len(rows[0])
    origin = "{processor}, {cores} cores, Python {python}, load {load}, {date}.".format(**where)
    part = "\n".join([origin, "", heading, rule, *body])
    marked = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        page.write_text(marked.sub(lambda match: f"{match[1]}{part}\n{match[2]}", text), encoding="utf-8")


def save_picture(picture: str, path: Path) -> None:
    """Write a chart of `text.vega` as a file."""
    for name, colour in COLOURS.items():
        picture = picture.replace(f"var({name})", colour)
    path.write_text(picture + "\n", encoding="utf-8")
