"""The tables. Times are seconds since 1970 in UTC; what people or models wrote is kept as ASCII JSON.

JSON is kept as text, with everything beyond ASCII escaped: PostgreSQL refuses NUL characters and lone surrogates, which
a hostile answer may hold. `seq` is the order of arrival, which a clock that jumps cannot change.
"""

from __future__ import annotations

from typing import Annotated

from sqlalchemy import BigInteger, Float, ForeignKey, Index, Integer, String, Text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

_BIG = BigInteger().with_variant(Integer, "sqlite")  # SQLite numbers rows by itself only in an INTEGER key
Key = Annotated[int, mapped_column(_BIG, primary_key=True, autoincrement=True)]
Name = Annotated[str, mapped_column(String(200))]
Long = Annotated[str, mapped_column(Text)]


class Base(DeclarativeBase):
    """Base of all tables: a text without a length of its own is a word of ours."""

    type_annotation_map = {float: Float(53), str: String(50)}  # noqa: RUF012, SQLAlchemy's own form


class ReportRow(Base):
    """One report. Columns are what is searched and counted; `body` is all of it."""

    __tablename__ = "reports"
    __table_args__ = (Index("ix_reports_status", "status"), Index("ix_reports_score", "hallucination_score"))

    seq: Mapped[Key]
    id: Mapped[Name] = mapped_column(unique=True)
    created_at: Mapped[float] = mapped_column(index=True)
    status: Mapped[str]
    decision: Mapped[str]
    hallucination_score: Mapped[float | None]
    composite_score: Mapped[float | None]
    faithfulness: Mapped[float | None]
    attribution_precision: Mapped[float | None]
    attribution_existence: Mapped[float | None]
    attribution_accuracy: Mapped[float | None]
    attribution_entailment: Mapped[float | None]
    retrieval_quality: Mapped[float | None]
    gate_passed: Mapped[bool | None]
    risk_level: Mapped[str | None]
    stakes: Mapped[str | None]
    flow: Mapped[Name | None]
    agent: Mapped[Name | None]
    model: Mapped[Name | None]
    total_ms: Mapped[float | None]
    llm_calls: Mapped[int]
    llm_tokens: Mapped[int]
    sample_rate: Mapped[float]
    version: Mapped[str]
    redaction: Mapped[str]
    body: Mapped[Long]


class FindingRow(Base):
    """One finding of a report, for breakdowns; it holds no text of the answer."""

    __tablename__ = "findings"

    id: Mapped[Key]
    report_id: Mapped[str] = mapped_column(ForeignKey("reports.id", ondelete="CASCADE"), index=True)
    kind: Mapped[str]
    category: Mapped[str]
    severity: Mapped[str]
    check: Mapped[str] = mapped_column("check_name", key="check")
    label: Mapped[str | None]
    error_types: Mapped[Name]
    score: Mapped[float | None]


class ChangeRow(Base):
    """Something that was changed in the system: a prompt, a model, an index."""

    __tablename__ = "changes"

    id: Mapped[Key]
    at: Mapped[float] = mapped_column(index=True)
    after_seq: Mapped[int] = mapped_column(_BIG)
    """`seq` of the last report before it."""
    description: Mapped[Long]
    author: Mapped[Name | None]
    state: Mapped[Long | None]
    """Path of the configuration that it led to, as JSON; what `evidencerails bisect` tries."""


class AlertRow(Base):
    """One alert, open until `closed_at`; at most one of a key is open."""

    __tablename__ = "alerts"

    id: Mapped[Key]
    key: Mapped[Name] = mapped_column(index=True)
    opened_at: Mapped[float]
    last_at: Mapped[float]
    closed_at: Mapped[float | None]
    count: Mapped[int]
    data: Mapped[Long]


class ReviewRow(Base):
    """One answer that waits for a person, or has been decided by one."""

    __tablename__ = "reviews"
    __table_args__ = (Index("ix_reviews_state", "state", "tier"),)

    seq: Mapped[Key]
    id: Mapped[Name] = mapped_column(unique=True)
    version: Mapped[int]
    """Raised by every change; a decision must name the version it was made on (optimistic locking)."""
    state: Mapped[str]
    tier: Mapped[str]
    risk: Mapped[float]
    stakes: Mapped[str]
    report_id: Mapped[Name | None] = mapped_column(index=True)
    created_at: Mapped[float] = mapped_column(index=True)
    deadline_at: Mapped[float]
    output_hash: Mapped[str] = mapped_column(String(64))
    """SHA-256 of the answer: what is released must be what was reviewed."""
    package: Mapped[Long]
    reviewer: Mapped[Name | None]
    decided_at: Mapped[float | None]
    note: Mapped[Long | None]
    edited: Mapped[Long | None]
    edited_hash: Mapped[str | None] = mapped_column(String(64))
    released_at: Mapped[float | None]


class ReviewEventRow(Base):
    """What happened to a review, by whom and when; only ever added to."""

    __tablename__ = "review_events"

    id: Mapped[Key]
    review_id: Mapped[str] = mapped_column(ForeignKey("reviews.id", ondelete="CASCADE"), index=True)
    at: Mapped[float]
    event: Mapped[str]
    actor: Mapped[Name | None]
    version: Mapped[int]
