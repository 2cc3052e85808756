"""Rows for tests, in the project's own shape."""

import json
from pathlib import Path
from typing import Any

FACTS = (
    ("The bridge opened in {year}.", "The bridge opened in {other}."),
    ("The mill burned down in {year}.", "The mill burned down in {other}."),
)


def write_rows(file: Path, records: list[dict[str, Any]]) -> Path:
    """A file in the project's own shape."""
    file.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return file


def year_rows(count: int, *, samples: bool = False) -> list[dict[str, Any]]:
    """Answers with a year, every second one wrong; two rows a document."""
    rows = []
    for number in range(count):
        year, wrong = 1700 + number // 2, number % 2 == 1
        true, false = (text.format(year=year, other=year + 150) for text in FACTS[number // 2 % 2])
        row: dict[str, Any] = {"id": f"r{number}", "evidence": [f"{true} It was widened later."], "hallucinated": wrong,
                               "response": false if wrong else true}  # fmt: skip
        if samples:
            row["samples"] = [true, true]
        rows.append(row)
    return rows
