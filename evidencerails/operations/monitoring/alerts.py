"""Alerts: sent once when they open, again after a while, and once when they are over. They are kept in the store, so
that a restart or a second monitor sends nothing twice."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from sqlalchemy import insert, select, update

from evidencerails.operations.monitoring.changes import Regression
from evidencerails.operations.monitoring.monitor import CONSEQUENCES, GATE_WINDOW_H, HOUR_S, GateFailures, View
from evidencerails.operations.review.webhook import Notifier
from evidencerails.operations.store.engine import ALERTS, one_at_a_time, writing
from evidencerails.operations.store.models import AlertRow
from evidencerails.operations.store.records import as_json
from evidencerails.operations.times import iso
from evidencerails.settings.operations import AlertSettings, MonitoringSettings

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from evidencerails.operations.store.store import Store

log = logging.getLogger("evidencerails")

ELSEWHERE = frozenset({"redteam"})
"""Alerts that another command than the monitor opens and closes."""
ATTEMPTS = 3
"""To call the webhook; what it did not get is sent again at the next look."""
RECOMMENDED = [
    "inspect retrieval quality",
    "check for prompt drift",
    "verify the model's version",
    "review how fresh the evidence index is",
]


class Condition(NamedTuple):
    """Something that is wrong now; one alert is open for each key. Where each report counts, `up_to` is the `seq` of
    the newest one, and a newer one is sent at once."""

    key: str
    message: str
    data: dict[str, Any]
    up_to: int = 0


class Notification(NamedTuple):
    """What was sent about one alert."""

    event: Literal["opened", "repeated", "recovered"]
    key: str
    message: str


def conditions_of(view: View, settings: MonitoringSettings) -> list[Condition]:
    """What is wrong in a view: a shift upwards that is not over, a regression after a change, an exhausted
    budget, answers that failed the quality gate."""
    found = []
    worst, cusum = [row.id for row in view.worst], view.cusum
    if cusum.is_shifted and cusum.chart is not None:
        last = cusum.shifts[-1]
        change = f"; the last change before it: {last.change.description!r}" if last.change is not None else ""
        message = (
            f"the hallucination score has risen from {cusum.chart.baseline:.3f} to {last.mean_since:.3f} "
            f"since about {iso(last.began_at)}{change}"
        )
        data = {"cusum": cusum.up, "threshold": cusum.chart.threshold_up, "mean_score": last.mean_since}
        found.append(Condition("shift", message, {**data, "worst": worst, "recommended": RECOMMENDED}))
    found += [_regressed(regression, worst) for regression in view.regressions if not regression.is_over]
    if view.budget.state == "exhausted":
        spent = view.budget.share_spent or 0.0
        message = f"the error budget of {settings.budget.window_days:g} days is spent: {spent:.0%}"
        found.append(Condition("budget", message, {"worst": worst, "recommended": list(CONSEQUENCES)}))
    if view.gate.answers:
        found.append(_failed_gate(view.gate))
    return found


def _failed_gate(failures: GateFailures) -> Condition:
    """One message for all that failed lately; each answer is in one."""
    count = "an answer" if failures.answers == 1 else f"{failures.answers} answers"
    message = f"{count} failed the quality gate in the last {GATE_WINDOW_H:g} h"
    if failures.worst:
        named = ", ".join(f"{row.id} (score {row.hallucination_score:.2f})" for row in failures.worst)
        message = f"{message}; the worst: {named}"
    fields = ("id", "stakes", "decision", "hallucination_score", "composite_score")
    outputs = [
        {"at": iso(row.created_at), "severity": row.risk_level, **{name: getattr(row, name) for name in fields}}
        for row in failures.worst
    ]
    return Condition("quality_gate", message, {"outputs": outputs}, up_to=failures.newest_seq)


def _regressed(regression: Regression, worst: list[str]) -> Condition:
    first, *others = regression.changes
    named = ", ".join(repr(change.description) for change in regression.changes)
    message = f"the hallucination score rose from {regression.before:.3f} to {regression.after:.3f} after {named}"
    steps = ["revert the change, or inspect the worst answers since"]
    steps += ["find the one of them that did it: `evidencerails bisect`"] if others else []
    return Condition(f"regression-{first.id}", message, {"worst": worst, "recommended": steps})


def notify(
    store: Store, conditions: Sequence[Condition], settings: AlertSettings, *, only: str | None = None
) -> list[Notification]:
    """Open, repeat and close alerts; log each of these and send it to the webhook.

    `only` is the key of the one alert that the caller knows about, such as the red team's: it leaves the others as they
    are, and the monitor leaves that one. If the database does not answer, nothing is sent.
    """
    now = store.now()
    with writing(store.engine) as connection:
        one_at_a_time(connection, ALERTS)
        sent = _update(connection, conditions, now, settings.repeat_h * HOUR_S, only)
    for one in sent:
        level = logging.INFO if one.event == "recovered" else logging.WARNING
        log.log(level, "evidencerails: %s: %s", one.event, one.message)
    if settings.webhook is not None and sent:
        notifier, data = Notifier(settings.webhook), {condition.key: condition.data for condition in conditions}
        for event, key, message in sent:
            body = {"event": f"alert.{event}", "alert": key, "message": message, "at": iso(now), **data.get(key, {})}
            if not notifier.send(body, attempts=ATTEMPTS):
                with writing(store.engine) as connection:
                    is_open = (AlertRow.key == key, AlertRow.closed_at.is_(None))
                    connection.execute(update(AlertRow).where(*is_open).values(last_at=0.0))
    return sent


def _update(
    connection: Connection, conditions: Sequence[Condition], now: float, repeat_s: float, only: str | None
) -> list[Notification]:
    rows = connection.execute(select(AlertRow).where(AlertRow.closed_at.is_(None))).all()
    is_open = {row.key: row for row in rows if (row.key not in ELSEWHERE if only is None else row.key == only)}
    sent = []
    for condition in conditions:
        row = is_open.pop(condition.key, None)
        values = {"last_at": now, "data": as_json({"message": condition.message, "up_to": condition.up_to})}
        if row is None:
            connection.execute(insert(AlertRow), {"key": condition.key, "opened_at": now, "count": 1, **values})
            sent.append(Notification("opened", condition.key, condition.message))
        elif now - row.last_at >= repeat_s or condition.up_to > json.loads(row.data)["up_to"]:
            connection.execute(update(AlertRow).where(AlertRow.id == row.id).values(**values, count=AlertRow.count + 1))
            sent.append(Notification("repeated", condition.key, condition.message))
    for row in is_open.values():
        connection.execute(update(AlertRow).where(AlertRow.id == row.id).values(closed_at=now))
        sent.append(Notification("recovered", row.key, f"over: {json.loads(row.data)['message']}"))
    return sent
