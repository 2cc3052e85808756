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
    table = csv.DictWriter(to, [*Summary._fields, "redaction", "sample_rate"])
    if as_ == "csv":
        table.writeheader()
    count = 0
    for kept in reports:
        row = {**kept.summary._asdict(), "created_at": iso(kept.summary.created_at)}
        row |= {"redaction": kept.redaction, "sample_rate": kept.sample_rate}
        if as_ == "csv":
            table.writerow({name: _harmless(value) for name, value in row.items()})
        else:
            to.write(json.dumps({**row, **kept.body}, ensure_ascii=True) + "\n")
        count += 1
    return count


def _harmless(value: Any) -> Any:
    """A spreadsheet takes a cell that begins so as a formula."""
    is_formula = isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r"))
    return f"'{value}" if is_formula else value
