"""Alerts: opened once, told again only after a while, and told to be over. Kept in the store, so that a restart or a
second monitor tells nothing twice."""

from __future__ import annotations

import json
import logging
import smtplib
import ssl
from collections.abc import Sequence
from email.message import EmailMessage
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from sqlalchemy import insert, select, update

from evidencerails.errors import SettingsError
from evidencerails.operations.monitoring.budget import CONSEQUENCES
from evidencerails.operations.monitoring.monitor import HOUR_S, GateFailures, View
from evidencerails.operations.monitoring.regressions import Regression
from evidencerails.operations.review.webhook import add_notice
from evidencerails.operations.store.clock import iso
from evidencerails.operations.store.engine import ALERTS, one_at_a_time, reading, writing
from evidencerails.operations.store.models import AlertRow
from evidencerails.operations.store.records import as_json
from evidencerails.settings.environment import variable
from evidencerails.settings.monitoring import AlertSettings, EmailSettings, MonitoringSettings

if TYPE_CHECKING:
    from evidencerails.operations.store.store import Store

log = logging.getLogger("evidencerails")

ELSEWHERE = frozenset({"redteam"})
"""Alerts that another command than the monitor opens and closes."""
SUBJECT = "alert:"
"""How the subject of an alert's notices begins."""
RECOMMENDED = (
    "inspect retrieval quality",
    "check for prompt drift",
    "verify the model's version",
    "review how fresh the evidence index is",
)
"""Control stack 20.7.2."""


class Condition(NamedTuple):
    """Something that is wrong now."""

    key: str
    """One alert is open for each."""
    message: str
    data: dict[str, Any]
    up_to: int = 0
    """`seq` of the newest report that it is about, where each is to be told of; a newer one is told at once."""


class Told(NamedTuple):
    """What was told about one alert."""

    event: Literal["opened", "repeated", "recovered"]
    key: str
    message: str


def conditions_of(view: View, settings: MonitoringSettings) -> list[Condition]:
    """What is wrong in a view: a shift upwards that is not over, a regression after a change, an exhausted
    budget, answers that failed the quality gate."""
    found = []
    worst = [row.id for row in view.worst]
    cusum = view.cusum
    if cusum.is_shifted and cusum.chart is not None:
        last = cusum.shifts[-1]
        change = f"; the last change before it: {last.change.description!r}" if last.change is not None else ""
        message = (
            f"the hallucination score has risen from {cusum.chart.baseline:.3f} to {last.mean_since:.3f} "
            f"since about {iso(last.began_at)}{change}"
        )
        data = {"cusum": cusum.up, "threshold": cusum.chart.threshold_up, "mean_score": view.window.mean_score}
        found.append(Condition("shift", message, {**data, "worst": worst, "recommended": list(RECOMMENDED)}))
    for regression in view.regressions:
        if not regression.is_over:
            found.append(_regressed(regression, worst))
    if view.budget.state == "exhausted":
        spent = view.budget.share_spent or 0.0
        message = f"the error budget of {settings.budget.window_days:g} days is spent: {spent:.0%}"
        found.append(Condition("budget", message, {"worst": worst, "recommended": list(CONSEQUENCES)}))
    if view.gate.answers:
        found.append(_failed_gate(view.gate, settings))
    return found


def _failed_gate(failures: GateFailures, settings: MonitoringSettings) -> Condition:
    """The output alerts of control stack 20.7.2: many at once are one message, and each is in one."""
    count = "an answer" if failures.answers == 1 else f"{failures.answers} answers"
    named = ", ".join(f"{row.id} (score {row.hallucination_score:.2f})" for row in failures.worst)
    message = f"{count} failed the quality gate in the last {settings.alerts.gate_window_h:g} h"
    outputs = [
        {
            "id": row.id,
            "at": iso(row.created_at),
            "severity": row.risk_level,
            "stakes": row.stakes,
            "decision": row.decision,
            "hallucination_score": row.hallucination_score,
            "composite_score": row.composite_score,
        }
        for row in failures.worst
    ]
    return Condition(
        "quality_gate", f"{message}; the worst: {named}" if named else message, {"outputs": outputs},
        up_to=failures.newest_seq,
    )  # fmt: skip


