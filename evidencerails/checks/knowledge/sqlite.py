"""Source of kind `sqlite`: a table of a SQLite file, plain or full-text (FTS5), opened for reading only.

What is looked up reaches SQLite as a bound parameter and nothing else; the names of table and columns, which come from
the settings, are compared with the file's own and quoted.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

from evidencerails.checks.knowledge.base import Answer, Lookup, folded, plain, same, shown
from evidencerails.checks.knowledge.lexical_overlap import MAX_SHOWN, MIN_OVERLAP, lexical_overlap
from evidencerails.checks.knowledge.records import fits, known_parts, part_columns
from evidencerails.checks.knowledge.threads import Threads
from evidencerails.errors import KnowledgeError, SettingsError
from evidencerails.settings.knowledge import SourceSettings

T = TypeVar("T")

MAX_CANDIDATES = 1_000
"""Rows that one look-up compares in full; with more there is no answer."""
MAX_SEARCHED = 50_000
"""Rows of a plain table that one search for near misses compares."""


class SqliteSource:
    """A table of a SQLite file.

    Raises:
        SettingsError: the file, the table or a column is not there.
    """

    def __init__(self, name: str, settings: SourceSettings, path: Path) -> None:
        self.name = name
        self.priority = settings.priority
        self.is_complete = settings.is_complete
        self._path = path
        self._timeout_s = settings.timeout_s
        self._threads = Threads()
        try:
            with closing(self._open()) as connection:
                self._table, self._columns, self._is_full_text = _table_of(connection, str(settings.table))
        except sqlite3.Error as error:
            raise SettingsError(f"source {name!r}: cannot read {str(path)!r}: {error}") from error
        except ValueError as error:
            raise SettingsError(f"source {name!r}: {str(path)!r} has {error}") from None
        self._field = settings.field or self._columns[0]
        self._fields = part_columns(settings.fields, self._field)
        for column in (self._field, *self._fields.values()):
            if column not in self._columns:
                raise SettingsError(
                    f"source {name!r}: table {self._table!r} has no column {column!r}; "
                    f"its columns: {', '.join(self._columns)}"
                )

    async def lookup(self, lookup: Lookup) -> Answer | None:
        """See `KnowledgeSource.lookup`."""
        parts = known_parts(lookup, self._fields)
        if lookup.parts and not parts:
            return None
        return await self._run(lambda connection: self._find(connection, lookup, parts))

    async def near(self, lookup: Lookup) -> tuple[str, ...]:
        """See `KnowledgeSource.near`."""
        return await self._run(lambda connection: self._near(connection, lookup))

    async def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        def opened() -> T:
            with closing(self._open()) as connection:
                return work(connection)

        return await self._threads.run(opened, timeout_s=self._timeout_s)

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(f"{self._path.resolve().as_uri()}?mode=ro", uri=True, timeout=self._timeout_s)
        connection.row_factory = sqlite3.Row
        return connection

    def _find(self, connection: sqlite3.Connection, lookup: Lookup, parts: Mapping[str, str]) -> Answer:
        for row in self._candidates(connection, lookup, parts):
            if fits(row, parts, self._fields) if parts else self._is_it(plain(row[self._field]), lookup):
                return Answer(True, shown(row))
        return Answer(False)

    def _is_it(self, found: str, lookup: Lookup) -> bool:
        if self._is_full_text and lookup.is_folded:  # documents: it is enough that they name it
            return f" {folded(lookup.text)} " in f" {folded(found)} "
        return same(found, lookup)

    def _candidates(
        self, connection: sqlite3.Connection, lookup: Lookup, parts: Mapping[str, str]
    ) -> list[dict[str, Any]]:
        wanted = {self._fields[name]: value for name, value in parts.items()} or {self._field: lookup.text}
        if self._is_full_text:
            query = " AND ".join(f"{_quoted(column)} : {_phrase(value)}" for column, value in wanted.items())
            return self._rows(connection, f"{_quoted(self._table)} MATCH ?", [query])
        if not parts and not lookup.is_folded:
            return self._rows(connection, f"{_quoted(self._field)} = ?", [lookup.text])
        connection.create_function("evidencerails_folded", 1, lambda value: folded(plain(value)), deterministic=True)
        test = "instr(evidencerails_folded({}), ?) > 0" if parts else "evidencerails_folded({}) = ?"
        where = " AND ".join(test.format(_quoted(column)) for column in wanted)
        bound = [folded(value) for value in wanted.values()]
        return self._rows(connection, where, bound)

    def _rows(self, connection: sqlite3.Connection, where: str, bound: list[Any]) -> list[dict[str, Any]]:
        columns = ", ".join(_quoted(column) for column in self._columns)
        query = f"SELECT {columns} FROM {_quoted(self._table)} WHERE {where} LIMIT {MAX_CANDIDATES}"
        found = [dict(row) for row in connection.execute(query, bound)]
        if len(found) >= MAX_CANDIDATES:
            raise KnowledgeError(f"too_many_candidates: over {MAX_CANDIDATES} rows resemble it")
        return found

    def _near(self, connection: sqlite3.Connection, lookup: Lookup) -> tuple[str, ...]:
        parts = known_parts(lookup, self._fields)
        text = " ".join(parts.values()) if parts else lookup.text
        told = " || ' ' || ".join(f"coalesce({_quoted(self._fields[name])}, '')" for name in parts)
        told = told or _quoted(self._field)
        wanted = Lookup(text=text)
        connection.create_function(
            "evidencerails_lexical_overlap",
            1,
            lambda value: lexical_overlap(wanted, plain(value), is_text=self._is_full_text),
        )
        inner, bound = f"SELECT {told} AS told FROM {_quoted(self._table)}", []
        if self._is_full_text:
            words = re.findall(r"\w+", text)[:20]
            inner += f" WHERE {_quoted(self._table)} MATCH ?"
            bound = [" OR ".join(f"{_phrase(word[:4])}*" for word in words) or '""']
        query = (
            f"SELECT DISTINCT told FROM ({inner} LIMIT {MAX_SEARCHED}) WHERE evidencerails_lexical_overlap(told) >= ? "
            f"ORDER BY evidencerails_lexical_overlap(told) DESC LIMIT {MAX_SHOWN}"
        )
        return tuple(shown(plain(row[0])) for row in connection.execute(query, [*bound, MIN_OVERLAP]))


def _table_of(connection: sqlite3.Connection, table: str) -> tuple[str, tuple[str, ...], bool]:
    """Name, columns and kind of a table.

    Raises:
        ValueError: there is none of that name.
    """
    found = connection.execute("SELECT name, sql FROM sqlite_master WHERE type IN ('table', 'view')").fetchall()
    by_name = {row["name"]: row["sql"] or "" for row in found}
    if table not in by_name:
        raise ValueError(f"no table {table!r}; its tables: {', '.join(by_name) or 'none'}")
    columns = tuple(row["name"] for row in connection.execute(f"PRAGMA table_info({_quoted(table)})"))
    return table, columns, bool(re.search(r"\bUSING\s+fts5\b", by_name[table], re.IGNORECASE))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _phrase(text: str) -> str:
    """A text as one FTS5 string: none of its characters is syntax (https://sqlite.org/fts5.html#fts5_strings)."""
    return '"' + text.replace('"', '""').replace("\0", " ") + '"'
