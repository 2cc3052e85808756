"""The tables. Times are seconds since 1970 in UTC; what people or models wrote is kept as ASCII JSON.

JSON is kept as text, with everything beyond ASCII escaped: PostgreSQL refuses NUL characters and lone surrogates, which
a hostile answer may hold. `seq` is the order of arrival, which a clock that jumps cannot change.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Float, ForeignKey, Index, Integer, String, Text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

NAME_LENGTH = 200
_BIG = BigInteger().with_variant(Integer, "sqlite")  # SQLite numbers rows by itself only in an INTEGER key


class Base(DeclarativeBase):
    """Base of all tables."""


class ReportRow(Base):
    """One report. Columns are what is searched and counted; `body` is all of it."""

    __tablename__ = "reports"
    __table_args__ = (Index("ix_reports_status", "status"), Index("ix_reports_score", "hallucination_score"))

    seq: Mapped[int] = mapped_column(_BIG, primary_key=True, autoincrement=True)
    id: Mapped[str] = mapped_column(String(NAME_LENGTH), unique=True)
    created_at: Mapped[float] = mapped_column(Float(53), index=True)
    status: Mapped[str] = mapped_column(String(20))
    decision: Mapped[str] = mapped_column(String(20))
    hallucination_score: Mapped[float | None] = mapped_column(Float(53))
    composite_score: Mapped[float | None] = mapped_column(Float(53))
    faithfulness: Mapped[float | None] = mapped_column(Float(53))
    attribution_precision: Mapped[float | None] = mapped_column(Float(53))
    attribution_existence: Mapped[float | None] = mapped_column(Float(53))
    attribution_accuracy: Mapped[float | None] = mapped_column(Float(53))
    attribution_entailment: Mapped[float | None] = mapped_column(Float(53))
    retrieval_quality: Mapped[float | None] = mapped_column(Float(53))
    gate_passed: Mapped[bool | None] = mapped_column(Boolean)
    risk_level: Mapped[str | None] = mapped_column(String(20))
    stakes: Mapped[str | None] = mapped_column(String(20))
    flow: Mapped[str | None] = mapped_column(String(NAME_LENGTH))
    agent: Mapped[str | None] = mapped_column(String(NAME_LENGTH))
    model: Mapped[str | None] = mapped_column(String(NAME_LENGTH))
    total_ms: Mapped[float | None] = mapped_column(Float(53))
    llm_calls: Mapped[int] = mapped_column(Integer)
    llm_tokens: Mapped[int] = mapped_column(Integer)
    sample_rate: Mapped[float] = mapped_column(Float(53))
    version: Mapped[str] = mapped_column(String(50))
    redaction: Mapped[str] = mapped_column(String(10))
    body: Mapped[str] = mapped_column(Text)


class FindingRow(Base):
    """One finding of a report, for breakdowns; it holds no text of the answer."""

    __tablename__ = "findings"

    id: Mapped[int] = mapped_column(_BIG, primary_key=True, autoincrement=True)
    report_id: Mapped[str] = mapped_column(ForeignKey("reports.id", ondelete="CASCADE"), index=True)
    kind: Mapped[str] = mapped_column(String(50))
    category: Mapped[str] = mapped_column(String(50))
    severity: Mapped[str] = mapped_column(String(20))
    check: Mapped[str] = mapped_column("check_name", String(50), key="check")
    label: Mapped[str | None] = mapped_column(String(30))
    error_types: Mapped[str] = mapped_column(String(NAME_LENGTH))
    score: Mapped[float | None] = mapped_column(Float(53))


class ChangeRow(Base):
    """Something that was changed in the system: a prompt, a model, an index."""

    __tablename__ = "changes"

    id: Mapped[int] = mapped_column(_BIG, primary_key=True, autoincrement=True)
    at: Mapped[float] = mapped_column(Float(53), index=True)
    after_seq: Mapped[int] = mapped_column(_BIG)
    """`seq` of the last report before it."""
    description: Mapped[str] = mapped_column(Text)
    author: Mapped[str | None] = mapped_column(String(NAME_LENGTH))
    state: Mapped[str | None] = mapped_column(Text)
    """Path of the configuration that it led to, as JSON; what `evidencerails bisect` tries."""


class AlertRow(Base):
    """One alert, open until `closed_at`; at most one of a key is open."""

    __tablename__ = "alerts"

    id: Mapped[int] = mapped_column(_BIG, primary_key=True, autoincrement=True)
    key: Mapped[str] = mapped_column(String(NAME_LENGTH), index=True)
    opened_at: Mapped[float] = mapped_column(Float(53))
    last_at: Mapped[float] = mapped_column(Float(53))
    closed_at: Mapped[float | None] = mapped_column(Float(53))
    count: Mapped[int] = mapped_column(Integer)
    data: Mapped[str] = mapped_column(Text)


class ReviewRow(Base):
    """One answer that waits for a person, or has been decided by one."""

    __tablename__ = "reviews"
    __table_args__ = (Index("ix_reviews_state", "state", "tier"),)

    seq: Mapped[int] = mapped_column(_BIG, primary_key=True, autoincrement=True)
    id: Mapped[str] = mapped_column(String(NAME_LENGTH), unique=True)
    version: Mapped[int] = mapped_column(Integer)
    """Raised by every change; a decision must name the version it was made on (optimistic locking)."""
    state: Mapped[str] = mapped_column(String(20))
    tier: Mapped[str] = mapped_column(String(20))
    risk: Mapped[float] = mapped_column(Float(53))
    stakes: Mapped[str] = mapped_column(String(20))
    report_id: Mapped[str | None] = mapped_column(String(NAME_LENGTH), index=True)
    created_at: Mapped[float] = mapped_column(Float(53), index=True)
    deadline_at: Mapped[float] = mapped_column(Float(53))
    output_hash: Mapped[str] = mapped_column(String(64))
    """SHA-256 of the answer: what is released must be what was reviewed."""
    package: Mapped[str] = mapped_column(Text)
    reviewer: Mapped[str | None] = mapped_column(String(NAME_LENGTH))
    decided_at: Mapped[float | None] = mapped_column(Float(53))
    note: Mapped[str | None] = mapped_column(Text)
    edited: Mapped[str | None] = mapped_column(Text)
    edited_hash: Mapped[str | None] = mapped_column(String(64))
    released_at: Mapped[float | None] = mapped_column(Float(53))


class ReviewEventRow(Base):
    """What happened to a review, by whom and when; only ever added to."""

    __tablename__ = "review_events"

    id: Mapped[int] = mapped_column(_BIG, primary_key=True, autoincrement=True)
    review_id: Mapped[str] = mapped_column(ForeignKey("reviews.id", ondelete="CASCADE"), index=True)
    at: Mapped[float] = mapped_column(Float(53))
    event: Mapped[str] = mapped_column(String(20))
    actor: Mapped[str | None] = mapped_column(String(NAME_LENGTH))
    version: Mapped[int] = mapped_column(Integer)


class NoticeRow(Base):
    """A webhook call that is still to be made, or was; written in the same transaction as what it is about."""

    __tablename__ = "notices"
    __table_args__ = (Index("ix_notices_state", "state", "next_at"),)

    id: Mapped[int] = mapped_column(_BIG, primary_key=True, autoincrement=True)
    subject: Mapped[str] = mapped_column(String(NAME_LENGTH), index=True)
    body: Mapped[str] = mapped_column(Text)
    state: Mapped[str] = mapped_column(String(20))
    """`waiting`, `sent` or `given_up`."""
    attempts: Mapped[int] = mapped_column(Integer)
    next_at: Mapped[float] = mapped_column(Float(53))
    error: Mapped[str | None] = mapped_column(Text)
