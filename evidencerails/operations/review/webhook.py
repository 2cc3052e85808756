"""Calls a webhook about new reviews and alerts: signed (https://www.standardwebhooks.com), retried with growing pauses,
never lost between database and call.

A notice is stored together with what it is about. Whoever sends it takes it for a while first (a lease), so that of two
services one calls; if it dies, another takes it when the lease has run out. So a receiver may get a call twice, with
one `webhook-id`.
"""

from __future__ import annotations

import logging
import random
import re
import threading
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import httpx
from sqlalchemy import func, insert, select, update
from standardwebhooks.webhooks import Webhook

from evidencerails import __version__
from evidencerails.errors import SettingsError, StoreError
from evidencerails.operations.store.engine import reading, writing
from evidencerails.operations.store.models import NoticeRow
from evidencerails.operations.store.records import as_json
from evidencerails.settings.addresses import AddressError, checked_target
from evidencerails.settings.environment import variable
from evidencerails.settings.operations import WebhookSettings

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

    from evidencerails.operations.store.store import Store

log = logging.getLogger("evidencerails")

FIRST_PAUSE_S, MAX_PAUSE_S = 1.0, 120.0
LEASE_S = 60.0
TIMEOUT_S = 5.0
MAX_ATTEMPTS = 8
"""Until a call is given up: with their pauses some 2 minutes."""
SECRET = re.compile(r"(?:whsec_)?(?:[A-Za-z0-9+/]{4}){6,}(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
"""At least 18 bytes in base64."""


def add_notice(connection: Connection, subject: str, body: dict[str, Any], now: float) -> None:
    """Store a notice, in the transaction of what it is about."""
    row = {"subject": subject, "body": as_json(body), "state": "waiting", "attempts": 0, "next_at": now}
    connection.execute(insert(NoticeRow), row)


class Notifier:
    """Sends the notices that wait in the store and whose subject begins with `prefix`; without one, those of reviews,
    which hold no colon."""

    def __init__(self, store: Store, settings: WebhookSettings, *, prefix: str = "") -> None:
        subject = NoticeRow.subject
        self._waiting = NoticeRow.state == "waiting", subject.startswith(prefix) if prefix else ~subject.contains(":")
        self._store, self._settings = store, settings
        self._signer = _signer(settings.secret_env)
        self._wake = threading.Event()
        self._is_closed = False
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def wake(self) -> None:
        """Send soon, in a thread of its own. Returns at once."""
        with self._lock:
            if self._thread is None and not self._is_closed:
                self._thread = threading.Thread(target=self._run, name="evidencerails-webhook", daemon=True)
                self._thread.start()
        self._wake.set()

    def close(self) -> None:
        """Stop sending; what waits stays in the store, and is sent by whoever opens it next."""
        self._is_closed = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join(TIMEOUT_S + 5)

    def send_due(self) -> list[str]:
        """Send every notice whose time has come, once each. Returns their states: `sent`, `waiting` or `given_up`."""
        outcomes: list[str] = []
        while (notice := self.take()) is not None:
            error, attempt = self._call(notice), notice.attempts + 1
            outcomes.append("sent" if error is None else "given_up" if attempt >= MAX_ATTEMPTS else "waiting")
            if error is not None:
                level = logging.ERROR if outcomes[-1] == "given_up" else logging.WARNING
                log.log(level, "evidencerails: webhook call %d failed (%s): %s", attempt, outcomes[-1], error)
            pause_s = min(MAX_PAUSE_S, FIRST_PAUSE_S * 2.0 ** (attempt - 1)) + random.uniform(0, 0.25)
            values = {"state": outcomes[-1], "error": error, "next_at": self._store.clock.now() + pause_s}
            with writing(self._store.engine) as connection:
                connection.execute(update(NoticeRow).where(NoticeRow.id == notice.id).values(**values))
        return outcomes

    def take(self) -> Row[Any] | None:
        """The next notice whose time has come, leased: nobody else gets it for a minute. None if there is none."""
        now = self._store.clock.now()
        due = select(NoticeRow).where(*self._waiting, NoticeRow.next_at <= now).order_by(NoticeRow.next_at).limit(1)
        with writing(self._store.engine) as connection:
            row = connection.execute(due.with_for_update(skip_locked=True)).first()
            if row is not None:
                taken = {"attempts": row.attempts + 1, "next_at": now + LEASE_S + TIMEOUT_S}
                connection.execute(update(NoticeRow).where(NoticeRow.id == row.id).values(**taken))
        return row

    def _run(self) -> None:
        pause: float | None = None
        while not self._is_closed:
            self._wake.wait(pause)
            self._wake.clear()
            if self._is_closed:
                return
            try:
                self.send_due()
                with reading(self._store.engine) as connection:
                    due = connection.execute(select(func.min(NoticeRow.next_at)).where(*self._waiting)).scalar()
                pause = None if due is None else max(0.1, due - self._store.clock.now())
            except StoreError as error:
                log.error("evidencerails: webhook notices cannot be read: %s", error)
                pause = MAX_PAUSE_S

    def _call(self, notice: Row[Any]) -> str | None:
        """Make one call; what went wrong, or None."""
        now, identity = datetime.now(timezone.utc), f"evidencerails-{notice.id}"
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"evidencerails/{__version__}",
            "webhook-id": identity,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": self._signer.sign(identity, now, notice.body),
        }
        try:
            url, host, extensions = checked_target(self._settings.url, allow_private=self._settings.allow_private)
            # No proxy and no redirect: both would take the call to an address that nobody has checked.
            with httpx.Client(timeout=TIMEOUT_S, follow_redirects=False, trust_env=False) as client:
                answer = client.post(url, content=notice.body, headers={**headers, **host}, extensions=extensions)
        except AddressError as error:
            return str(error)
        except httpx.HTTPError as error:
            return f"{type(error).__name__}: {error}"[:200]
        return None if answer.is_success else f"HTTP {answer.status_code}"


def _signer(secret_env: str) -> Webhook:
    secret = variable(secret_env) or ""
    if not SECRET.fullmatch(secret):
        state = "is no secret" if secret else "is not set"
        raise SettingsError(
            f"webhook.secret_env: the environment variable {secret_env!r} {state}; set it to the secret that signs the "
            "calls, 32 random bytes in base64, such as `openssl rand -base64 32` prints"
        )
    return Webhook(secret)
