"""Opens the database: driver, SQLite's write-ahead log, locks, and tables."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, inspect, make_url
from sqlalchemy.exc import (
    ArgumentError,
    DataError,
    DBAPIError,
    IntegrityError,
    ProgrammingError,
    SQLAlchemyError,
    StatementError,
)

from evidencerails.errors import MissingExtraError, StoreError
from evidencerails.operations.store.models import Base

TABLES, ALERTS = 0, 1
_LOCKS = 0x6772_6F75_6E64  # any number that no other program locks in that database


def open_engine(address: str, *, lock_timeout_s: float = 5.0) -> Engine:
    """An engine whose database has our tables; else a `StoreError` says why not."""
    url = parsed_url(address)
    engine = _engine(url, lock_timeout_s)
    try:
        _make_tables(engine)
    except StoreError:
        engine.dispose()
        raise
    return engine


def parsed_url(address: str) -> URL:
    """The URL with the driver we use."""
    try:
        url = make_url(address)
    except ArgumentError:  # its message holds the URL, and so the password
        raise StoreError(
            "the store's URL cannot be read; expected sqlite:///file.db or postgresql://user@host/db"
        ) from None
    backend = url.get_backend_name()
    if backend in ("postgres", "postgresql"):
        return url.set(drivername="postgresql+psycopg")
    if backend != "sqlite":
        raise StoreError(f"the store cannot use {backend!r}; expected an SQLite or PostgreSQL URL")
    return url


def sqlite_file(address: str) -> Path | None:
    """The file of an SQLite URL; None for other databases and for one in memory."""
    url = parsed_url(address)
    in_file = url.get_backend_name() == "sqlite" and url.database not in (None, "", ":memory:")
    return Path(str(url.database)) if in_file else None


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction that writes. SQLite takes the write lock at its begin, so that it waits instead of failing later.

    A `StoreError` says that the database is locked, full or gone, and by `retryable` whether another try can help.
    """
    with _connected(engine, writes=True) as connection, connection.begin():
        yield connection


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    with _connected(engine, writes=False) as connection:
        yield connection


@contextmanager
def _connected(engine: Engine, *, writes: bool) -> Iterator[Connection]:
    try:
        with engine.connect().execution_options(evidencerails_writes=writes) as connection:
            yield connection
    except SQLAlchemyError as error:
        raise as_store_error(error, engine.url) from error


def one_at_a_time(connection: Connection, what: int) -> None:
    """Let no other transaction with the same number go on until this one ends; SQLite has one writer anyway."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCKS + what})")


def as_store_error(error: Exception, url: URL) -> StoreError:
    """Our error for one of SQLAlchemy's; without the statement's parameters, which hold answers."""
    cause: Any = getattr(error, "orig", None) or error
    detail = str(cause).splitlines()[0] if isinstance(error, DBAPIError) and str(cause) else ""
    place = url.render_as_string(hide_password=True)
    message = f"the store {place} failed: {type(cause).__name__}: {detail}"[:300]
    return StoreError(message, retryable=not _is_about_the_data(error))


def _is_about_the_data(error: Exception) -> bool:
    """True if the same record will be refused again; everything else may pass, such as a lock or a missing table."""
    if isinstance(error, ProgrammingError):  # in PostgreSQL a missing table, in SQLite a value of a wrong type
        return type(error.orig).__module__.startswith("sqlite3")
    if isinstance(error, DBAPIError):
        return isinstance(error, (DataError, IntegrityError))
    return isinstance(error, StatementError)


def _engine(url: URL, lock_timeout_s: float) -> Engine:
    if url.get_backend_name() == "sqlite":
        file = sqlite_file(url.render_as_string(hide_password=False))
        try:
            if file is not None:
                file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            place = f"the store's folder {str(file.parent)!r}" if file else ""
            raise StoreError(f"cannot make {place}: {error.strerror}", retryable=True) from error
        engine = create_engine(url, hide_parameters=True, connect_args={"timeout": lock_timeout_s})
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    options = {"options": f"-c lock_timeout={max(1, int(lock_timeout_s * 1000))}", "connect_timeout": 5}
    try:
        return create_engine(url, hide_parameters=True, pool_pre_ping=True, connect_args=options)
    except ImportError:  # psycopg is missing, or there without libpq: an error that names no module
        raise MissingExtraError("a PostgreSQL store", "psycopg", "postgresql") from None


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    """Set what SQLite keeps for each connection, and leave the begin of transactions to us."""
    connection.isolation_level = None
    cursor = connection.cursor()
    with suppress(sqlite3.OperationalError):  # locked just now; the next process that finds it free sets it
        cursor.execute("PRAGMA journal_mode=WAL")  # a file property: readers do not wait for the writer
    cursor.execute("PRAGMA synchronous=FULL")  # a decision that was acknowledged survives a power cut
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("evidencerails_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _make_tables(engine: Engine) -> None:
    """Make the tables that are missing; of several services that start at once one does it and the others wait."""
    with reading(engine) as connection:
        if set(inspect(connection).get_table_names()) >= set(Base.metadata.tables):
            return
    with writing(engine) as connection:
        one_at_a_time(connection, TABLES)
        Base.metadata.create_all(connection)
