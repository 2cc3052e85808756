"""Sources of kind `csv` and `jsonl`: a list in a file, held in memory, read again when the file changes."""

from __future__ import annotations

import csv
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evidencerails.checks.knowledge.base import (
    MAX_COMPARED,
    MAX_NEAR,
    MIN_NEARNESS,
    Answer,
    Lookup,
    SettingsSource,
    folded,
    known_parts,
    nearest_of,
    part_fits,
    plain,
    shown,
)
from evidencerails.errors import SettingsError
from evidencerails.settings.knowledge import SourceSettings

MAX_FILE_BYTES = 200_000_000
"""A longer list belongs into a database."""


class ListSource(SettingsSource):
    """A list in a file.

    Raises:
        SettingsError: the file cannot be read, or has no such column or key.
    """

    def __init__(self, name: str, settings: SourceSettings, path: Path) -> None:
        super().__init__(name, settings)
        self._path = path
        self._lock = threading.Lock()
        self._changed_at = 0.0
        self._records = self._read()

    async def lookup(self, lookup: Lookup) -> Answer | None:
        """See `KnowledgeSource.lookup`."""
        if self._path.stat().st_mtime != self._changed_at:
            await self._in_thread(self._read_again)
        return self._records.find(lookup)

    async def near(self, lookup: Lookup) -> tuple[str, ...]:
        """See `KnowledgeSource.near`."""
        records = self._records
        return await self._in_thread(lambda: records.near(lookup))

    def _read_again(self) -> None:
        with self._lock:
            if self._path.stat().st_mtime != self._changed_at:
                self._records = self._read()

    def _read(self) -> _Records:
        settings = self._settings
        columns = [column for column in (*settings.fields.values(), settings.field) if column]
        try:
            found = self._path.stat()
            if found.st_size > MAX_FILE_BYTES:
                raise ValueError("it is over 200 MB; put it into a database")
            read = _read_csv if settings.kind == "csv" else _read_jsonl
            rows = list(read(self._path, columns))
        except (OSError, ValueError, RecursionError, csv.Error) as error:
            raise SettingsError(f"source {self.name!r}: cannot read {str(self._path)!r}: {error}") from error
        self._changed_at = found.st_mtime
        own = next(iter(rows[0]), None) if rows and settings.kind == "csv" else None
        return _Records(rows, settings.field or own, settings.fields)


class _Records:
    """Records, with what look-ups compare made ready; one that is a bare value has it under `value`."""

    def __init__(self, rows: Sequence[Mapping[str, Any]], field: str | None, fields: Mapping[str, str]) -> None:
        self._rows, self._field, self._fields = rows, field, fields
        self._values = [plain(row.get(field or "value", "")).strip() for row in rows]
        self._exact = {value: place for place, value in enumerate(self._values) if value}
        self._folded = {name: place for place, value in enumerate(self._values) if (name := folded(value))}
        columns = {column for column in (*fields.values(), field) if column}
        self._columns = {column: [folded(plain(row.get(column, ""))) for row in rows] for column in columns}

    def find(self, lookup: Lookup) -> Answer | None:
        """Is it there? None if the records lack the columns for it."""
        if parts := known_parts(lookup, self._fields, self._field):
            wanted = [(name, self._columns[column], folded(value)) for name, (column, value) in parts.items()]
            places = range(len(self._rows))
            fitting = (n for n in places if all(part_fits(name, have[n], want) for name, have, want in wanted))
            place = next(fitting, None)
        elif lookup.parts and (self._field or self._fields):
            return None
        else:
            place = self._folded.get(folded(lookup.text)) if lookup.is_folded else self._exact.get(lookup.text)
        if place is not None:
            return Answer(True, shown(self._rows[place]))
        return None if lookup.parts and not parts else Answer(False)

    def near(self, lookup: Lookup) -> tuple[str, ...]:
        """Values that resemble it; for the parts of an entity, records that do, or that have such an author."""
        from rapidfuzz import fuzz, process

        parts = known_parts(lookup, self._fields, self._field)
        if not parts:
            return nearest_of(lookup.text, self._values)
        limits: dict[str, Any] = {"score_cutoff": MIN_NEARNESS, "limit": MAX_NEAR}
        have = {name: self._columns[column][:MAX_COMPARED] for name, (column, _) in parts.items()}
        want = {name: folded(value) for name, (_, value) in parts.items()}
        records = [" ".join(row) for row in zip(*have.values(), strict=True)]
        close = process.extract(" ".join(want.values()), records, scorer=fuzz.ratio, **limits)
        if not close and "author" in parts:
            close = process.extract(want["author"], have["author"], scorer=fuzz.partial_ratio, **limits)
        return tuple(shown(self._rows[place]) for _, _, place in close)


def _read_csv(path: Path, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file, restkey="", restval="")
        head = tuple(reader.fieldnames or ())
        if not head:
            raise ValueError("no heading line")
        for column in columns:
            if column not in head:
                raise ValueError(f"no column {column!r}; its columns: {', '.join(head)}")
        for row in reader:
            yield {name: value for name, value in row.items() if name}


def _read_jsonl(path: Path, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            item = json.loads(line)
            if isinstance(item, list):
                raise ValueError(f"line {number} is a JSON list; expected a value or an object")
            if not isinstance(item, dict):
                if columns:
                    raise ValueError(f"line {number} is a bare value; expected an object with {columns[0]!r}")
                yield {"value": item}
                continue
            if not columns:
                raise ValueError(f"line {number} is a JSON object; name the key of the values with 'field'")
            for column in columns:
                if column not in item:
                    raise ValueError(f"line {number} has no key {column!r}; its keys: {', '.join(map(str, item))}")
            yield item
