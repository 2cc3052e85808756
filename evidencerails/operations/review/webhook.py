"""Calls a webhook about new reviews and alerts: signed (https://www.standardwebhooks.com), retried with growing pauses.

A receiver may get a call twice, with one `webhook-id`. What a call is about stays in the store, whatever becomes of it.
"""

from __future__ import annotations

import logging
import re
import threading
import uuid
from datetime import datetime, timezone
from typing import Any

import httpx
from standardwebhooks.webhooks import Webhook
from tenacity import RetryCallState, Retrying, retry_if_result, stop_after_attempt, wait_exponential_jitter
from tenacity.nap import sleep_using_event

from evidencerails.errors import SettingsError
from evidencerails.operations.store.records import as_json
from evidencerails.settings.addresses import AddressError, checked_target
from evidencerails.settings.environment import variable
from evidencerails.settings.operations import WebhookSettings
from evidencerails.version import __version__

log = logging.getLogger("evidencerails")

FIRST_PAUSE_S, MAX_PAUSE_S = 1.0, 120.0
TIMEOUT_S = 5.0
MAX_ATTEMPTS = 8
"""Until a call is given up: with their pauses some 2 minutes."""
SECRET = re.compile(r"(?:whsec_)?(?:[A-Za-z0-9+/]{4}){6,}(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
"""At least 18 bytes in base64."""


class Notifier:
    def __init__(self, settings: WebhookSettings) -> None:
        self._settings = settings
        self._signer = _signer(settings.secret_env)
        self._closed = threading.Event()

    def send_soon(self, body: dict[str, Any]) -> None:
        """Send in a thread of its own, with `MAX_ATTEMPTS`. Returns at once."""
        threading.Thread(target=self.send, args=(body,), name="evidencerails-webhook", daemon=True).start()

    def send(self, body: dict[str, Any], *, attempts: int = MAX_ATTEMPTS) -> bool:
        """Send a call and wait until it has arrived; false if it was given up, which is logged."""
        identity, text = f"evidencerails-{uuid.uuid4().hex}", as_json(body)

        def gave_up(state: RetryCallState) -> str | None:
            error = state.outcome.result() if state.outcome is not None else None
            log.error("evidencerails: a webhook call was given up after %d tries: %s", state.attempt_number, error)
            return str(error)

        retrying = Retrying(
            retry=retry_if_result(lambda error: error is not None and not self._closed.is_set()),
            stop=stop_after_attempt(attempts),
            wait=wait_exponential_jitter(FIRST_PAUSE_S, MAX_PAUSE_S, jitter=0.25),
            sleep=sleep_using_event(self._closed),
            retry_error_callback=gave_up,
        )
        return retrying(self._call, identity, text) is None

    def close(self) -> None:
        self._closed.set()

    def _call(self, identity: str, body: str) -> str | None:
        """Make one call; what went wrong, or None."""
        now = datetime.now(timezone.utc)
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"evidencerails/{__version__}",
            "webhook-id": identity,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": self._signer.sign(identity, now, body),
        }
        try:
            url, host, extensions = checked_target(self._settings.url, allow_private=self._settings.allow_private)
            # No proxy and no redirect: both would take the call to an address that nobody has checked.
            with httpx.Client(timeout=TIMEOUT_S, follow_redirects=False, trust_env=False) as client:
                answer = client.post(url, content=body, headers={**headers, **host}, extensions=extensions)
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
