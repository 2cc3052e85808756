"""Who looks at a page: session, permissions, and forms that only this service can have made.

The session cookie holds who and until when, signed with a secret of the service; nothing is kept on the server, so
several services with one secret share logins. A key that is taken out of the settings, or exchanged, ends its sessions.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from fastapi import Request, Response
from fastapi.responses import HTMLResponse
from itsdangerous import BadData, Signer, URLSafeTimedSerializer
from starlette.formparsers import MultiPartException

from evidencerails.errors import SettingsError
from evidencerails.service.access import LOCAL, Caller
from evidencerails.service.keys import Permission
from evidencerails.service.problems import Problem
from evidencerails.service.templating import render
from evidencerails.settings.environment import variable
from evidencerails.settings.service import ApiKey

if TYPE_CHECKING:
    from evidencerails.service.keys import KeyRing

COOKIE = "evidencerails_session"
VISITOR = "local"
"""Name in the cookie of a service without keys: it only carries the token against forged forms."""
SECRET_VARIABLE = "EVIDENCERAILS_SESSION_SECRET"
"""Environment variable with the secret that signs sessions; unset: a new one at each start."""
MIN_SECRET = 32
MAX_FORM_FIELDS = 64
SESSION_S = 12 * 3600
"""How long a dashboard login lasts."""


class Sessions:
    """Makes and reads session cookies.

    Raises:
        SettingsError: the secret of the environment is too short.
    """

    def __init__(self, keys: KeyRing) -> None:
        given = variable(SECRET_VARIABLE)
        if given is not None and len(given) < MIN_SECRET:
            raise SettingsError(
                f"{SECRET_VARIABLE} has {len(given)} characters; give at least {MIN_SECRET} random ones"
            )
        secret = given or secrets.token_hex(32)
        self._cookies = URLSafeTimedSerializer(secret, salt="session")
        self._forms = Signer(secret, salt="form")
        self._keys = keys
        self.lasts_s = SESSION_S

    def cookie_of(self, key: ApiKey | None) -> str:
        """A new cookie for the holder of a key, or for a visitor of a service without keys."""
        name, mark = (key.name, key.sha256[:16]) if key is not None else (VISITOR, "")
        return str(self._cookies.dumps([name, mark, secrets.token_hex(8)]))

    def key_of(self, cookie: str) -> ApiKey | None:
        """The key whose holder has this cookie; None if it is forged, over, or its key is gone."""
        name, mark = self._fields(cookie) or ("", "")
        return next((key for key in self._keys.keys if key.name == name and key.sha256[:16] == mark), None)

    def is_valid(self, cookie: str) -> bool:
        """True if the service has made this cookie, and it is not over."""
        return self._fields(cookie) is not None

    def form_token(self, cookie: str) -> str:
        """What a form of this session must send along."""
        return self._forms.get_signature(cookie).decode("ascii")

    def is_form_token(self, cookie: str, token: str) -> bool:
        """True if the form was made for this session."""
        return self.is_valid(cookie) and self._forms.verify_signature(cookie, token.encode("utf-8", "replace"))

    def _fields(self, cookie: str) -> tuple[str, str] | None:
        try:
            name, mark, _ = self._cookies.loads(cookie, max_age=self.lasts_s)
        except (BadData, ValueError):
            return None
        return name, mark


class Visitor:
    """Who looks at a page: a session, the permissions of its key, and the token for its forms."""

    def __init__(self, request: Request) -> None:
        state = request.app.state
        self.sessions: Sessions = state.sessions
        self.cookie = request.cookies.get(COOKIE, "")
        self.has_keys = bool(state.keys)
        key = self.sessions.key_of(self.cookie) if self.has_keys else None
        self.is_new = not self.has_keys and not self.sessions.is_valid(self.cookie)
        if self.is_new:
            self.cookie = self.sessions.cookie_of(None)
        self.caller = Caller.of(key) if key is not None else None if self.has_keys else LOCAL
        state.rate.take(f"page {key.name if key else request.client.host if request.client else '-'}")

    def require(self, permission: Permission) -> Caller:
        """The caller, if it may.

        Raises:
            Problem: 303 to the login page; 403 the key's role does not allow it.
        """
        if self.caller is None:
            raise Problem(303, "login", "log in first", headers={"Location": "/login"})
        if permission not in self.caller.permissions:
            raise Problem(403, "forbidden", f"the API key {self.caller.name!r} may not {permission}")
        return self.caller

    def page(self, request: Request, name: str, *, status: int = 200, **values: Any) -> HTMLResponse:
        """A rendered page, with the session's cookie if it is new."""
        text = render(
            name,
            here=request.url.path,
            caller=self.caller,
            has_keys=self.has_keys,
            token=self.sessions.form_token(self.cookie),
            **values,
        )
        response = HTMLResponse(text, status_code=status)
        if self.is_new:
            set_cookie(request, response, self.cookie)
        return response


def set_cookie(request: Request, response: Response, cookie: str, *, name: str = COOKIE) -> None:
    """Hand a cookie, the session's unless named, to the browser: not to scripts, not with requests from other sites."""
    is_https = "https" in (request.url.scheme, request.headers.get("x-forwarded-proto"))
    lasts_s = request.app.state.sessions.lasts_s
    response.set_cookie(name, cookie, max_age=lasts_s, httponly=True, samesite="strict", secure=is_https)


async def form_of(request: Request, visitor: Visitor) -> dict[str, Any]:
    """The fields of a form that this service has made for this session.

    Raises:
        Problem: 403 it comes from elsewhere; 400 it cannot be read.
    """
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise Problem(403, "foreign_form", "this form was sent by another site")
    try:
        form = await request.form(max_files=1, max_fields=MAX_FORM_FIELDS, max_part_size=2**21)
    except (MultiPartException, ValueError) as error:
        raise Problem(400, "unreadable", f"the form cannot be read: {error}") from None
    token = form.get("token")
    if not isinstance(token, str) or not visitor.sessions.is_form_token(visitor.cookie, token):
        raise Problem(403, "foreign_form", "this form is not of this session; load the page again")
    return dict(form)
