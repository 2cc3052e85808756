"""Reports out of the store: JSON lines with everything, or CSV with the columns."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from typing import Any, Literal, TextIO

from evidencerails.operations.store.clock import iso
from evidencerails.operations.store.queries import Kept, Summary

Format = Literal["jsonl", "csv"]


def export(reports: Iterable[Kept], to: TextIO, as_: Format) -> int:
    """Write reports to a stream. Returns how many."""
    return _as_json_lines(reports, to) if as_ == "jsonl" else _as_csv(reports, to)


def plain_summary(summary: Summary) -> dict[str, Any]:
    """One row of the history as JSON-ready data, with a time for people."""
    return {**summary._asdict(), "created_at": iso(summary.created_at)}


def _as_json_lines(reports: Iterable[Kept], to: TextIO) -> int:
    count = 0
    for kept in reports:
        line = {
            **plain_summary(kept.summary),
            "redaction": kept.redaction,
            "sample_rate": kept.sample_rate,
            **kept.body,
        }
        to.write(json.dumps(line, ensure_ascii=True) + "\n")
        count += 1
    return count


def _as_csv(reports: Iterable[Kept], to: TextIO) -> int:
    writer = csv.DictWriter(to, [*Summary._fields, "redaction", "sample_rate"])
    writer.writeheader()
    count = 0
    for kept in reports:
        row = {**plain_summary(kept.summary), "redaction": kept.redaction, "sample_rate": kept.sample_rate}
        writer.writerow({name: _harmless(value) for name, value in row.items()})
        count += 1
    return count


def _harmless(value: Any) -> Any:
    """A spreadsheet takes a cell that begins so as a formula."""
    is_formula = isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r"))
    return f"'{value}" if is_formula else value
