"""Source of kind `sqlalchemy`: a table behind any SQLAlchemy URL (extra `sql`).

Statements are built from the reflected table, so table and column names are quoted by SQLAlchemy for that database, and
what is looked up is a bound parameter.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from evidencerails.checks.knowledge.base import Answer, Lookup, plain, same, shown
from evidencerails.checks.knowledge.lexical_overlap import nearest_of
from evidencerails.checks.knowledge.records import fits, known_parts, part_columns
from evidencerails.checks.knowledge.threads import Threads
from evidencerails.errors import KnowledgeError, MissingExtraError, SettingsError
from evidencerails.settings.knowledge import SourceSettings

if TYPE_CHECKING:
    from sqlalchemy import Column, Engine, Table

MAX_CANDIDATES = 1_000
"""Rows that one look-up compares in full; with more there is no answer."""
_PLAIN_LETTERS = frozenset("bfhjkmpqtvwxBFHJKMPQTVWX0123456789")
"""Letters that hardly ever have an accent; in a pattern the others stand for any letter."""
MAX_SEARCHED = 20_000
"""Rows that one search for near misses compares."""


class SqlSource:
    """A table of a database. It is looked at when it is first asked, so the app starts while the database is down.

    Raises:
        SettingsError: the URL cannot be read.
        MissingExtraError: SQLAlchemy, or the database's driver, is not installed.
    """

    def __init__(self, name: str, settings: SourceSettings) -> None:
        self.name = name
        self.priority = settings.priority
        self.is_complete = settings.is_complete
        self._settings = settings
        self._threads = Threads()
        self._lock = threading.Lock()
        self._reflected: Table | None = None
        self._engine = _engine(name, settings.secret_url)

    async def lookup(self, lookup: Lookup) -> Answer | None:
        """See `KnowledgeSource.lookup`."""
        return await self._threads.run(lambda: self._find(lookup), timeout_s=self._settings.timeout_s)

    async def near(self, lookup: Lookup) -> tuple[str, ...]:
        """See `KnowledgeSource.near`."""
        return await self._threads.run(lambda: self._near(lookup), timeout_s=self._settings.timeout_s)

    def _find(self, lookup: Lookup) -> Answer | None:
        table = self._table()
        fields = self._part_columns(table)
        parts = known_parts(lookup, fields)
        if lookup.parts and not parts:
            return None
        for where in self._conditions(table, lookup, parts):
            for record in self._rows(table, where):
                if fits(record, parts, fields) if parts else same(plain(record[self._column(table).key]), lookup):
                    return Answer(True, shown(record))
        return Answer(False)

    def _conditions(self, table: Table, lookup: Lookup, parts: Mapping[str, str]) -> list[Any]:
        """What to search for, one after the other: rows that may be it, to be compared in full."""
        from sqlalchemy import String, and_, cast, func

        fields = self._part_columns(table)
        if parts:
            return [and_(*(_contains(table.c[fields[n]], value) for n, value in parts.items()))]
        column = self._column(table)
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
        fields = self._part_columns(table)
        parts = known_parts(lookup, fields)
        columns = [table.c[fields[name]] for name in parts] or [self._column(table)]
        wanted = Lookup(text=" ".join(parts.values()) or lookup.text)
        first = next(iter(parts.values()), lookup.text)
        query = select(*columns).limit(MAX_SEARCHED)
        alike = query.where(cast(columns[0], String).istartswith(first[:3], autoescape=True))
        with self._engine.connect() as connection:
            for statement in (alike, query):
                rows = connection.execute(statement)
                near = nearest_of(wanted, (" ".join(plain(value) for value in row) for row in rows))
                if near:
                    return near
        return ()

    def _part_columns(self, table: Table) -> dict[str, str]:
        return part_columns(self._settings.fields, self._column(table).key)

    def _column(self, table: Table) -> Column[Any]:
        return table.c[self._settings.field] if self._settings.field else next(iter(table.c))

    def _table(self) -> Table:
        """The table as the database describes it.

        Raises:
            KnowledgeError: there is no such table or column.
        """
        from sqlalchemy import MetaData, Table
        from sqlalchemy.exc import NoSuchTableError

        with self._lock:
            if self._reflected is not None:
                return self._reflected
            name, schema = str(self._settings.table), None
            try:
                table = Table(name, MetaData(), autoload_with=self._engine)
            except NoSuchTableError:
                schema, dot, name = name.partition(".")
                if not dot:
                    raise KnowledgeError(f"no_table: the database has no table {schema!r}") from None
                try:
                    table = Table(name, MetaData(), schema=schema, autoload_with=self._engine)
                except NoSuchTableError:
                    raise KnowledgeError(f"no_table: the database has no table {schema}.{name}") from None
            wanted = [*self._settings.fields.values(), *([self._settings.field] if self._settings.field else [])]
            for column in wanted:
                if column not in table.c:
                    raise KnowledgeError(
                        f"no_column: table {name!r} has no column {column!r}; its columns: {', '.join(table.c.keys())}"
                    )
            self._reflected = table
            return table


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


def _engine(name: str, url: str) -> Engine:
    try:
        from sqlalchemy import create_engine
        from sqlalchemy.exc import ArgumentError, NoSuchModuleError
    except ImportError:
        raise MissingExtraError(f"source {name!r} of kind 'sqlalchemy'", "sqlalchemy", "sql") from None
    try:
        return create_engine(url, pool_pre_ping=True)
    except (ArgumentError, NoSuchModuleError) as error:
        shown_error = str(error).replace(url, "***")
        raise SettingsError(f"source {name!r}: the url is not a SQLAlchemy URL: {shown_error}") from None
    except ImportError as error:
        raise SettingsError(f"source {name!r}: the database's driver is not installed: {error}") from None