def _regressed(regression: Regression, worst: list[str]) -> Condition:
    first, *others = regression.changes
    named = ", ".join(repr(change.description) for change in regression.changes)
    message = f"the hallucination score rose from {regression.before:.3f} to {regression.after:.3f} after {named}"
    steps = ["take the change back, or look at the worst answers since"]
    if others:
        steps.append("find the one of them that did it: `evidencerails bisect`")
    return Condition(f"regression-{first.id}", message, {"worst": worst, "recommended": steps})


def tell(
    store: Store, conditions: Sequence[Condition], settings: AlertSettings, *, only: str | None = None
) -> list[Told]:
    """Open, repeat and close alerts, and tell whoever is to be told.

    `only` is the key of the one alert that the caller knows about, such as the red team's: it leaves the others as they
    are, and the monitor leaves that one.

    Raises:
        StoreError: the database does not answer; nothing is told then.
    """
    now = store.clock.now()
    with writing(store.engine) as connection:
        one_at_a_time(connection, ALERTS)
        rows = connection.execute(select(AlertRow.id, AlertRow.key, AlertRow.last_at, AlertRow.data).where(_OPEN)).all()
        is_open = {row.key: row for row in rows if (row.key not in ELSEWHERE if only is None else row.key == only)}
        told = []
        for condition in conditions:
            row = is_open.pop(condition.key, None)
            if row is None:
                values = {"opened_at": now, "last_at": now, "count": 1, "data": _kept(condition)}
                connection.execute(insert(AlertRow), {"key": condition.key, **values})
                told.append(Told("opened", condition.key, condition.message))
            elif now - row.last_at >= settings.repeat_h * HOUR_S or condition.up_to > _read(row.data)[1]:
                changed = {"last_at": now, "count": AlertRow.count + 1, "data": _kept(condition)}
                connection.execute(update(AlertRow).where(AlertRow.id == row.id).values(**changed))
                told.append(Told("repeated", condition.key, condition.message))
        for row in is_open.values():
            connection.execute(update(AlertRow).where(AlertRow.id == row.id).values(closed_at=now))
            told.append(Told("recovered", row.key, f"over: {_read(row.data)[0]}"))
        if settings.webhook is not None:
            for one in told:
                data = next((c.data for c in conditions if c.key == one.key), {})
                body = {"event": f"alert.{one.event}", "alert": one.key, "message": one.message, "at": iso(now), **data}
                add_notice(connection, SUBJECT + one.key, body, now)
    for one in told:
        log.log(
            logging.INFO if one.event == "recovered" else logging.WARNING,
            "evidencerails: %s: %s",
            one.event,
            one.message,
        )
        if settings.email is not None:
            _mail(one, settings.email)
    return told


def open_alerts(store: Store) -> list[tuple[str, float, str]]:
    """The open alerts: key, since when, message."""
    with reading(store.engine) as connection:
        rows = connection.execute(select(AlertRow.key, AlertRow.opened_at, AlertRow.data).where(_OPEN))
        return [(key, at, _read(data)[0]) for key, at, data in rows]


_OPEN = AlertRow.closed_at.is_(None)


def _kept(condition: Condition) -> str:
    """What the store keeps of a condition: its words, and how far it has told."""
    return as_json({"message": condition.message, "up_to": condition.up_to} if condition.up_to else condition.message)


def _read(data: str) -> tuple[str, int]:
    """Words and place of a kept condition."""
    value = json.loads(data)
    return (str(value["message"]), int(value["up_to"])) if isinstance(value, dict) else (str(value), 0)


def _mail(told: Told, settings: EmailSettings) -> None:
    """Send one mail; a failure is logged, since the alert itself is in the store and in the log."""
    message = EmailMessage()
    message["Subject"] = f"evidencerails: {told.key} {told.event}"
    message["From"], message["To"] = settings.sender, ", ".join(settings.to)
    message.set_content(told.message)
    try:
        with smtplib.SMTP(settings.host, settings.port, timeout=settings.timeout_s) as server:
            if settings.starttls:
                server.starttls(context=ssl.create_default_context())
            if settings.user is not None:
                server.login(settings.user, _password(settings))
            server.send_message(message)
    except (OSError, smtplib.SMTPException, SettingsError) as error:
        log.error("evidencerails: the mail about %s could not be sent: %s: %s", told.key, type(error).__name__, error)


def _password(settings: EmailSettings) -> str:
    value = variable(settings.password_env)
    if not value:
        raise SettingsError(f"the environment variable {settings.password_env!r} is not set")
    return value
