"""Source of kind `sqlalchemy`: a table behind any SQLAlchemy URL (extra `sql`). An SQLite file is only read, and its
full-text tables (FTS5) are searched as texts.

Statements are built from the reflected table, so table and column names are quoted by SQLAlchemy for that database, and
what is looked up is a bound parameter.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evidencerails.checks.knowledge.base import (
    Answer,
    Lookup,
    SettingsSource,
    fits,
    folded,
    known_parts,
    nearest_of,
    part_columns,
    plain,
    same,
    shown,
)
from evidencerails.errors import KnowledgeError, MissingExtraError, SettingsError
from evidencerails.settings.knowledge import SourceSettings
from evidencerails.settings.paths import existing_file

if TYPE_CHECKING:
    from sqlalchemy import Column, Engine, Table

MAX_CANDIDATES = 1_000
"""Rows that one look-up compares in full; with more there is no answer."""
_PLAIN_LETTERS = frozenset("bfhjkmpqtvwxBFHJKMPQTVWX0123456789")
"""Letters that hardly ever have an accent; in a pattern the others stand for any letter."""
MAX_SEARCHED = 20_000
"""Rows that one search for near misses compares."""


class SqlSource(SettingsSource):
    """A table of a database. It is inspected when it is first asked, so the app starts while the database is down.

    Args:
        folders: where the relative path of an SQLite file is looked for, in this order.

    Raises:
        SettingsError: the URL cannot be read, or its SQLite file is not there.
        MissingExtraError: SQLAlchemy, or the database's driver, is not installed.
    """

    def __init__(self, name: str, settings: SourceSettings, folders: Sequence[Path] = ()) -> None:
        super().__init__(name, settings)
        self._lock = threading.Lock()
        self._reflected: Table | None = None
        self._is_full_text = False
        self._engine = _engine(name, settings.secret_url, folders)

    async def lookup(self, lookup: Lookup) -> Answer | None:
        """See `KnowledgeSource.lookup`."""
        return await self._in_thread(lambda: self._find(lookup))

    async def near(self, lookup: Lookup) -> tuple[str, ...]:
        """See `KnowledgeSource.near`."""
        return await self._in_thread(lambda: self._near(lookup))

    def _find(self, lookup: Lookup) -> Answer | None:
        table = self._table()
        fields = part_columns(self._settings.fields, self._column(table).key)
        parts = known_parts(lookup, fields)
        if lookup.parts and not parts:
            return None
        for where in self._conditions(table, lookup, parts, fields):
            for record in self._rows(table, where):
                value = plain(record[self._column(table).key])
                if fits(record, parts, fields) if parts else self._is_it(value, lookup):
                    return Answer(True, shown(record))
        return Answer(False)

    def _is_it(self, found: str, lookup: Lookup) -> bool:
        if self._is_full_text and lookup.is_folded:  # texts: it is enough that they name it
            return f" {folded(lookup.text)} " in f" {folded(found)} "
        return same(found, lookup)

    def _conditions(
        self, table: Table, lookup: Lookup, parts: Mapping[str, str], fields: Mapping[str, str]
    ) -> list[Any]:
        """What to search for, one after the other: rows that may be it, to be compared in full."""
        from sqlalchemy import String, and_, cast, func

        column = self._column(table)
        wanted = [(table.c[fields[name]], value) for name, value in parts.items()]
        if self._is_full_text:
            return [and_(*(one.bool_op("MATCH")(_phrase(value)) for one, value in wanted or [(column, lookup.text)]))]
        if parts:
            return [and_(*(_contains(one, value) for one, value in wanted))]
        if lookup.is_folded:
            return [func.lower(cast(column, String)) == lookup.text.lower(), _contains(column, lookup.text)]
        value = _as_column_type(column, lookup.text)
        return [] if value is None else [column == value]

    def _rows(self, table: Table, where: Any) -> list[dict[str, Any]]:
        from sqlalchemy import select

        with self._engine.connect() as connection:
            found = connection.execute(select(table).where(where).limit(MAX_CANDIDATES)).mappings().all()
        if len(found) >= MAX_CANDIDATES:
            raise KnowledgeError(f"too_many_candidates: over {MAX_CANDIDATES} rows resemble it")
        return [dict(row) for row in found]

    def _near(self, lookup: Lookup) -> tuple[str, ...]:
        from sqlalchemy import String, cast, select

        table = self._table()
        fields = part_columns(self._settings.fields, self._column(table).key)
        parts = known_parts(lookup, fields)
        columns = [table.c[fields[name]] for name in parts] or [self._column(table)]
        wanted = " ".join(parts.values()) or lookup.text
        first = next(iter(parts.values()), lookup.text)
        query = select(*columns).limit(MAX_SEARCHED)
        similar = query.where(cast(columns[0], String).istartswith(first[:3], autoescape=True))
        with self._engine.connect() as connection:
            for statement in (query,) if self._is_full_text else (similar, query):
                rows = connection.execute(statement)
                values = (" ".join(plain(value) for value in row) for row in rows)
                near = nearest_of(wanted, values, is_text=self._is_full_text)
                if near:
                    return tuple(map(shown, near))
        return ()

    def _column(self, table: Table) -> Column[Any]:
        return table.c[self._settings.field] if self._settings.field else next(iter(table.c))

    def _table(self) -> Table:
        """The table as the database describes it.

        Raises:
            KnowledgeError: there is no such table or column.
        """
        with self._lock:
            if self._reflected is None:
                name = str(self._settings.table)
                table = _reflected(self._engine, name)
                own = [self._settings.field] if self._settings.field else []
                for column in (*self._settings.fields.values(), *own):
                    if column not in table.c:
                        known = ", ".join(table.c.keys())
                        raise KnowledgeError(
                            f"no_column: table {name!r} has no column {column!r}; its columns: {known}"
                        )
                self._is_full_text = _is_full_text(self._engine, name)
                self._reflected = table
            return self._reflected


def _reflected(engine: Engine, name: str) -> Table:
    """The table of this name; where there is none, "schema.table" is read as the table of a schema."""
    from sqlalchemy import MetaData, Table
    from sqlalchemy.exc import NoSuchTableError

    schema, _, inner = name.rpartition(".")
    for own, of_schema in ((name, None), (inner, schema)) if schema else ((name, None),):
        with suppress(NoSuchTableError):
            return Table(own, MetaData(), schema=of_schema, autoload_with=engine)
    raise KnowledgeError(f"no_table: the database has no table {name!r}")


def _is_full_text(engine: Engine, table: str) -> bool:
    from sqlalchemy import text

    if engine.dialect.name != "sqlite":
        return False
    with engine.connect() as connection:
        made_by = connection.execute(text("SELECT sql FROM sqlite_master WHERE name = :name"), {"name": table}).scalar()
    return bool(re.search(r"\bUSING\s+fts5\b", made_by or "", re.IGNORECASE))


def _phrase(text: str) -> str:
    """A text as one FTS5 string: none of its characters is syntax (https://sqlite.org/fts5.html#fts5_strings)."""
    return '"' + text.replace('"', '""').replace("\0", " ") + '"'


def _contains(column: Column[Any], value: str) -> Any:
    """The rows whose column has the longest word of a text, with or without accents: few enough to compare in full."""
    from sqlalchemy import String, cast

    longest = max(re.findall(r"[^\W_]+", value), key=len, default="")
    pattern = "".join(letter if letter in _PLAIN_LETTERS else "_" for letter in longest)
    return cast(column, String).ilike(f"%{pattern}%")


def _as_column_type(column: Column[Any], text: str) -> Any:
    """The value in the type of the column; None if no value of that type is written so."""
    try:
        python_type = column.type.python_type
    except NotImplementedError:
        return text
    if python_type is str:
        return text
    try:
        value = python_type(text)
    except (TypeError, ValueError, ArithmeticError):
        return None
    if isinstance(value, int) and abs(value) >= 2**63:  # no integer column holds it, and some drivers fail on it
        return None
    return value if plain(value) == text else None


def _engine(name: str, url: str, folders: Sequence[Path]) -> Engine:
    try:
        from sqlalchemy import create_engine, make_url
        from sqlalchemy.exc import ArgumentError, NoSuchModuleError
    except ImportError:
        raise MissingExtraError(f"source {name!r} of kind 'sqlalchemy'", "sqlalchemy", "sql") from None
    try:
        parsed = make_url(url)
        is_file = parsed.get_backend_name() == "sqlite" and parsed.database and not parsed.database.startswith("file:")
        if is_file:
            file = existing_file(f"source {name!r}", str(parsed.database), folders)
            parsed = parsed.set(database=file.as_uri(), query={**parsed.query, "mode": "ro", "uri": "true"})
        return create_engine(parsed, pool_pre_ping=True)
    except (ArgumentError, NoSuchModuleError) as error:
        shown_error = str(error).replace(url, "***")
        raise SettingsError(f"source {name!r}: the url is not a SQLAlchemy URL: {shown_error}") from None
    except ImportError as error:
        raise SettingsError(f"source {name!r}: the database's driver is not installed: {error}") from None
