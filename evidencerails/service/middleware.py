"""Around every request: its id, its size and pace, its time, and headers that keep browsers from doing more than asked.

Plain ASGI: a stream must pass through without being collected.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from evidencerails.errors import traceback_summary
from evidencerails.operations.telemetry.logs import request_context
from evidencerails.service.problems import problem_body

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from evidencerails.settings.service import ServiceSettings

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
LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")

Observe = Callable[[str, str, int, float], None]
"""Called with method, route, status and seconds of each request."""


class Envelope:
    """The outermost layer of the service."""

    def __init__(self, app: ASGIApp, *, settings: ServiceSettings, needs_local_name: bool, observe: Observe) -> None:
        self.app = app
        self._settings = settings
        self._needs_local_name = needs_local_name
        self._observe = observe

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = _Request(scope, send)
        with request_context(request.id, scope["headers"]):
            try:
                await self._answer(request, scope, receive)
            finally:
                self._note(request, scope)

    async def _answer(self, request: _Request, scope: Scope, receive: Receive) -> None:
        scope.setdefault("state", {})["request_id"] = request.id
        if self._needs_local_name and not _is_local_name(request.header(b"host")):
            # A page on another site can reach a loopback service by a name that it lets resolve to 127.0.0.1.
            await request.refuse(421, "wrong_host", "this service answers to localhost only; see service.keys")
            return
        if request.header(b"transfer-encoding") and request.header(b"content-length"):
            # A proxy may have gone by the other of the two, and taken a part of this body for a request of its own.
            await request.refuse(400, "two_lengths", "send Content-Length or Transfer-Encoding, not both")
            return
        body = await self._body(request, receive)
        if body is None:
            return
        try:
            await self.app(scope, _replayed(body, receive), request.send)
        except asyncio.CancelledError:  # the server stops, and has waited as long as it may; the request ends here
            if request.status == 0:
                await request.refuse(503, "stopping", "the service stops before this request has ended; send it again")
        except Exception as error:  # a fault of ours: the caller gets an id to name, the log the place
            log.error("request failed: %s", traceback_summary(error))
            if request.status == 0:
                await request.refuse(500, "internal_error", "the service failed; its log has the reason")

    async def _body(self, request: _Request, receive: Receive) -> bytes | None:
        """The whole body; None if the request was refused or its sender is gone."""
        limit, timeout_s = self._settings.max_body_bytes, self._settings.client_timeout_s
        declared = request.header(b"content-length")
        try:
            is_too_large = declared.isdigit() and int(declared) > limit
            body = None if is_too_large else await asyncio.wait_for(_collected(receive, limit), timeout_s)
        except (asyncio.TimeoutError, TimeoutError):
            await request.refuse(408, "too_slow", f"the body did not arrive within {timeout_s:g} seconds")
            return None
        if is_too_large or (body is not None and len(body) > limit):
            await request.refuse(413, "too_large", f"the body is longer than {limit} bytes")
            return None
        return body

    def _note(self, request: _Request, scope: Scope) -> None:
        seconds = time.perf_counter() - request.started
        route = getattr(
            scope.get("route"), "path", "other"
        )  # the pattern: paths that a caller makes up stay out of labels
        self._observe(scope["method"], route, request.status, seconds)
        caller = scope.get("state", {}).get("caller", "-")
        level = logging.DEBUG if route in ("/healthz", "/readyz", "/metrics") else logging.INFO
        log.log(level, "%s %s %d %.0f ms key=%s", scope["method"], route, request.status, seconds * 1000, caller)


class _Request:
    """One request's id, clock and answer."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._headers: dict[bytes, bytes] = dict(scope["headers"])
        self._send = send
        self.started = time.perf_counter()
        self.status = 0
        asked = self.header(b"x-request-id")
        self.id = asked if REQUEST_ID.fullmatch(asked) else uuid.uuid4().hex

    def header(self, name: bytes) -> str:
        return self._headers.get(name, b"").decode("latin-1")

    async def send(self, message: Message) -> None:
        """Send a part of the answer, with our headers where the application set none of that name."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            present = {name.lower() for name, _ in message["headers"]}
            ours = {**SECURITY_HEADERS, "x-request-id": self.id}
            added = [(n.encode(), v.encode()) for n, v in ours.items() if n.encode() not in present]
            message = {**message, "headers": [*message["headers"], *added]}
        await self._send(message)

    async def refuse(self, status: int, code: str, message: str) -> None:
        """Answer with a problem; the connection ends, since its body may still be on the way."""
        body = json.dumps(problem_body(code, message, self.id)).encode()
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        await self.send({"type": "http.response.start", "status": status, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})


async def _collected(receive: Receive, limit: int) -> bytes | None:
    """The body, or a little more than `limit` of it; None if the client has gone."""
    parts, length = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        length += len(parts[-1])
        if length > limit or not message.get("more_body", False):
            return b"".join(parts)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """The body once, then what the server says: that the client has gone."""
    is_sent = False

    async def replay() -> Any:
        nonlocal is_sent
        if is_sent:
            return await receive()
        is_sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def _is_local_name(host: str) -> bool:
    name = host.rpartition(":")[0] if re.search(r":\d+$", host) else host
    return name.lower() in LOCAL_NAMES
