"""Dashboard logins: a signed cookie, and a token in every form that no other site can know.

The cookie holds who and until when, signed with a secret of the service; nothing is kept on the server, so several
services with one secret share logins. A key that is taken out of the settings, or exchanged, ends its sessions.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import time
from typing import TYPE_CHECKING

from evidencerails.errors import SettingsError
from evidencerails.settings.environment import variable
from evidencerails.settings.service import ApiKey, ServiceSettings

if TYPE_CHECKING:
    from evidencerails.service.keys import KeyRing

COOKIE = "evidencerails_session"
VISITOR = "local"
"""Name in the cookie of a service without keys: it only carries the token against forged forms."""
MIN_SECRET = 32


class Sessions:
    """Makes and reads session cookies.

    Raises:
        SettingsError: the secret of the environment is too short.
    """

    def __init__(self, settings: ServiceSettings, keys: KeyRing) -> None:
        given = variable(settings.session_secret_env)
        if given is not None and len(given) < MIN_SECRET:
            raise SettingsError(
                f"{settings.session_secret_env} has {len(given)} characters; give at least {MIN_SECRET} random ones"
            )
        self._secret = given.encode() if given is not None else secrets.token_bytes(32)
        self._keys = keys
        self.lasts_s = round(settings.session_hours * 3600)

    def cookie_of(self, key: ApiKey | None) -> str:
        """A new cookie for the holder of a key, or for a visitor of a service without keys."""
        name, mark = (key.name, key.sha256[:16]) if key is not None else (VISITOR, "")
        fields = [name, mark, str(int(time.time()) + self.lasts_s), secrets.token_hex(8)]
        payload = base64.urlsafe_b64encode("\n".join(fields).encode()).decode()
        return f"{payload}.{self._sign('session', payload)}"

    def key_of(self, cookie: str) -> ApiKey | None:
        """The key whose holder has this cookie; None if it is forged, over, or its key is gone."""
        fields = self._fields(cookie)
        if fields is None:
            return None
        name, mark = fields
        return next((key for key in self._keys.keys if key.name == name and key.sha256[:16] == mark), None)

    def is_valid(self, cookie: str) -> bool:
        """True if the service has made this cookie, and it is not over."""
        return self._fields(cookie) is not None

    def form_token(self, cookie: str) -> str:
        """What a form of this session must send along."""
        return self._sign("form", cookie)

    def is_form_token(self, cookie: str, token: str) -> bool:
        """True if the form was made for this session."""
        return self.is_valid(cookie) and hmac.compare_digest(self.form_token(cookie).encode(), token.encode())

    def _fields(self, cookie: str) -> tuple[str, str] | None:
        payload, _, signature = cookie.partition(".")
        if not hmac.compare_digest(self._sign("session", payload).encode(), signature.encode()):
            return None
        name, mark, until, _ = base64.urlsafe_b64decode(payload).decode().split("\n")
        return (name, mark) if time.time() < int(until) else None

    def _sign(self, purpose: str, text: str) -> str:
        message = f"{purpose}\n{text}".encode("utf-8", "surrogateescape")
        return hmac.new(self._secret, message, hashlib.sha256).hexdigest()
