"""The review queue: submit, list, decide, release. Every step is one transaction; the database is the only truth.

A decision holds only for the version of the item that the reviewer has seen (optimistic locking): of two reviewers one
wins, the other gets a `ReviewConflictError`. Nothing leaves without `release`, which gives a text only after a stored
decision of a person, and only if it is still the text that was decided on. It can be called again after a crash.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sqlalchemy import Select, insert, select, update

from evidencerails.errors import ReviewConflictError, ReviewError
from evidencerails.operations.review.package import (
    RELEASABLE,
    VERDICTS,
    Event,
    Item,
    OpenItem,
    Package,
    Released,
    Verdict,
    content_hash,
)
from evidencerails.operations.store.engine import reading, writing
from evidencerails.operations.store.models import ReviewEventRow, ReviewRow
from evidencerails.operations.store.queries import MAX_PAGE
from evidencerails.operations.store.records import as_json, plain_name
from evidencerails.operations.store.store import new_id
from evidencerails.report import ReviewTier

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from evidencerails.operations.store.store import Store

ID_LENGTH = 32
"""Characters of a whole id (`store.new_id`)."""
MAX_EDIT = 200_000
"""Characters of a reviewer's text."""
_ITEM = tuple(getattr(ReviewRow, name) for name in Item._fields)
_EVENT = tuple(getattr(ReviewEventRow, name) for name in Event._fields)


