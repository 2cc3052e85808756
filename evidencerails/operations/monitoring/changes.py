"""The change log, and which change may be behind a shift (control stack 20.7.3)."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from sqlalchemy import func, insert, select

from evidencerails.errors import InputError
from evidencerails.operations.store.engine import reading, writing
from evidencerails.operations.store.models import ChangeRow, ReportRow
from evidencerails.operations.store.records import as_json, plain_name

if TYPE_CHECKING:
    from evidencerails.operations.store.store import Store

MAX_DESCRIPTION = 1000
T = TypeVar("T")


class Change(NamedTuple):
    """Something that was changed in the system."""

    id: int
    at: float
    after_seq: int
    """`seq` of the last report before it."""
    description: str
    author: str | None
    state: str | None = None
    """Path of the configuration it led to; None if it was not said."""


def add_change(
    store: Store, description: str, *, author: str | None = None, at: float | None = None, state: str | None = None
) -> Change:
    """Write a change down: a new prompt, model, index, setting.

    Args:
        state: path of the configuration it led to, for bisection.

    Raises:
        InputError: the description is empty or too long.
        StoreError: the database does not take it.
    """
    text = description.strip()
    if not text or len(text) > MAX_DESCRIPTION:
        raise InputError(f"a change needs a description of 1 to {MAX_DESCRIPTION} characters, got {len(text)}")
    when = store.clock.now() if at is None else at
    with writing(store.engine) as connection:
        before = select(func.coalesce(func.max(ReportRow.seq), 0)).where(ReportRow.created_at <= when)
        seq = int(connection.execute(before).scalar_one())
        row = {"at": when, "after_seq": seq, "description": as_json(text), "author": plain_name(author)}
        row["state"] = None if state is None else as_json(state)
        made = connection.execute(insert(ChangeRow).returning(ChangeRow.id), row).scalar_one()
    return Change(int(made), when, seq, text, plain_name(author), state)


def changes(store: Store, *, since: float | None = None) -> list[Change]:
    """The changes, oldest first."""
    query = select(*(getattr(ChangeRow, name) for name in Change._fields)).order_by(ChangeRow.at, ChangeRow.id)
    if since is not None:
        query = query.where(ChangeRow.at >= since)
    with reading(store.engine) as connection:
        rows = connection.execute(query)
        return [
            Change(i, at, seq, json.loads(text), author, None if state is None else json.loads(state))
            for i, at, seq, text, author, state in rows
        ]


def nearest_change(known: Sequence[Change], began_seq: int, alarm_seq: int | None = None) -> Change | None:
    """The change that is likeliest behind a shift; None if there was none before its alarm.

    That is the last one before the shift began; but a chart often leaves 0 some reports too early, by chance, so the
    first change between that report and the alarm comes before it. By order of arrival, not by clock.
    """
    ordered = sorted(known, key=lambda change: (change.after_seq, change.at))
    inside = [change for change in ordered if alarm_seq is not None and began_seq <= change.after_seq < alarm_seq]
    before = [change for change in ordered if change.after_seq < began_seq]
    return inside[0] if inside else before[-1] if before else None


async def first_bad(states: Sequence[T], score: Callable[[T], Awaitable[float]], *, max_score: float) -> T | None:
    """The first of the states, in the order in which they came, whose score is above; found by bisection.

    Args:
        states: such as the settings after each change, the oldest first.
        score: the mean hallucination score of a state on an evaluation set, 0 to 1.

    Returns: None if the last state is not above either. It takes about log2(n) + 1 evaluations, and holds if every
    state after the first bad one is bad too.
    """
    if not states or await score(states[-1]) <= max_score:
        return None
    low, high = 0, len(states) - 1
    while low < high:
        middle = (low + high) // 2
        if await score(states[middle]) > max_score:
            high = middle
        else:
            low = middle + 1
    return states[low]
