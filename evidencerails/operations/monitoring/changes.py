"""The change log: which change may be behind a shift, and after which one the scores rose at once."""

from __future__ import annotations

import bisect
import json
import math
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import func, insert, select

from evidencerails.errors import InputError
from evidencerails.operations.store.engine import reading, writing
from evidencerails.operations.store.models import ChangeRow, ReportRow
from evidencerails.operations.store.records import as_json, plain_name

if TYPE_CHECKING:
    from evidencerails.operations.store.queries import Summary
    from evidencerails.operations.store.store import Store

MAX_DESCRIPTION = 1000
Z_95 = 1.96
WINDOW = 200
"""Reports compared before and after a change, at most."""
MIN_INCREASE = 0.1
"""Increase of the mean score that counts, if it is also beyond chance (95%)."""
MIN_REPORTS = 30
"""On each side of a change; with fewer nothing is said, and changes closer than that are judged together."""


class Change(NamedTuple):
    """Something that was changed in the system, after the report of number `after_seq`; `state` is the path of the
    configuration it led to, if that was said."""

    id: int
    at: float
    after_seq: int
    description: str
    author: str | None
    state: str | None = None


def add_change(store: Store, description: str, *, author: str | None = None, state: str | None = None) -> Change:
    """Write a change down: a new prompt, model, index, setting; and the configuration it led to, for bisection."""
    text = description.strip()
    if not text or len(text) > MAX_DESCRIPTION:
        raise InputError(f"a change needs a description of 1 to {MAX_DESCRIPTION} characters, got {len(text)}")
    when, author = store.now(), plain_name(author)
    with writing(store.engine) as connection:
        before = select(func.coalesce(func.max(ReportRow.seq), 0)).where(ReportRow.created_at <= when)
        seq = int(connection.execute(before).scalar_one())
        row = {"at": when, "after_seq": seq, "description": as_json(text), "author": author}
        row["state"] = None if state is None else as_json(state)
        made = connection.execute(insert(ChangeRow).returning(ChangeRow.id), row).scalar_one()
    return Change(int(made), when, seq, text, author, state)


def changes(store: Store, *, since: float | None = None) -> list[Change]:
    query = select(*(getattr(ChangeRow, name) for name in Change._fields)).order_by(ChangeRow.at, ChangeRow.id)
    if since is not None:
        query = query.where(ChangeRow.at >= since)
    with reading(store.engine) as connection:
        rows = [Change(*row) for row in connection.execute(query)]
    return [
        row._replace(description=json.loads(row.description), state=json.loads(row.state or "null")) for row in rows
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


class Regression(NamedTuple):
    """One change, or several with too few reports between them to distinguish, after which scores rose: the mean scores
    before and after, and whether the newest reports are nearer to the level before."""

    changes: tuple[Change, ...]
    before: float
    after: float
    is_over: bool


def regressions(scored: Sequence[Summary], known: Sequence[Change]) -> tuple[Regression, ...]:
    """The regressions in reports that have a score, oldest first. By order of arrival, not by clock.

    A window holds at most `WINDOW` reports and ends at the next change, so that no change answers for another.
    """
    scores = [float(row.hallucination_score or 0.0) for row in scored]
    seqs = [row.seq for row in scored]
    groups: list[list[Change]] = []
    places: list[tuple[int, int]] = []  # reports before the first and before the last change of each group
    for change in sorted(known, key=lambda one: (one.after_seq, one.at)):
        place = bisect.bisect_right(seqs, change.after_seq)
        if groups and place - places[-1][1] < MIN_REPORTS:
            groups[-1].append(change)
            places[-1] = (places[-1][0], place)
        else:
            groups.append([change])
            places.append((place, place))
    found = []
    begins, ends = [0, *(last for _, last in places)], [*(first for first, _ in places[1:]), len(scores)]
    for group, (first, last), begin, end in zip(groups, places, begins, ends, strict=False):
        before, after = scores[begin:first][-WINDOW:], scores[last:end][:WINDOW]
        if min(len(before), len(after)) < MIN_REPORTS:
            continue
        low, high = statistics.fmean(before), statistics.fmean(after)
        if high - low > MIN_INCREASE and least_increase(before, after) > 0.0:
            now = statistics.fmean(scores[max(last, len(scores) - WINDOW) :])
            found.append(Regression(tuple(group), low, high, now - low <= (high - low) / 2.0))
    return tuple(found)


def least_increase(before: Sequence[float], after: Sequence[float]) -> float:
    """Lower end of the 95% interval of the difference of two means (Welch, normal approximation); two or more each."""
    error = math.sqrt(statistics.variance(before) / len(before) + statistics.variance(after) / len(after))
    return statistics.fmean(after) - statistics.fmean(before) - Z_95 * error
