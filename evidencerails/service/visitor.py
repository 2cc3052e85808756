"""Who looks at a page: session, permissions, and forms that only this service can have made."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response
from fastapi.responses import HTMLResponse
from starlette.formparsers import MultiPartException

from evidencerails.service.access import Caller
from evidencerails.service.keys import PERMISSIONS, Permission
from evidencerails.service.problems import Problem
from evidencerails.service.sessions import COOKIE, Sessions
from evidencerails.service.templating import render

MAX_FORM_FIELDS = 64


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
        self.caller: Caller | None = None
        if not self.has_keys:
            self.caller = Caller("local", PERMISSIONS["admin"], is_local=True)
        elif key is not None:
            self.caller = Caller(key.name, PERMISSIONS[key.role])
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


def set_cookie(request: Request, response: Response, cookie: str) -> None:
    """Hand the session to the browser: not to scripts, and not along with requests from other sites."""
    is_https = "https" in (request.url.scheme, request.headers.get("x-forwarded-proto"))
    lasts_s = request.app.state.sessions.lasts_s
    response.set_cookie(COOKIE, cookie, max_age=lasts_s, httponly=True, samesite="strict", secure=is_https)


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
