"""Rows of JSON Lines, CSV and Parquet files, numbered; a row that cannot be read is a row with a reason."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import IO, Any, BinaryIO, Literal, TextIO

from evidencerails.errors import InputError, extra_for

Format = Literal["jsonl", "csv", "parquet"]
FORMATS: Mapping[str, Format] = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".parquet": "parquet", ".pq": "parquet",
}  # fmt: skip
STDIN = "-"
MAX_ROW_BYTES = 16 * 1024 * 1024
"""Of one row. Anything longer is no answer, and one line without an end must not fill the memory."""
PARQUET_ROWS = 256
"""Rows read at once: evidence can be long."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row of the input; `problem` says why it has no fields."""

    number: int
    """Line of a JSON Lines file, record of the others, from 1."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    problem: str = ""
    digest: str = ""
    """Hash of what was read, so that a resumed job notices another input."""


def format_of(name: str, given: str | None = None) -> Format:
    """The format of a file, by its name unless it is given."""
    by_name: Format | None = "jsonl" if name == STDIN else FORMATS.get(Path(name).suffix.lower())
    wanted = by_name if given is None else FORMATS.get(f".{given}")
    if wanted is None:
        raise InputError(f"unknown format of {name!r}; name it *.jsonl, *.csv or *.parquet, or give --format")
    return wanted


def rows_of(name: str, form: Format) -> Iterator[Row]:
    """The rows of a file, or of standard input (`-`), read as they are needed."""
    if form == "parquet":
        yield from _parquet_rows(name)
        return
    with _opened(name) as file:
        if form == "jsonl":
            yield from jsonl_rows(file)
            return
        # Bytes that are no UTF-8 come through as lone surrogates, so that they spoil their own row alone.
        with io.TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape", newline="") as text:
            yield from _csv_rows(text, name)


def row_count(name: str, form: Format) -> int | None:
    """How many rows there are, for the time left; None if only reading would show it."""
    if name == STDIN:
        return None
    if form == "parquet":
        return int(_parquet_file(name).metadata.num_rows)
    if form == "csv":
        return sum(1 for _ in rows_of(name, form))
    with _opened(name) as file:
        return sum(1 for line in file if line.strip())


def _opened(name: str) -> BinaryIO:
    try:
        return sys.stdin.buffer if name == STDIN else Path(name).open("rb")
    except OSError as error:
        raise InputError(
            f"cannot read {name!r}: {error.strerror}; give the path of a file, or - for standard input"
        ) from None


def jsonl_rows(file: IO[bytes]) -> Iterator[Row]:
    """The rows of an open JSON Lines file; blank lines are skipped."""
    for number in count(1):
        line = file.readline(MAX_ROW_BYTES + 1)
        if not line:
            return
        if len(line) > MAX_ROW_BYTES:
            digest = _digest(line)
            while line and not line.endswith(b"\n"):
                line = file.readline(MAX_ROW_BYTES)
            yield Row(number=number, problem=f"longer than {MAX_ROW_BYTES} bytes", digest=digest)
        elif line.strip(b"\xef\xbb\xbf \t\r\n"):
            yield _jsonl_row(number, line)


def _jsonl_row(number: int, line: bytes) -> Row:
    found, problem = None, ""
    try:
        found = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
        if not isinstance(found, dict):
            problem = f"not an object but {type(found).__name__}"
    except UnicodeDecodeError as error:
        problem = f"not UTF-8 (byte {error.start})"
    except (ValueError, RecursionError) as error:
        problem = f"not JSON: {'nested too deep' if isinstance(error, RecursionError) else error}"
    return Row(number=number, fields={} if problem else found or {}, problem=problem, digest=_digest(line.strip()))


def _csv_rows(text: TextIO, name: str) -> Iterator[Row]:
    csv.field_size_limit(MAX_ROW_BYTES)
    reader = csv.reader(text, strict=True)
    try:
        header = next(reader, None)
    except csv.Error as error:
        raise InputError(f"{name!r} is not CSV: {error}") from None
    if not header or "" in header or len(set(header)) < len(header):
        raise InputError(f"{name!r} needs a first line with the names of its columns, each once; got {header!r}")
    for number in count(1):
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield Row(number=number, problem=f"not CSV: {error}", digest=_digest(str(number).encode()))
            continue
        if cells:
            yield _csv_row(number, header, cells)


def _csv_row(number: int, header: list[str], cells: list[str]) -> Row:
    joined = "\x1f".join(cells)
    fields, problem = {}, ""
    if len(cells) != len(header):
        problem = f"{len(cells)} cells under {len(header)} column names"
    elif any("\ud800" <= letter <= "\udfff" for letter in joined):
        problem = "not UTF-8"
    else:
        fields = {name: _cell(name, cell) for name, cell in zip(header, cells, strict=True) if cell != ""}
    digest = _digest(joined.encode("utf-8", "surrogateescape"))
    return Row(number=number, fields=fields, problem=problem, digest=digest)


def _cell(name: str, cell: str) -> Any:
    """A cell, read as JSON where it looks like a list or an object; the answer itself is always text."""
    if name in ("response", "id") or cell.lstrip()[:1] not in ("[", "{"):
        return cell
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        return cell


def _parquet_file(name: str) -> Any:
    with extra_for("reading Parquet"):
        import pyarrow
        import pyarrow.parquet
    if name == STDIN:
        raise InputError("Parquet cannot be read from standard input; give the path of a file")
    try:
        return pyarrow.parquet.ParquetFile(name)
    except (OSError, pyarrow.ArrowException) as error:
        raise InputError(f"cannot read {name!r} as Parquet: {str(error).splitlines()[0]}") from None


def _parquet_rows(name: str) -> Iterator[Row]:
    batches = _parquet_file(name).iter_batches(batch_size=PARQUET_ROWS)
    for number, fields in enumerate((fields for batch in batches for fields in batch.to_pylist()), start=1):
        present = {column: value for column, value in fields.items() if value is not None}
        digest = _digest(json.dumps(present, default=str, sort_keys=True).encode("utf-8", "surrogatepass"))
        yield Row(number=number, fields=present, digest=digest)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
