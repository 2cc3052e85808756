"""Files record by record: JSON lines, JSON lists, tables. A bad record is counted, with its place.

The project's own files, JSON lines, CSV or Parquet, have `id, prompt?, evidence: [text], response, hallucinated: bool`,
and optionally `sentences: [{text, supported}]`, `samples: [text]`, `spans: [[start, end]]`, `document`, `grade`. In a
CSV cell a list is JSON.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from evidencerails.errors import InputError
from evidencerails.evaluation.rows import GoldSentence, Problems, Row
from evidencerails.operations.batch.rows import FORMATS, jsonl_rows
from evidencerails.operations.batch.rows import Row as TableRow
from evidencerails.operations.batch.rows import rows_of as table_rows

Record = Mapping[str, Any]
Placed = tuple[str, Record]
"""A record and its place, as in `qa_data.json:17`."""
Convert = Callable[[Record, str], "Row | Iterable[Row]"]
"""A record and its number in the file (an id where it has none) to its row or rows; raises where it cannot be read."""


@contextmanager
def opened(file: Path) -> Iterator[IO[bytes]]:
    """The bytes of a file, unpacked if its name ends in `.gz`. `InputError`: while it is read, if it cannot be unpacked
    to its end."""
    with gzip.open(file, "rb") if file.suffix == ".gz" else file.open("rb") as handle:
        try:
            yield handle  # type: ignore[misc]
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise InputError(f"{str(file)!r} is cut short or damaged ({error}); get it again") from None


def json_lines(file: Path, problems: Problems) -> Iterator[Placed]:
    """The objects of a JSON-lines file; bad lines are counted with their number."""
    with opened(file) as lines:
        yield from _readable(file, jsonl_rows(lines), problems)


def _readable(file: Path, rows: Iterable[TableRow], problems: Problems) -> Iterator[Placed]:
    for row in rows:
        place = f"{file.name}:{row.number}"
        if row.problem:
            problems.note("malformed", place, row.problem)
        else:
            yield place, row.fields


def json_list(file: Path, problems: Problems, key: str | None = None) -> Iterator[Placed]:
    """The objects of a JSON file with one list, or a list under `key`. The whole file is read at once. `InputError`:
    the file has something else."""
    with opened(file) as handle:
        try:
            data = json.load(handle)
        except (ValueError, RecursionError) as error:
            raise InputError(f"cannot read {str(file)!r}: {error}; expected a JSON list") from None
    if key is not None and isinstance(data, dict):
        data = data.get(key)
    if not isinstance(data, list):
        raise InputError(f"{str(file)!r} has {type(data).__name__}; expected a list of objects")
    for number, record in enumerate(data, start=1):
        place = f"{file.name}[{number}]"
        if isinstance(record, dict):
            yield place, record
        else:
            problems.note("malformed", place, f"expected an object, got {type(record).__name__}")


def json_records(file: Path, problems: Problems) -> Iterator[Placed]:
    """A JSON list or JSON lines, whichever the file is: publishers call both `.json`."""
    with opened(file) as handle:
        is_list = handle.read(64).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")
    return json_list(file, problems) if is_list else json_lines(file, problems)


def table(file: Path, problems: Problems, delimiter: str, *, quoted: bool = True) -> Iterator[Placed]:
    """The rows of a CSV or TSV file by the names in its first line."""
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))  # documents are longer than Python's 128 kB
    quoting: Any = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    with opened(file) as handle:
        lines = (line.decode("utf-8-sig" if number == 0 else "utf-8", "replace") for number, line in enumerate(handle))
        reader = csv.DictReader(lines, delimiter=delimiter, quoting=quoting)
        for record in reader:
            place = f"{file.name}:{reader.line_num}"
            if None in record or None in record.values():
                problems.note("malformed", place, "another number of columns than the first line")
            else:
                yield place, record


def converted(records: Iterable[Placed], convert: Convert, problems: Problems) -> Iterator[Row]:
    """The rows of all records; a record that lacks something is counted, and the reading goes on."""
    for number, (place, record) in enumerate(records):
        try:
            found = convert(record, str(number))
            rows = [found] if isinstance(found, Row) else list(found)
        except (KeyError, ValueError, TypeError, AttributeError, IndexError) as error:
            problems.note("malformed", place, f"lacks {error}" if isinstance(error, KeyError) else str(error))
            continue
        yield from rows


def text(record: Record, *names: str) -> str:
    """The first of these fields that is there. `KeyError`: none is. `TypeError`: it is not a text."""
    for name in names:
        if name in record:
            if not isinstance(record[name], str):
                raise TypeError(f"{name} must be a text, got {type(record[name]).__name__}")
            return str(record[name])
    raise KeyError(names[0])


def yes(value: Any) -> bool:
    """A judgement as true or false. `ValueError`: it is neither."""
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower()
    if word in ("yes", "true", "1", "1.0"):
        return True
    if word in ("no", "false", "0", "0.0"):
        return False
    raise ValueError(f"a label must be true or false (yes, no, 1, 0), got {value!r}")


def location(response: str, part: str, begin: int = 0) -> tuple[int, int] | None:
    """Where a sentence is in a response, white space aside; None if it is not in there."""
    pattern = r"\s*".join(map(re.escape, part.split()))
    match = re.compile(pattern).search(response, begin) if pattern else None
    return match.span() if match else None


def read_own(files: list[Path], problems: Problems) -> Iterator[Row]:
    for file in files:
        yield from converted(_records(file, problems), row_of, problems)


def _records(file: Path, problems: Problems) -> Iterator[Placed]:
    form = FORMATS.get(file.suffix.lower(), "jsonl")
    if form == "jsonl":
        return json_records(file, problems)
    return _readable(file, table_rows(str(file), form), problems)


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
