"""Tells a webhook of new reviews: signed, retried with growing pauses, never lost between queue and call.

A notice is stored together with the item. Whoever sends takes it for a while first (a lease), so that of two services
one calls; if it dies, another takes it when the lease has run out. So a receiver may get a call twice, with one `id`.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from evidencerails import __version__
from evidencerails.errors import SettingsError, StoreError
from evidencerails.operations.review.address import AddressError, target_of
from evidencerails.settings.environment import variable
from evidencerails.settings.escalation import WebhookSettings

if TYPE_CHECKING:
    from evidencerails.operations.store.store import Store

log = logging.getLogger("evidencerails")

SIGNATURE_HEADER = "X-Evidencerails-Signature"
FIRST_PAUSE_S = 1.0
MAX_PAUSE_S = 120.0
LEASE_S = 60.0
MAX_AGE_S = 300.0
"""How old a signature may be for `is_signed` to accept it: a call that was recorded cannot be played again later."""


def signature(secret: str, body: bytes, *, at: int) -> str:
    """The value of the signature header: `t=SECONDS,v1=HEX`, HMAC-SHA256 over `SECONDS.body`."""
    digest = hmac.new(secret.encode("utf-8"), f"{at}.".encode("ascii") + body, hashlib.sha256).hexdigest()
    return f"t={at},v1={digest}"


def is_signed(secret: str, body: bytes, header: str, *, now: float | None = None, max_age_s: float = MAX_AGE_S) -> bool:
    """For receivers: true if the call comes from who knows the secret, and lately."""
    fields = dict(part.partition("=")[::2] for part in header.split(","))
    at = fields.get("t", "")
    if not (at.isascii() and at.isdigit()) or len(at) > 12:
        return False
    if abs((time.time() if now is None else now) - int(at)) > max_age_s:
        return False
    return hmac.compare_digest(signature(secret, body, at=int(at)).encode("ascii"), header.encode("utf-8", "replace"))


class Sent(NamedTuple):
    """What one round of sending did."""

    sent: int
    failed: int
    given_up: int


class Notifier:
    """Sends the notices that wait in the store.

    Args:
        prefix: how the subject of its notices begins; empty for those of reviews, which begin with no word and a colon.

    Raises:
        SettingsError: the variable with the secret is not set.
    """

    def __init__(self, store: Store, settings: WebhookSettings, *, prefix: str = "") -> None:
        self._store, self._settings, self._prefix = store, settings, prefix
        secret = variable(settings.secret_env)
        if not secret:
            raise SettingsError(
                f"escalation.webhook.secret_env: the environment variable {settings.secret_env!r} is not set; "
                "set it to the secret that signs the calls"
            )
        self._secret = secret
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
            self._thread.join(self._settings.timeout_s + 5)

    def send_due(self) -> Sent:
        """Send every notice whose time has come, once each.

        Raises:
            StoreError: the database does not answer.
        """
        sent = failed = given_up = 0
        while (notice := self._take()) is not None:
            error = self._call(notice.body)
            if error is None:
                sent += 1
            elif notice.attempts >= self._settings.max_attempts:
                given_up += 1
            else:
                failed += 1
            self._record(notice, error)
        return Sent(sent, failed, given_up)

    def _run(self) -> None:
        pause: float | None = None
        while not self._is_closed:
            self._wake.wait(pause)
            self._wake.clear()
            if self._is_closed:
                return
            try:
                self.send_due()
                pause = self._next_pause_s()
            except StoreError as error:
                log.error("evidencerails: webhook notices cannot be read: %s", error)
                pause = MAX_PAUSE_S

    def _next_pause_s(self) -> float | None:
        from sqlalchemy import func, select

        from evidencerails.operations.store.engine import reading
        from evidencerails.operations.store.models import NoticeRow

        with reading(self._store.engine) as connection:
            query = select(func.min(NoticeRow.next_at)).where(NoticeRow.state == "waiting", self._is_ours())
            due = connection.execute(query).scalar()
        return None if due is None else max(0.1, due - self._store.clock.now())

    def _is_ours(self) -> Any:
        from evidencerails.operations.store.models import NoticeRow

        return NoticeRow.subject.startswith(self._prefix) if self._prefix else ~NoticeRow.subject.contains(":")

    def _take(self) -> _Notice | None:
        from sqlalchemy import select, update

        from evidencerails.operations.store.engine import writing
        from evidencerails.operations.store.models import NoticeRow

        now = self._store.clock.now()
        with writing(self._store.engine) as connection:
            query = select(NoticeRow.id, NoticeRow.body, NoticeRow.attempts).where(
                NoticeRow.state == "waiting", NoticeRow.next_at <= now, self._is_ours()
            )
            row = connection.execute(
                query.order_by(NoticeRow.next_at).limit(1).with_for_update(skip_locked=True)
            ).first()
            if row is None:
                return None
            taken = {"attempts": row.attempts + 1, "next_at": now + LEASE_S + self._settings.timeout_s}
            connection.execute(update(NoticeRow).where(NoticeRow.id == row.id).values(**taken))
        return _Notice(row.id, row.body.encode("ascii"), row.attempts + 1)

    def _record(self, notice: _Notice, error: str | None) -> None:
        from sqlalchemy import update

        from evidencerails.operations.store.engine import writing
        from evidencerails.operations.store.models import NoticeRow

        state = "sent" if error is None else "given_up" if notice.attempts >= self._settings.max_attempts else "waiting"
        if error is not None:
            tell: Callable[..., None] = log.error if state == "given_up" else log.warning
            tell("evidencerails: webhook call %d failed (%s): %s", notice.attempts, state, error)
        values = {"state": state, "error": error, "next_at": self._store.clock.now() + _pause_s(notice.attempts)}
        with writing(self._store.engine) as connection:
            connection.execute(update(NoticeRow).where(NoticeRow.id == notice.id).values(**values))

    def _call(self, body: bytes) -> str | None:
        """Make one call; what went wrong, or None."""
        import httpx

        try:
            target = target_of(self._settings.url, allow_private=self._settings.allow_private)
        except AddressError as error:
            return str(error)
        headers = {
            "Host": target.host_header,
            "Content-Type": "application/json",
            "User-Agent": f"evidencerails/{__version__}",
            SIGNATURE_HEADER: signature(self._secret, body, at=int(time.time())),
        }
        extensions = {"sni_hostname": target.host} if target.is_encrypted else {}
        try:
            # No proxy and no redirect: both would take the call to an address that nobody has looked at.
            with httpx.Client(timeout=self._settings.timeout_s, follow_redirects=False, trust_env=False) as client:
                answer = client.post(target.url, content=body, headers=headers, extensions=extensions)
        except httpx.HTTPError as error:
            return f"{type(error).__name__}: {error}"[:200]
        return None if answer.is_success else f"HTTP {answer.status_code}"


class _Notice(NamedTuple):
    id: int
    body: bytes
    attempts: int


def _pause_s(attempts: int) -> float:
    """Seconds to the next call: 1, 2, 4, ... at most 120, and a little by chance, so that services spread out."""
    from tenacity import RetryCallState, wait_exponential_jitter

    pause = wait_exponential_jitter(initial=FIRST_PAUSE_S, max=MAX_PAUSE_S, jitter=FIRST_PAUSE_S / 4)
    state = RetryCallState(retry_object=None, fn=None, args=(), kwargs={})  # type: ignore[arg-type]
    state.attempt_number = attempts
    return float(pause(state))
