"""What is read from the store, page by page, put into it, and deleted once it was kept long enough.

All of it blocks: call it in a thread. Every function raises `StoreError` if the database does not answer.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TextIO

from sqlalchemy import Select, delete, func, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from evidencerails.errors import StoreError
from evidencerails.operations.store.engine import reading, writing
from evidencerails.operations.store.models import FindingRow, ReportRow, ReviewEventRow, ReviewRow
from evidencerails.operations.store.records import Record, plain_name
from evidencerails.operations.times import iso

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

MAX_PAGE = 1000

GroupBy = Literal["status", "decision", "risk_level", "stakes", "flow", "agent", "model", "version"]
FindingGroup = Literal["kind", "category", "severity", "check", "label", "error_types"]


class Filter(NamedTuple):
    """Which reports; all given conditions hold. Times are seconds since 1970, `since` included, `until` not."""

    status: str | None = None
    decision: str | None = None
    flow: str | None = None
    agent: str | None = None
    model: str | None = None
    since: float | None = None
    until: float | None = None
    min_score: float | None = None
    gate_passed: bool | None = None


EVERYTHING = Filter()


class Summary(NamedTuple):
    """One row of the history; it holds no text of the answer."""

    seq: int
    """Order of arrival; the cursor of the next page."""
    id: str
    created_at: float
    status: str
    decision: str
    hallucination_score: float | None
    composite_score: float | None
    faithfulness: float | None
    attribution_precision: float | None
    attribution_existence: float | None
    attribution_accuracy: float | None
    attribution_entailment: float | None
    retrieval_quality: float | None
    risk_level: str | None
    stakes: str | None
    flow: str | None
    agent: str | None
    model: str | None
    total_ms: float | None
    llm_calls: int
    llm_tokens: int
    version: str


class Kept(NamedTuple):
    """One report with what was kept beside it."""

    summary: Summary
    redaction: str
    sample_rate: float
    body: dict[str, Any]
    """`report` as `Report.plain()` gives it, and `response`, `question`, `evidence_ids`, `session` as kept."""


class Count(NamedTuple):
    """The reports of one value, or of one interval of time."""

    value: Any
    """The value; of an interval its start, in seconds since 1970."""
    reports: int
    hallucinated: int
    unverified: int
    mean_score: float | None
    """Of the reports that have a score."""


_SUMMARY = tuple(getattr(ReportRow, name) for name in Summary._fields)
_KEPT = (*_SUMMARY, ReportRow.redaction, ReportRow.sample_rate, ReportRow.body)
_COUNTS = (
    func.count(),
    func.count().filter(ReportRow.status == "hallucinated"),
    func.count().filter(ReportRow.status == "unverified"),
    func.avg(ReportRow.hallucination_score),
)


def history(
    engine: Engine, where: Filter = EVERYTHING, *, limit: int = 50, before_seq: int | None = None
) -> list[Summary]:
    """Reports, the newest first; `before_seq` (the last row's `seq`) gives the next page."""
    query = _filtered(select(*_SUMMARY), where).order_by(ReportRow.seq.desc()).limit(max(1, min(limit, MAX_PAGE)))
    if before_seq is not None:
        query = query.where(ReportRow.seq < before_seq)
    return [Summary(*row) for row in _rows(engine, query)]


def worst(engine: Engine, where: Filter = EVERYTHING, *, limit: int = 5) -> list[Summary]:
    """The reports with the highest hallucination score, those without one left out."""
    query = _filtered(select(*_SUMMARY), where).where(ReportRow.hallucination_score.is_not(None))
    query = query.order_by(ReportRow.hallucination_score.desc(), ReportRow.seq.desc()).limit(limit)
    return [Summary(*row) for row in _rows(engine, query)]


def report(engine: Engine, report_id: str) -> Kept | None:
    """One report by its id; None if there is none."""
    if not report_id.isascii() or "\x00" in report_id:  # no id has such, and PostgreSQL and drivers refuse them
        return None
    rows = _rows(engine, select(*_KEPT).where(ReportRow.id == report_id))
    return _kept(rows[0]) if rows else None


def texts(engine: Engine, ids: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Question and answer of these reports by their ids; reports whose texts the store redacts are left out."""
    query = select(ReportRow.id, ReportRow.body).where(ReportRow.id.in_(ids), ReportRow.redaction == "off")
    bodies = {report_id: json.loads(body) for report_id, body in _rows(engine, query)}
    return {name: (body.get("question") or "", body.get("response") or "") for name, body in bodies.items()}


def each(engine: Engine, where: Filter = EVERYTHING) -> Iterator[Kept]:
    """Every report in the order of arrival, read page by page: any number fits into memory."""
    return map(_kept, _pages(engine, _KEPT, where, 0))


def summaries(engine: Engine, where: Filter = EVERYTHING, *, after_seq: int = 0) -> Iterator[Summary]:
    return (Summary(*row) for row in _pages(engine, _SUMMARY, where, after_seq))


def count(engine: Engine, where: Filter = EVERYTHING) -> int:
    return _number(engine, _filtered(select(func.count()).select_from(ReportRow), where))


def newest_seq(engine: Engine, where: Filter = EVERYTHING) -> int:
    """`seq` of the newest report; 0 if there is none."""
    return _number(engine, _filtered(select(func.max(ReportRow.seq)), where))


def seq_before_newest(engine: Engine, count: int) -> int:
    """`seq` of the report before the newest `count`; 0 if there are no more than these."""
    return _number(engine, select(ReportRow.seq).order_by(ReportRow.seq.desc()).offset(count).limit(1))


def counts(engine: Engine, by: GroupBy, where: Filter = EVERYTHING) -> list[Count]:
    """Reports by one of their columns, the most frequent value first."""
    column = getattr(ReportRow, by)
    query = select(column, *_COUNTS).group_by(column).order_by(func.count().desc(), column)
    return [Count(*row) for row in _rows(engine, _filtered(query, where))]


def trend(engine: Engine, where: Filter = EVERYTHING, *, step_s: float) -> list[Count]:
    """Reports by intervals of `step_s` seconds, the oldest first; intervals without a report are left out."""
    start = func.floor(ReportRow.created_at / step_s)
    query: Any = select(start, *_COUNTS).group_by(start).order_by(start)
    return [Count(float(row[0]) * step_s, *row[1:]) for row in _rows(engine, _filtered(query, where))]


def finding_counts(engine: Engine, by: FindingGroup, where: Filter = EVERYTHING) -> dict[str, int]:
    """In how many reports each value of the findings' column stands, the most frequent first; empty ones left out."""
    column = getattr(FindingRow, by)
    query: Any = select(column, FindingRow.report_id).join(ReportRow, ReportRow.id == FindingRow.report_id)
    rows = _rows(engine, _filtered(query, where).distinct())
    pairs = {(kind, report_id) for kinds, report_id in rows for kind in (kinds or "").split(",") if kind}
    found = Counter(kind for kind, _ in pairs)
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def sample_rates(engine: Engine, where: Filter = EVERYTHING) -> list[tuple[str, float, int]]:
    """Status, sample rate, and how many reports have both."""
    both: Any = select(ReportRow.status, ReportRow.sample_rate, func.count())
    rows = _rows(engine, _filtered(both, where).group_by(ReportRow.status, ReportRow.sample_rate))
    return [(status, rate, count) for status, rate, count in rows]


def export(reports: Iterable[Kept], to: TextIO, as_: Literal["jsonl", "csv"]) -> int:
    """Write reports to a stream, as JSON lines with everything or CSV with the columns; how many."""
    table = csv.DictWriter(to, [*Summary._fields, "redaction", "sample_rate"])
    written = 0
    if as_ == "csv":
        table.writeheader()
    for kept in reports:
        row = {**kept.summary._asdict(), "created_at": iso(kept.summary.created_at)}
        row |= {"redaction": kept.redaction, "sample_rate": kept.sample_rate}
        if as_ == "csv":
            table.writerow({name: _harmless(value) for name, value in row.items()})
        else:
            to.write(json.dumps({**row, **kept.body}, ensure_ascii=True) + "\n")
        written += 1
    return written


def _harmless(value: Any) -> Any:
    """A spreadsheet takes a cell that begins so as a formula."""
    is_formula = isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r"))
    return f"'{value}" if is_formula else value


def _rows(engine: Engine, query: Any) -> Sequence[Any]:
    with reading(engine) as connection:
        return connection.execute(query).all()


def _number(engine: Engine, query: Any) -> int:
    rows = _rows(engine, query)
    return int(rows[0][0] or 0) if rows else 0


def _pages(engine: Engine, columns: Sequence[Any], where: Filter, after_seq: int) -> Iterator[Any]:
    """Rows in the order of arrival; the first column is `seq`."""
    while True:
        page = _filtered(select(*columns), where).where(ReportRow.seq > after_seq).order_by(ReportRow.seq)
        rows = _rows(engine, page.limit(MAX_PAGE))
        yield from rows
        if len(rows) < MAX_PAGE:
            return
        after_seq = rows[-1][0]


def _kept(row: Any) -> Kept:
    *summary, redaction, sample_rate, body = row
    return Kept(Summary(*summary), redaction, sample_rate, json.loads(body))


def _filtered(query: Select[Any], where: Filter) -> Select[Any]:
    for name in ("status", "decision", "flow", "agent", "model"):
        wanted = getattr(where, name)
        if wanted is not None:
            query = query.where(getattr(ReportRow, name) == plain_name(wanted))
    if where.since is not None:
        query = query.where(ReportRow.created_at >= where.since)
    if where.until is not None:
        query = query.where(ReportRow.created_at < where.until)
    if where.min_score is not None:
        query = query.where(ReportRow.hallucination_score >= where.min_score)
    if where.gate_passed is not None:
        query = query.where(ReportRow.gate_passed.is_(where.gate_passed))
    return query


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
