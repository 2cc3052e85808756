"""The project's own files, JSON lines, CSV or Parquet: `id, prompt?, evidence: [text], response,
hallucinated: bool`, and optionally `sentences: [{text, supported | inaccuracy}]`, `samples: [text]`,
`spans: [[start, end]]`, `document`. In a CSV cell a list is JSON.

A row of questions with `correct` and `incorrect` answers (texts joined by `; `) becomes one row an answer.
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
    """The rows of files in the project's own shape."""
    for file in files:
        yield from converted(_records(file, problems), rows_of, problems)


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


def rows_of(record: Record, number: str) -> Row | list[Row]:
    """The rows of one record.

    Raises:
        KeyError, TypeError, ValueError: a field is missing or has another shape.
    """
    if "response" not in record and "correct" in record and "incorrect" in record:
        return _answers(record, number)
    sentences = tuple(_sentence(item) for item in record.get("sentences") or ())
    return Row(
        id=str(record.get("id", number)),
        response=text(record, "response"),
        hallucinated=_label(record, sentences),
        evidence=_texts(record, "evidence"),
        prompt=str(record.get("prompt") or ""),
        samples=_texts(record, "samples"),
        document=str(record.get("document") or ""),
        sentences=sentences,
        spans=_spans(record),
        grade=_grade(record),
    )


def _label(record: Record, sentences: tuple[GoldSentence, ...]) -> bool | None:
    """The response's own label, or whether any sentence is hallucinated."""
    if record.get("hallucinated") is not None:
        return yes(record["hallucinated"])
    judged = [sentence.hallucinated for sentence in sentences if sentence.hallucinated is not None]
    return any(judged) if judged else None


def _sentence(item: Any) -> GoldSentence:
    if "inaccuracy" in item:
        return GoldSentence(text(item, "text"), float(item["inaccuracy"]) > 0)
    supported = item.get("supported")
    return GoldSentence(text(item, "text"), None if supported is None else not yes(supported))


def _texts(record: Record, name: str) -> tuple[str, ...]:
    value = record.get(name) or ()
    items = (value,) if isinstance(value, str) else tuple(value)
    if not all(isinstance(item, str) for item in items):
        raise TypeError(f"{name} must be a list of texts")
    return items


def _spans(record: Record) -> tuple[tuple[int, int], ...] | None:
    if record.get("spans") is None:
        return None
    pairs = [tuple(span) for span in record["spans"]]
    length = len(record["response"])
    for pair in pairs:
        if len(pair) != 2 or not all(isinstance(end, int) for end in pair) or not 0 <= pair[0] < pair[1] <= length:
            raise ValueError(f"span {pair!r} is not within the response of {length} characters")
    return tuple((pair[0], pair[1]) for pair in pairs)


def _grade(record: Record) -> float | None:
    if record.get("grade") is not None:
        return float(record["grade"])
    if record.get("consistency") is not None:
        return -float(record["consistency"])
    inaccuracies = [s["inaccuracy"] for s in record.get("sentences") or () if "inaccuracy" in s]
    return sum(map(float, inaccuracies)) / len(inaccuracies) if inaccuracies else None


def _answers(record: Record, number: str) -> list[Row]:
    identity, question = str(record.get("id", number)), text(record, "prompt")
    return [
        Row(
            id=f"{identity}-{field[0]}{place}",
            response=answer,
            hallucinated=field == "incorrect",
            evidence=_texts(record, "evidence"),
            prompt=question,
        )
        for field in ("correct", "incorrect")
        for place, answer in enumerate(filter(None, map(str.strip, text(record, field).split(";"))))
    ]
