"""What the review queue hands out."""

from __future__ import annotations

import hashlib
from typing import Any, Literal, NamedTuple

from evidencerails.operations.review.package import Package
from evidencerails.report import ReviewState, ReviewTier

Verdict = Literal["approved", "rejected", "edited"]
VERDICTS: tuple[Verdict, ...] = ("approved", "rejected", "edited")
RELEASABLE: tuple[str, ...] = ("approved", "edited")


class Item(NamedTuple):
    """One review without its package. Times are seconds since 1970."""

    id: str
    version: int
    """Of the item; a decision names the version that the reviewer has seen."""
    state: ReviewState
    tier: ReviewTier
    risk: float
    stakes: str
    report_id: str | None
    created_at: float
    deadline_at: float
    reviewer: str | None
    decided_at: float | None
    released_at: float | None

    def is_overdue(self, now: float) -> bool:
        """True if nobody has decided in time."""
        return self.state == "pending" and now > self.deadline_at


class Event(NamedTuple):
    """One step in the life of a review."""

    at: float
    event: str
    actor: str | None
    version: int


class OpenItem(NamedTuple):
    """One review with all that was handed to the reviewer, and what became of it."""

    item: Item
    package: Package | None
    """None once its texts were deleted."""
    note: str | None
    edited: str | None
    events: tuple[Event, ...]


class Released(NamedTuple):
    """A text that a person let through."""

    review_id: str
    text: str
    verdict: Verdict
    reviewer: str | None
    is_first: bool
    """False if it was released before: after a crash it is fetched again."""


def content_hash(text: str) -> str:
    """SHA-256 of a text, as hexadecimal digits; lone surrogates are allowed in it."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def plain_item(item: Item) -> dict[str, Any]:
    """An item as JSON-ready data, with times for people."""
    from evidencerails.operations.store.clock import iso

    data = item._asdict()
    for name in ("created_at", "deadline_at", "decided_at", "released_at"):
        data[name] = iso(data[name]) if data[name] is not None else None
    return data
