"""Who may do what: the key of a request, or the session of a page, and its permissions.

The session is Starlette's: a cookie that holds who and until when, signed with a secret of the service. Nothing is kept
on the server, so several services with one secret share logins. A key that is taken out of the settings, or exchanged,
ends its sessions.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse
from fastapi.security import APIKeyHeader, HTTPAuthorizationCredentials, HTTPBearer
from starlette.formparsers import MultiPartException

from evidencerails.errors import SettingsError
from evidencerails.service.keys import PERMISSIONS, Permission, find_key
from evidencerails.service.problems import Problem
from evidencerails.service.views import render
from evidencerails.settings.environment import variable
from evidencerails.settings.operations import ApiKey

MAX_KEY_CHARACTERS = 512

SECRET_VARIABLE = "EVIDENCERAILS_SESSION_SECRET"
"""Environment variable with the secret that signs sessions; unset: a new one at each start."""
MIN_SECRET = 32
MAX_FORM_FIELDS = 64
COOKIE: Any = {"session_cookie": "evidencerails_session", "max_age": 12 * 3600, "same_site": "strict"}
"""Not for scripts (Starlette sees to that), not with requests from other sites, for twelve hours."""

BEARER = HTTPBearer(auto_error=False, scheme_name="bearer", description="`Authorization: Bearer KEY`")
HEADER = APIKeyHeader(auto_error=False, scheme_name="header", name="X-API-Key", description="`X-API-Key: KEY`")


@dataclass(frozen=True)
class Caller:
    name: str
    permissions: frozenset[Permission]

    @classmethod
    def of(cls, key: ApiKey) -> Caller:
        return cls(key.name, PERMISSIONS[key.role])


LOCAL = Caller("local", PERMISSIONS["admin"])
"""Where the service has no keys: whoever reaches the loopback address may do all."""


def _caller_of(request: Request, presented: str) -> Caller:
    """Who sends this request, by its key. Cookies count for nothing: no other site can make a browser call the API."""
    state, caller = request.app.state, LOCAL
    if state.keys:
        key = find_key(state.keys, presented[:MAX_KEY_CHARACTERS]) if presented else None
        if key is None:
            code, message = "no_key", "send an API key: Authorization: Bearer KEY, or X-API-Key"
            if presented:
                code, message = "unknown_key", "this API key is not known"
            raise Problem(401, code, message, headers={"WWW-Authenticate": 'Bearer realm="evidencerails"'})
        caller = Caller.of(key)
    return caller


def may(*permissions: Permission) -> Any:
    """A dependency: the caller, if it has one of the permissions."""

    # A coroutine, since FastAPI runs a plain function in a thread, which costs more than the function does.
    async def checked(
        request: Request,
        bearer: Annotated[HTTPAuthorizationCredentials | None, Depends(BEARER)],
        header: Annotated[str | None, Depends(HEADER)],
    ) -> Caller:
        caller = _caller_of(request, (bearer.credentials if bearer else header or "").strip())
        request.state.caller = caller.name
        if caller.permissions.isdisjoint(permissions):
            raise Problem(
                403, "forbidden", f"this API key may not {' or '.join(permissions)}; it needs a role that may"
            )
        return caller

    return Depends(checked)


def session_secret() -> str:
    given = variable(SECRET_VARIABLE)
    if given is not None and len(given) < MIN_SECRET:
        raise SettingsError(f"{SECRET_VARIABLE} has {len(given)} characters; give at least {MIN_SECRET} random ones")
    return given or secrets.token_hex(32)


def log_in(request: Request, key: ApiKey) -> None:
    request.session.clear()
    request.session.update({"key": _mark(key), "token": secrets.token_hex(16)})


def _mark(key: ApiKey) -> list[str]:
    return [key.name, key.sha256[:16]]


class Visitor:
    """Who looks at a page: a session, the permissions of its key, and the token for its forms.

    Without one of the permissions that a page needs: 303 to the login page, or 403.
    """

    def __init__(self, request: Request, *permissions: Permission) -> None:
        state, self.request, self.session = request.app.state, request, request.session
        self.has_keys = bool(state.keys)
        key = next((key for key in state.keys if _mark(key) == self.session.get("key")), None)
        self.caller = Caller.of(key) if key is not None else None if self.has_keys else LOCAL
        self.name = key.name if key is not None else ""
        self.token = str(self.session.setdefault("token", secrets.token_hex(16)))
        if permissions and self.caller is None:
            raise Problem(303, "login", "log in first", headers={"Location": "/login"})
        if permissions and self.caller is not None and self.caller.permissions.isdisjoint(permissions):
            raise Problem(403, "forbidden", f"the API key {self.name!r} may not {' or '.join(permissions)}")

    def page(self, name: str, *, status: int = 200, **values: Any) -> HTMLResponse:
        ours = {"caller": self.caller, "has_keys": self.has_keys, "token": self.token}
        return HTMLResponse(render(name, here=self.request.url.path, **ours, **values), status_code=status)

    async def form(self) -> dict[str, Any]:
        """The fields of a form that this service has made for this session; 403 if it comes from elsewhere."""
        if self.request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            raise Problem(403, "foreign_form", "this form was sent by another site")
        try:
            form = await self.request.form(max_files=1, max_fields=MAX_FORM_FIELDS, max_part_size=2**21)
        except (MultiPartException, ValueError) as error:
            raise Problem(400, "unreadable", f"the form cannot be read: {error}") from None
        token = form.get("token")
        if not isinstance(token, str) or not hmac.compare_digest(token.encode("utf-8", "replace"), self.token.encode()):
            raise Problem(403, "foreign_form", "this form is not of this session; load the page again")
        return dict(form)
