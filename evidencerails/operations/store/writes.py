"""Puts records into the tables, and deletes what has been kept long enough. Blocking: call it in a thread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from evidencerails.errors import StoreError
from evidencerails.operations.store.engine import reading, writing
from evidencerails.operations.store.models import FindingRow, ReportRow, ReviewEventRow, ReviewRow
from evidencerails.operations.store.records import Record
from evidencerails.operations.times import iso

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

MANY = 100
"""Rows of one statement: databases limit its parameters, and other writers get in between deletions."""


def insert_records(engine: Engine, records: Sequence[Record]) -> None:
    """Put records into the tables, all of them or none; one that is there already is left alone."""
    with writing(engine) as connection:
        for start in range(0, len(records), MANY):
            _insert(connection, records[start : start + MANY])


def _insert(connection: Connection, records: Sequence[Record]) -> None:
    by_id = {record["report"]["id"]: record for record in reversed(records)}
    for known in connection.execute(select(ReportRow.id).where(ReportRow.id.in_(by_id))).scalars():
        del by_id[known]
    if not by_id:
        return
    new = list(by_id.values())[::-1]
    dialect: Any = postgresql if connection.dialect.name == "postgresql" else sqlite
    statement = dialect.insert(ReportRow).on_conflict_do_nothing(index_elements=["id"])
    connection.execute(statement, [record["report"] for record in new])
    if findings := [finding for record in new for finding in record["findings"]]:
        connection.execute(insert(FindingRow), findings)


def delete_reports_before(engine: Engine, before: float, *, force: bool = False) -> int:
    """Delete the reports made before a time; how many. It refuses to delete all of them unless `force` is set: more
    likely the clock is wrong than all are old."""
    with reading(engine) as connection:
        newest = connection.execute(select(func.max(ReportRow.created_at))).scalar()
    if newest is not None and newest < before and not force:
        raise StoreError(
            f"retention would delete every report: the newest is of {iso(newest)}. If the clock is right, force it"
        )
    deleted = 0
    while True:
        with writing(engine) as connection:
            old = select(ReportRow.id).where(ReportRow.created_at < before).order_by(ReportRow.seq).limit(MANY)
            ids = list(connection.execute(old).scalars())
            connection.execute(delete(FindingRow).where(FindingRow.report_id.in_(ids)))
            connection.execute(delete(ReportRow).where(ReportRow.id.in_(ids)))
        deleted += len(ids)
        if len(ids) < MANY:
            return deleted


def delete_reviews_before(engine: Engine, before: float) -> int:
    """Delete reviews that were decided before a time; one that is open, or was let through and not fetched, stays."""
    with writing(engine) as connection:
        ids = list(connection.execute(select(ReviewRow.id).where(*_closed_before(before))).scalars())
        for start in range(0, len(ids), MANY):
            some = ids[start : start + MANY]
            for column in (ReviewEventRow.review_id, ReviewRow.id):
                connection.execute(delete(column.class_).where(column.in_(some)))
    return len(ids)


def drop_review_texts_before(engine: Engine, before: float) -> int:
    """Delete the texts of reviews that were decided before a time; what was decided, by whom and when stays."""
    query = update(ReviewRow).where(*_closed_before(before), ReviewRow.package != "")
    with writing(engine) as connection:
        return int(connection.execute(query.values(package="", edited=None, note=None)).rowcount)


def _closed_before(before: float) -> tuple[Any, ...]:
    is_undelivered = ReviewRow.state.in_(("approved", "edited")) & ReviewRow.released_at.is_(None)
    return ReviewRow.decided_at < before, ReviewRow.state != "pending", ~is_undelivered