class ReviewQueue:
    """Answers that wait for a person, in a store's database. Blocking: in async code call it through
    `asyncio.to_thread`.

    Every method raises `StoreError` if the database does not answer; nothing was changed then.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def submit(
        self,
        package: Package,
        *,
        tier: ReviewTier,
        risk: float,
        stakes: str,
        within_s: float,
        report_id: str | None = None,
    ) -> Item:
        """Put an answer into the queue. It is on disk when this returns."""
        now, review_id = self._store.now(), new_id()
        row = {"id": review_id, "tier": tier, "risk": risk, "stakes": stakes, "report_id": report_id}
        row |= {"version": 1, "state": "pending", "created_at": now, "deadline_at": now + within_s}
        row |= {"output_hash": content_hash(package.output), "package": as_json(package.model_dump(mode="json"))}
        with writing(self._store.engine) as connection:
            connection.execute(insert(ReviewRow), row)
            _note(connection, review_id, now, "submitted", None, 1)
            return _item(connection, review_id)

    def get(self, review_id: str) -> OpenItem:
        """One review with its package; the first characters of its id are enough."""
        with reading(self._store.engine) as connection:
            found = _find(connection, review_id)
            item = _item(connection, found)
            query = select(ReviewRow.package, ReviewRow.note, ReviewRow.edited).where(ReviewRow.id == found)
            package, note, edited = connection.execute(query).one()
            events = select(*_EVENT).where(ReviewEventRow.review_id == found).order_by(ReviewEventRow.id)
            return OpenItem(
                item,
                Package.model_validate(json.loads(package)) if package else None,
                _text(note),
                _text(edited),
                tuple(Event(*event) for event in connection.execute(events)),
            )

    def items(self, *, state: str | None = "pending", tier: str | None = None, limit: int = 100) -> list[Item]:
        """Reviews, those due first at the top; `state=None` for all."""
        query = select(*_ITEM).order_by(ReviewRow.deadline_at, ReviewRow.seq)
        if state is not None:
            query = query.where(ReviewRow.state == state)
        if tier is not None:
            query = query.where(ReviewRow.tier == tier)
        return self._items(query.limit(max(1, min(limit, MAX_PAGE))))

    def unreleased(self, *, limit: int = MAX_PAGE) -> list[Item]:
        """What people let through and nothing has fetched yet: after a crash, what is still to be delivered."""
        query = select(*_ITEM).where(ReviewRow.state.in_(RELEASABLE), ReviewRow.released_at.is_(None))
        return self._items(query.order_by(ReviewRow.seq).limit(limit))

    def item(self, review_id: str) -> Item | None:
        """The item of a whole id; None if there is none."""
        return next(iter(self._items(select(*_ITEM).where(ReviewRow.id == review_id))), None)

    def _items(self, query: Select[Any]) -> list[Item]:
        with reading(self._store.engine) as connection:
            return [Item(*row) for row in connection.execute(query)]

    def decide(
        self,
        review_id: str,
        verdict: Verdict,
        *,
        reviewer: str,
        text: str | None = None,
        note: str | None = None,
        version: int | None = None,
    ) -> Item:
        """Store a person's decision on the version of the item that they saw (unset: the one that is there now).

        `text` is released instead, for the verdict `edited`. A `ReviewConflictError` says that somebody was quicker, a
        `ReviewError` that there is no such review, or the decision is not complete.
        """
        _refuse_incomplete(verdict, reviewer, text)
        changes = {
            "state": verdict,
            "reviewer": plain_name(reviewer.strip()),
            "note": as_json(note) if note else None,
            "edited": as_json(text) if text is not None else None,
            "edited_hash": content_hash(text) if text is not None else None,
        }
        return self._close(review_id, changes, version)

    def expire(self, review_id: str) -> Item:
        """Close a review that nobody decided in time; it can be decided no more. If somebody has, that stands."""
        try:
            return self._close(review_id, {"state": "expired"}, None)
        except ReviewConflictError:
            return self.get(review_id).item

    def release(self, review_id: str) -> Released:
        """The text that a person let through. Call it before anything leaves; again after a crash."""
        now = self._store.now()
        with writing(self._store.engine) as connection:
            found = _find(connection, review_id)
            state = _item(connection, found).state
            if state not in RELEASABLE:
                raise ReviewError(f"review {found} is {state}; only an approved or edited answer can be released")
            row = connection.execute(select(ReviewRow).where(ReviewRow.id == found)).one()
            text = _decided_text(row)
            is_new = (ReviewRow.id == found, ReviewRow.released_at.is_(None))
            connection.execute(update(ReviewRow).where(*is_new).values(released_at=now))
            _note(connection, found, now, "released", None, row.version)
        return Released(found, text, row.state, row.reviewer, row.released_at is None)

    def _close(self, review_id: str, changes: dict[str, Any], version: int | None) -> Item:
        now = self._store.now()
        with writing(self._store.engine) as connection:
            found = _find(connection, review_id)
            wanted = _item(connection, found).version if version is None else version
            # The condition decides, not the query before it: PostgreSQL lets two transactions read at once.
            done = connection.execute(
                update(ReviewRow)
                .where(ReviewRow.id == found, ReviewRow.version == wanted, ReviewRow.state == "pending")
                .values(**changes, version=wanted + 1, decided_at=now)
            )
            item = _item(connection, found)
            if done.rowcount != 1:
                raise _conflict(item, wanted)
            _note(connection, found, now, changes["state"], changes.get("reviewer"), wanted + 1)
            return item


def _item(connection: Connection, review_id: str) -> Item:
    row = connection.execute(select(*_ITEM).where(ReviewRow.id == review_id)).one_or_none()
    if row is None:
        raise _no_such(review_id)
    return Item(*row)


def _no_such(review_id: str) -> ReviewError:
    return ReviewError(f"there is no review {review_id!r}; see: evidencerails review list")


def _conflict(item: Item, version: int) -> ReviewConflictError:
    if item.state == "pending":
        message = f"review {item.id} has version {item.version}, not {version}; look at it again"
    else:
        who = f" by {item.reviewer}" if item.reviewer else ""
        message = f"review {item.id} is already {item.state}{who}; nothing was changed"
    return ReviewConflictError(message, state=item.state, reviewer=item.reviewer)


def _refuse_incomplete(verdict: str, reviewer: str, text: str | None) -> None:
    if verdict not in VERDICTS:
        raise ReviewError(f"unknown verdict {verdict!r}; expected one of {', '.join(VERDICTS)}")
    if not reviewer.strip():
        raise ReviewError("a decision needs the name of its reviewer")
    if (verdict == "edited") != (text is not None):
        raise ReviewError("give the new text with the verdict 'edited', and only with it")
    if text is not None and (not text.strip() or len(text) > MAX_EDIT):
        raise ReviewError(f"the new text must have 1 to {MAX_EDIT} characters; to keep the answer back, reject it")


def _find(connection: Connection, review_id: str) -> str:
    """The id that begins so; people type the first characters of it. A whole one is returned as it is: a search for a
    beginning may read the whole table, and programs, which have whole ids, decide many."""
    wanted = review_id.strip()
    if not wanted.isalnum() or not wanted.isascii():
        raise _no_such(review_id)
    if len(wanted) == ID_LENGTH:
        return wanted
    query = select(ReviewRow.id).where(ReviewRow.id.startswith(wanted)).limit(2)
    found = list(connection.execute(query).scalars())
    if not found:
        raise _no_such(review_id)
    if len(found) > 1:
        raise ReviewError(f"several reviews begin with {review_id!r}; give more of its id")
    return found[0]


def _decided_text(row: Any) -> str:
    if row.state == "edited":
        text, wanted = _text(row.edited), row.edited_hash
    else:
        text, wanted = (json.loads(row.package)["output"] if row.package else None), row.output_hash
    if text is None:
        raise ReviewError(f"the text of review {row.id} was deleted by retention; it cannot be released any more")
    if content_hash(text) != wanted:
        raise ReviewError(f"the text of review {row.id} is not the one that was decided on; it is not released")
    return str(text)


def _text(stored: str | None) -> str | None:
    return None if stored is None else str(json.loads(stored))


def _note(connection: Connection, review_id: str, at: float, event: str, actor: str | None, version: int) -> None:
    row = {"review_id": review_id, "at": at, "event": event, "actor": actor, "version": version}
    connection.execute(insert(ReviewEventRow), row)
