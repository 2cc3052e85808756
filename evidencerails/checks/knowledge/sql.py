"""Source of kind `sqlalchemy`: a table behind any SQLAlchemy URL (extra `sql`). An SQLite file is only read.

Statements are built from the reflected table, so table and column names are quoted by SQLAlchemy for that database, and
what is looked up is a bound parameter.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evidencerails.checks.knowledge.base import (
    Answer,
    Lookup,
    Parts,
    SettingsSource,
    fits,
    known_parts,
    nearest_of,
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

    Raises:
        SettingsError: the URL cannot be read, or its SQLite file is in none of `folders`.
        MissingExtraError: SQLAlchemy, or the database's driver, is not installed.
    """

    def __init__(self, name: str, settings: SourceSettings, folders: Sequence[Path] = ()) -> None:
        super().__init__(name, settings)
        self._lock = threading.Lock()
        self._reflected: Table | None = None
        self._engine = _engine(name, settings.secret_url, folders)

    async def lookup(self, lookup: Lookup) -> Answer | None:
        """See `KnowledgeSource.lookup`."""
        return await self._in_thread(lambda: self._find(lookup))

    async def near(self, lookup: Lookup) -> tuple[str, ...]:
        """See `KnowledgeSource.near`."""
        return await self._in_thread(lambda: self._near(lookup))

    def _find(self, lookup: Lookup) -> Answer | None:
        from sqlalchemy import String, and_, cast, func

        table, column, parts = self._asked(lookup)
        conditions: list[Any]
        if parts:
            conditions = [and_(*(_contains(table.c[field], value) for field, value in parts.values()))]
        elif lookup.parts:
            return None
        elif lookup.is_folded:
            conditions = [func.lower(cast(column, String)) == lookup.text.lower(), _contains(column, lookup.text)]
        else:
            value = _as_column_type(column, lookup.text)
            conditions = [] if value is None else [column == value]
        for record in (record for condition in conditions for record in self._rows(table, condition)):
            if fits(record, parts) if parts else same(plain(record[column.key]), lookup):
                return Answer(True, shown(record))
        return Answer(False)

    def _asked(self, lookup: Lookup) -> tuple[Table, Column[Any], Parts]:
        table = self._table()
        column = table.c[self._settings.field] if self._settings.field else next(iter(table.c))
        return table, column, known_parts(lookup, self._settings.fields, column.key)

    def _rows(self, table: Table, where: Any) -> list[dict[str, Any]]:
        from sqlalchemy import select

        with self._engine.connect() as connection:
            found = connection.execute(select(table).where(where).limit(MAX_CANDIDATES)).mappings().all()
        if len(found) >= MAX_CANDIDATES:
            raise KnowledgeError(f"too_many_candidates: over {MAX_CANDIDATES} rows resemble it")
        return [dict(row) for row in found]

    def _near(self, lookup: Lookup) -> tuple[str, ...]:
        from sqlalchemy import String, cast, select

        table, column, parts = self._asked(lookup)
        columns = [table.c[field] for field, _ in parts.values()] or [column]
        wanted = [value for _, value in parts.values()] or [lookup.text]
        query = select(*columns).limit(MAX_SEARCHED)
        similar = query.where(cast(columns[0], String).istartswith(wanted[0][:3], autoescape=True))
        with self._engine.connect() as connection:
            for statement in (similar, query):
                values = (" ".join(map(plain, row)) for row in connection.execute(statement))
                if near := nearest_of(" ".join(wanted), values):
                    return tuple(map(shown, near))
        return ()

    def _table(self) -> Table:
        """The table as the database describes it; where there is none, "schema.table" is read as that of a schema."""
        from sqlalchemy import MetaData, Table
        from sqlalchemy.exc import NoSuchTableError

        with self._lock:
            if self._reflected is None:
                name = str(self._settings.table)
                schema, _, inner = name.rpartition(".")
                for own, of_schema in ((name, None), (inner, schema or None)):
                    with suppress(NoSuchTableError):
                        table = Table(own, MetaData(), schema=of_schema, autoload_with=self._engine)
                        break
                else:
                    raise KnowledgeError(f"no_table: the database has no table {name!r}")
                for column in (*self._settings.fields.values(), self._settings.field or next(iter(table.c)).key):
                    if column not in table.c:
                        known = ", ".join(table.c.keys())
                        raise KnowledgeError(
                            f"no_column: table {name!r} has no column {column!r}; its columns: {known}"
                        )
                self._reflected = table
            return self._reflected


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
