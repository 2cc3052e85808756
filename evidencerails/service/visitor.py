"""Who looks at a page: session, permissions, and forms that only this service can have made.

The session is Starlette's: a cookie that holds who and until when, signed with a secret of the service. Nothing is kept
on the server, so several services with one secret share logins. A key that is taken out of the settings, or exchanged,
ends its sessions.
"""

from __future__ import annotations

import hmac
import secrets
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from starlette.formparsers import MultiPartException

from evidencerails.errors import SettingsError
from evidencerails.service.access import LOCAL, Caller, address_of
from evidencerails.service.keys import Permission
from evidencerails.service.problems import Problem
from evidencerails.service.templating import render
from evidencerails.settings.environment import variable
from evidencerails.settings.service import ApiKey

SECRET_VARIABLE = "EVIDENCERAILS_SESSION_SECRET"
"""Environment variable with the secret that signs sessions; unset: a new one at each start."""
MIN_SECRET = 32
MAX_FORM_FIELDS = 64
COOKIE = {"session_cookie": "evidencerails_session", "max_age": 12 * 3600, "same_site": "strict"}
"""Not for scripts (Starlette sees to that), not with requests from other sites, for twelve hours."""


def session_secret() -> str:
    """The secret that signs sessions."""
    given = variable(SECRET_VARIABLE)
    if given is not None and len(given) < MIN_SECRET:
        raise SettingsError(f"{SECRET_VARIABLE} has {len(given)} characters; give at least {MIN_SECRET} random ones")
    return given or secrets.token_hex(32)


def log_in(request: Request, key: ApiKey) -> None:
    """Begin a session for the holder of a key."""
    request.session.clear()
    request.session.update({"key": _mark(key), "token": secrets.token_hex(16)})


def _mark(key: ApiKey) -> list[str]:
    return [key.name, key.sha256[:16]]


class Visitor:
    """Who looks at a page: a session, the permissions of its key, and the token for its forms."""

    def __init__(self, request: Request) -> None:
        state = request.app.state
        self.session = request.session
        self.has_keys = bool(state.keys)
        key = next((key for key in state.keys.keys if _mark(key) == self.session.get("key")), None)
        self.caller = Caller.of(key) if key is not None else None if self.has_keys else LOCAL
        self.token = str(self.session.setdefault("token", secrets.token_hex(16)))
        state.rate.take(f"page {key.name if key else address_of(request)}")

    def require(self, permission: Permission) -> Caller:
        """The caller, if it may; else a `Problem`: 303 to the login page, 403 the key's role does not allow it."""
        if self.caller is None:
            raise Problem(303, "login", "log in first", headers={"Location": "/login"})
        if permission not in self.caller.permissions:
            raise Problem(403, "forbidden", f"the API key {self.caller.name!r} may not {permission}")
        return self.caller

    def page(self, request: Request, name: str, *, status: int = 200, **values: Any) -> HTMLResponse:
        """A rendered page."""
        ours = {"caller": self.caller, "has_keys": self.has_keys, "token": self.token}
        return HTMLResponse(render(name, here=request.url.path, **ours, **values), status_code=status)


async def form_of(request: Request, visitor: Visitor) -> dict[str, Any]:
    """The fields of a form that this service has made for this session; 403 if it comes from elsewhere."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise Problem(403, "foreign_form", "this form was sent by another site")
    try:
        form = await request.form(max_files=1, max_fields=MAX_FORM_FIELDS, max_part_size=2**21)
    except (MultiPartException, ValueError) as error:
        raise Problem(400, "unreadable", f"the form cannot be read: {error}") from None
    token = form.get("token")
    if not isinstance(token, str) or not hmac.compare_digest(token.encode("utf-8", "replace"), visitor.token.encode()):
        raise Problem(403, "foreign_form", "this form is not of this session; load the page again")
    return dict(form)
