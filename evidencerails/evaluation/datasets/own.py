"""The project's own files, JSON lines, CSV or Parquet: `id, prompt?, evidence: [text], response,
hallucinated: bool`, and optionally `sentences: [{text, supported}]`, `samples: [text]`, `spans: [[start, end]]`,
`document`, `grade`. In a CSV cell a list is JSON.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evidencerails.evaluation.datasets.reading import Placed, Record, converted, json_records, text, yes
from evidencerails.evaluation.rows import GoldSentence, Problems, Row
from evidencerails.operations.batch.rows import FORMATS
from evidencerails.operations.batch.rows import rows_of as table_rows


def read_own(files: list[Path], problems: Problems) -> Iterator[Row]:
    for file in files:
        yield from converted(_records(file, problems), row_of, problems)


def _records(file: Path, problems: Problems) -> Iterator[Placed]:
    form = FORMATS.get(file.suffix.lower(), "jsonl")
    if form == "jsonl":
        yield from json_records(file, problems)
        return
    for row in table_rows(str(file), form):
        place = f"{file.name}:{row.number}"
        if row.problem:
            problems.note("malformed", place, row.problem)
        else:
            yield place, row.fields


def row_of(record: Record, number: str) -> Row:
    """The row of one record. `KeyError`, `TypeError`, `ValueError`: a field is missing or has another shape."""
    sentences = tuple(_sentence(item) for item in record.get("sentences") or ())
    judged = [sentence.hallucinated for sentence in sentences if sentence.hallucinated is not None]
    label = record.get("hallucinated")
    row = Row(
        id=str(record.get("id", number)),
        response=text(record, "response"),
        hallucinated=yes(label) if label is not None else any(judged) if judged else None,
        evidence=_texts(record, "evidence"),
        prompt=str(record.get("prompt") or ""),
        samples=_texts(record, "samples"),
        document=str(record.get("document") or ""),
        sentences=sentences,
        spans=None if record.get("spans") is None else tuple((span[0], span[1]) for span in record["spans"]),
        grade=None if record.get("grade") is None else float(record["grade"]),
    )
    for span in record.get("spans") or ():
        ends = [end for end in span if isinstance(end, int)]
        if len(span) != 2 or len(ends) != 2 or not 0 <= ends[0] < ends[1] <= len(row.response):
            raise ValueError(f"span {span!r} is not within the response of {len(row.response)} characters")
    return row


def _sentence(item: Any) -> GoldSentence:
    supported = item.get("supported")
    return GoldSentence(text(item, "text"), None if supported is None else not yes(supported))


def _texts(record: Record, name: str) -> tuple[str, ...]:
    value = record.get(name) or ()
    items = (value,) if isinstance(value, str) else tuple(value)
    if not all(isinstance(item, str) for item in items):
        raise TypeError(f"{name} must be a list of texts")
    return items
