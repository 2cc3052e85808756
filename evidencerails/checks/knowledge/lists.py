"""Sources of kind `csv` and `jsonl`: a list in a file, held in memory, read again when the file changes."""

from __future__ import annotations

import csv
import json
import re
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from evidencerails.checks.knowledge.base import (
    MAX_COMPARED,
    MAX_NEAR,
    MIN_NEARNESS,
    Answer,
    Lookup,
    fits,
    folded,
    known_parts,
    nearest_of,
    part_columns,
    plain,
    shown,
)
from evidencerails.checks.knowledge.threads import Threads
from evidencerails.errors import SettingsError
from evidencerails.settings.knowledge import SourceSettings

MAX_FILE_BYTES = 200_000_000
"""A longer list belongs into a database."""
MAX_SHARING = 5_000
"""Records that one search for near misses compares."""
_WORD = re.compile(r"\w+")


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

    def _read(self) -> _Records:
        settings = self._settings
        columns = tuple(dict.fromkeys([*settings.fields.values(), *([settings.field] if settings.field else [])]))
        try:
            found = self._path.stat()
            if found.st_size > MAX_FILE_BYTES:
                raise ValueError("it is over 200 MB; put it into a database")
            read = _read_csv if settings.kind == "csv" else _read_jsonl
            rows = list(read(self._path, columns))
        except (OSError, ValueError, RecursionError, csv.Error) as error:
            raise SettingsError(f"source {self.name!r}: cannot read {str(self._path)!r}: {error}") from error
        field = settings.field or (next(iter(rows[0]), None) if rows and settings.kind == "csv" else None)
        records = _Records(rows, field, part_columns(settings.fields, field))
        self._changed_at = found.st_mtime
        return records


class _Records:
    """Records with the indexes that look-ups need.

    Args:
        rows: the records; one that is a bare value has it under `value`.
        field: column of the values; None if there is none, and `value` if they are a plain list.
        fields: column of each part of an entity.
    """

    def __init__(self, rows: Sequence[Mapping[str, Any]], field: str | None, fields: Mapping[str, str]) -> None:
        self._rows = rows
        self._fields = fields
        self._is_named = bool(field or fields)
        self._values = [plain(row.get(field or "value", "")).strip() for row in rows]
        self._exact = {value: place for place, value in enumerate(self._values) if value}
        self._folded = {folded(value): place for place, value in enumerate(self._values) if folded(value)}
        self._words: dict[str, dict[str, set[int]]] = {name: defaultdict(set) for name in fields}
        for place, row in enumerate(rows):
            for name, column in fields.items():
                for word in _words(plain(row.get(column, ""))):
                    self._words[name][word].add(place)

    def find(self, lookup: Lookup) -> Answer | None:
        """Is it there? None if the records lack the columns for it."""
        parts = known_parts(lookup, self._fields)
        if parts:
            place = next((p for p in self._with_words(parts) if fits(self._rows[p], parts, self._fields)), None)
        elif lookup.parts and self._is_named:
            return None
        elif lookup.is_folded:
            place = self._folded.get(folded(lookup.text))
        else:
            place = self._exact.get(lookup.text)
        if place is not None:
            return Answer(True, shown(self._rows[place]))
        return None if lookup.parts and not parts else Answer(False)

    def near(self, lookup: Lookup) -> tuple[str, ...]:
        """Values that resemble it; for the parts of an entity, records that share a word with it."""
        parts = known_parts(lookup, self._fields)
        if not parts:
            return nearest_of(lookup.text, self._values)
        sharing = {self._joined(place, parts): place for place in self._sharing(parts)}
        near = nearest_of(" ".join(parts.values()), sharing) or (tuple(sharing) if parts.get("author") else ())
        return tuple(shown(self._rows[sharing[joined]]) for joined in near[:MAX_NEAR])

    def _joined(self, place: int, parts: Mapping[str, str]) -> str:
        return " ".join(plain(self._rows[place].get(self._fields[name], "")) for name in parts)

    def _with_words(self, parts: Mapping[str, str]) -> list[int]:
        """Records that have all words of the parts; they are compared one by one."""
        found = [self._words[name].get(word, set()) for name, value in parts.items() for word in _words(value)]
        return sorted(set.intersection(*found)) if found else []

    def _sharing(self, parts: Mapping[str, str]) -> list[int]:
        """Records with a word of the parts, or one that is nearly it: the author of "(Vaswni et al., 2017)"."""
        from rapidfuzz import fuzz, process

        places: set[int] = set()
        for name, value in parts.items():
            known = list(islice(self._words[name], MAX_COMPARED)) if name != "year" else []
            for word in _words(value) if known else ():
                if word in self._words[name]:
                    similar = [word]
                else:
                    found = process.extract(word, known, scorer=fuzz.ratio, score_cutoff=MIN_NEARNESS, limit=MAX_NEAR)
                    similar = [other for other, _, _ in found]
                places.update(place for other in similar for place in self._words[name][other])
        return sorted(places)[:MAX_SHARING]


def _words(text: str) -> list[str]:
    return _WORD.findall(folded(text))


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
