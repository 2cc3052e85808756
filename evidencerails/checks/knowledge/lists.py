"""Sources of kind `csv` and `jsonl`: a list in a file, held in memory, read again when the file changes."""

from __future__ import annotations

import csv
import json
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from evidencerails.checks.knowledge.base import Answer, Lookup, plain
from evidencerails.checks.knowledge.records import Records, part_columns
from evidencerails.checks.knowledge.threads import Threads
from evidencerails.errors import SettingsError
from evidencerails.settings.knowledge import SourceSettings

MAX_FILE_BYTES = 200_000_000
"""A longer list belongs into a database."""


class ListSource:
    """A list in a file.

    Raises:
        SettingsError: the file cannot be read, or has no such column or key.
    """

    def __init__(self, name: str, settings: SourceSettings, path: Path) -> None:
        self.name = name
        self.priority = settings.priority
        self.is_complete = settings.is_complete
        self._settings = settings
        self._path = path
        self._threads = Threads()
        self._lock = threading.Lock()
        self._changed_at = 0.0
        self._records = self._read()

    async def lookup(self, lookup: Lookup) -> Answer | None:
        """See `KnowledgeSource.lookup`."""
        if self._path.stat().st_mtime != self._changed_at:
            await self._threads.run(self._read_again, timeout_s=self._settings.timeout_s)
        return self._records.find(lookup)

    async def near(self, lookup: Lookup) -> tuple[str, ...]:
        """See `KnowledgeSource.near`."""
        records = self._records
        return await self._threads.run(lambda: records.near(lookup), timeout_s=self._settings.timeout_s)

    def _read_again(self) -> None:
        with self._lock:
            if self._path.stat().st_mtime != self._changed_at:
                self._records = self._read()

    def _read(self) -> Records:
        read = {"csv": _read_csv, "jsonl": _read_jsonl}[self._settings.kind]
        try:
            changed_at = self._path.stat().st_mtime
            if self._path.stat().st_size > MAX_FILE_BYTES:
                raise SettingsError(f"source {self.name!r}: {str(self._path)!r} is over 200 MB; put it into a database")
            values, rows = read(self._path, self._settings.field, _columns(self._settings))
        except (OSError, UnicodeDecodeError, ValueError, RecursionError, csv.Error) as error:
            if isinstance(error, SettingsError):
                raise
            raise SettingsError(f"source {self.name!r}: cannot read {str(self._path)!r}: {error}") from error
        field = self._settings.field or (next(iter(rows[0]), None) if rows and self._settings.kind == "csv" else None)
        columns = part_columns(self._settings.fields, field)
        records = Records(values, rows, columns, is_named=bool(field or columns))
        self._changed_at = changed_at
        return records


Read = Callable[[Path, "str | None", "tuple[str, ...]"], "tuple[list[str], list[dict[str, Any]]]"]


def _columns(settings: SourceSettings) -> tuple[str, ...]:
    return tuple(dict.fromkeys(settings.fields.values()))


def _read_csv(path: Path, field: str | None, columns: tuple[str, ...]) -> tuple[list[str], list[dict[str, Any]]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file, restkey="", restval="")
        head = tuple(reader.fieldnames or ())
        if not head:
            raise ValueError("no heading line")
        for column in (*columns, *([field] if field else [])):
            if column not in head:
                raise ValueError(f"no column {column!r}; its columns: {', '.join(head)}")
        rows: list[dict[str, Any]] = [{k: v for k, v in row.items() if k} for row in reader]
    key = field or head[0]
    return [row[key].strip() for row in rows], rows


def _read_jsonl(path: Path, field: str | None, columns: tuple[str, ...]) -> tuple[list[str], list[dict[str, Any]]]:
    values: list[str] = []
    rows: list[dict[str, Any]] = []
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            item = json.loads(line)
            values.append(_value_of(item, field, columns, number))
            rows.append(dict(item) if isinstance(item, Mapping) else {"value": item})
    return values, rows


def _value_of(item: Any, field: str | None, columns: tuple[str, ...], number: int) -> str:
    if isinstance(item, Mapping):
        for column in (*columns, *([field] if field else [])):
            if column not in item:
                raise ValueError(f"line {number} has no key {column!r}; its keys: {', '.join(map(str, item))}")
        if field is None and not columns:
            raise ValueError(f"line {number} is a JSON object; name the key of the values with 'field'")
        return plain(item[field]) if field else ""
    if isinstance(item, list):
        raise ValueError(f"line {number} is a JSON list; expected a value or an object")
    return plain(item)
