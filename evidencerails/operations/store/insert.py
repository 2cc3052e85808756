"""Writes records; one that is there already is left alone, so that a replay doubles nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select
from sqlalchemy.dialects import postgresql, sqlite

from evidencerails.operations.store.engine import writing
from evidencerails.operations.store.models import FindingRow, ReportRow
from evidencerails.operations.store.records import Record

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

MANY = 100
"""Ids in one query: databases bound the parameters of a statement."""
_COLUMNS = tuple(column.key for column in ReportRow.__table__.columns if column.key != "seq")


def insert_records(engine: Engine, records: Sequence[Record]) -> None:
    """Put records into the tables, all of them or none.

    Raises:
        StoreError: the database did not take them.
    """
    with writing(engine) as connection:
        for start in range(0, len(records), MANY):
            _insert(connection, records[start : start + MANY])


def _insert(connection: Connection, records: Sequence[Record]) -> None:
    ids = [record["report"]["id"] for record in records]
    known = set(connection.execute(select(ReportRow.id).where(ReportRow.id.in_(ids))).scalars())
    new = {record["report"]["id"]: record for record in records if record["report"]["id"] not in known}
    if not new:
        return
    dialect: Any = postgresql if connection.dialect.name == "postgresql" else sqlite
    statement = dialect.insert(ReportRow).on_conflict_do_nothing(index_elements=["id"])
    connection.execute(statement, [_complete(record["report"]) for record in new.values()])
    findings = [finding for record in new.values() for finding in record["findings"]]
    if findings:
        connection.execute(insert(FindingRow), findings)


def _complete(columns: dict[str, Any]) -> dict[str, Any]:
    """A report's columns, with those that the version which spooled it did not have yet."""
    return {name: columns.get(name) for name in _COLUMNS}
