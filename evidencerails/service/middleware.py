"""Around every request: its id, its size and pace, its time, and headers that keep browsers from doing more than asked.

Plain ASGI: a stream must pass through without being collected.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse

from evidencerails.operations.telemetry.logs import request_context
from evidencerails.service.problems import Problem, problem_body, problem_of

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from evidencerails.settings.operations import ServiceSettings

log = logging.getLogger("evidencerails.service")

REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
"""What is taken over from a caller's X-Request-ID; anything else gets a new one, since it goes into logs."""
PAGE_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
SECURITY_HEADERS = {
    "content-security-policy": PAGE_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
LOCAL_HOST = re.compile(r"(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?", re.IGNORECASE)
QUIET_ROUTES = ("/healthz", "/readyz", "/metrics")


class Envelope:
    """The outermost layer of the service; `observe` is called with method, route, status and seconds of a request."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        settings: ServiceSettings,
        needs_local_name: bool,
        observe: Callable[[str, str, int, float], None],
    ) -> None:
        self.app, self._settings = app, settings
        self._needs_local_name, self._observe = needs_local_name, observe

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers, started, status = Headers(scope=scope), time.perf_counter(), 0
        asked = headers.get("x-request-id", "")
        identity = asked if REQUEST_ID.fullmatch(asked) else uuid.uuid4().hex

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                is_https = "https" in (scope["scheme"], headers.get("x-forwarded-proto"))
                _complete(MutableHeaders(scope=message), identity, is_https=is_https)
            await send(message)

        with request_context(identity, scope["headers"]):
            try:
                await self._answer(scope, headers, receive, answer)
            except (Exception, asyncio.CancelledError) as error:  # the last boundary: a caller gets an id, the log why
                if isinstance(error, asyncio.CancelledError):  # the server stops, and has waited as long as it may
                    error = Problem(503, "stopping", "the service stops before this request has ended; send it again")
                problem = problem_of(error, "request")
                if status == 0:  # the connection ends, since the body may still be on the way
                    body = problem_body(problem.code, problem.message, identity)
                    await JSONResponse(body, problem.status_code, {"connection": "close"})(scope, receive, answer)
            finally:
                self._note(scope, status, time.perf_counter() - started)

    async def _answer(self, scope: Scope, headers: Headers, receive: Receive, answer: Send) -> None:
        if self._needs_local_name and not LOCAL_HOST.fullmatch(headers.get("host", "")):
            # A page on another site can reach a loopback service by a name that it lets resolve to 127.0.0.1.
            raise Problem(421, "wrong_host", "this service answers to localhost only; see service.keys")
        if "transfer-encoding" in headers and "content-length" in headers:
            # A proxy may have gone by the other of the two, and taken a part of this body for a request of its own.
            raise Problem(400, "two_lengths", "send Content-Length or Transfer-Encoding, not both")
        limit, timeout_s = self._settings.max_body_bytes, self._settings.client_timeout_s
        declared = headers.get("content-length", "")
        try:
            is_too_large = declared.isdigit() and int(declared) > limit
            body = b"" if is_too_large else await asyncio.wait_for(_collected(receive, limit), timeout_s)
        except (asyncio.TimeoutError, TimeoutError):
            raise Problem(408, "too_slow", f"the body did not arrive within {timeout_s:g} seconds") from None
        if is_too_large or (body is not None and len(body) > limit):
            raise Problem(413, "too_large", f"the body is longer than {limit} bytes")
        if body is not None:
            await self.app(scope, _replayed(body, receive), answer)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "other")  # the pattern: paths of a caller's stay out of labels
        self._observe(scope["method"], route, status, seconds)
        level = logging.DEBUG if route in QUIET_ROUTES else logging.INFO
        caller = scope.get("state", {}).get("caller", "-")
        log.log(level, "%s %s %d %.0f ms key=%s", scope["method"], route, status, seconds * 1000, caller)


def _complete(headers: MutableHeaders, identity: str, *, is_https: bool) -> None:
    """Our headers where the application set none of that name; cookies only by TLS where it is spoken."""
    for name, value in {**SECURITY_HEADERS, "x-request-id": identity}.items():
        headers.setdefault(name, value)
    if is_https and "set-cookie" in headers:
        headers["set-cookie"] += "; secure"


async def _collected(receive: Receive, limit: int) -> bytes | None:
    """The body, or a little more than `limit` of it; None if the client has gone."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        if len(body) > limit or not message.get("more_body", False):
            return bytes(body)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """The body once, then what the server says: that the client has gone."""
    parts = [body]

    async def replay() -> Any:
        return {"type": "http.request", "body": parts.pop(), "more_body": False} if parts else await receive()

    return replay
