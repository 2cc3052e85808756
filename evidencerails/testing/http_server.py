"""The HTTP side of the replay server: connections, bodies, streams, and the faults that a reply asks for."""

from __future__ import annotations

import json
import logging
import select
import socket
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from evidencerails.testing.script import ReplayRequest, Reply
from evidencerails.testing.wire import body_of, error_body, events_of

log = logging.getLogger(__name__)


class Protocol(NamedTuple):
    """How one protocol writes a reply to a request: as a body, as server-sent events, as an error."""

    body: Callable[[ReplayRequest, Reply], dict[str, Any]]
    events: Callable[[ReplayRequest, Reply], Iterable[str]]
    error: Callable[[int, str, str | None], dict[str, Any]]
    """From status, message and the parameter that it is about."""


PROTOCOLS = {
    f"/{'chat/' if is_chat else ''}completions": Protocol(
        partial(body_of, is_chat=is_chat), partial(events_of, is_chat=is_chat), error_body
    )
    for is_chat in (True, False)
}
"""By the end of the path; the first that fits answers. Another protocol is one more entry."""
UNSCRIPTED_STATUS = 599
"""Status of the answer to a request that nothing was scripted for: no client takes it for a transient fault."""
POLL_S = 0.02
"""How often a delayed answer looks whether the client has hung up."""


class HttpServer(ThreadingHTTPServer):
    """Keeps its open sockets, so that it can end without waiting for clients that keep theirs alive."""

    daemon_threads = False
    block_on_close = True
    request_queue_size = 256

    def __init__(self, answer: Callable[[ReplayRequest], Reply]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer
        self.stopping = threading.Event()
        self._open: set[socket.socket] = set()
        self._open_lock = threading.Lock()

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._open_lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._open_lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def open_count(self) -> int:
        with self._open_lock:
            return len(self._open)

    def handle_error(self, request: Any, client_address: Any) -> None:
        log.debug("connection of %s broke", client_address, exc_info=True)

    def stop(self) -> None:
        """End, and close the connections that clients keep."""
        self.stopping.set()
        self.shutdown()
        with self._open_lock:
            for connection in self._open:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    log.debug("connection was closed already")
        self.server_close()


class _ClientGone(Exception):
    """The client hung up, or the server is stopping."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: HttpServer
    _request: ReplayRequest | None = None

    def log_message(self, format: str, *args: Any) -> None:
        log.debug(format, *args)

    def do_GET(self) -> None:
        if urlsplit(self.path).path.endswith("/models"):
            model = {"id": "replay", "object": "model", "owned_by": "replay"}
            self._send(200, json.dumps({"object": "list", "data": [model]}))
        else:
            self._send(404, json.dumps(error_body(404, f"no such path: {self.path}")))

    def do_POST(self) -> None:
        url = urlsplit(self.path)
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        protocol = next((one for end, one in PROTOCOLS.items() if url.path.endswith(end)), None)
        if protocol is None:
            return self._send(404, json.dumps(error_body(404, f"no such path: {url.path}")))
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        if not isinstance(body, dict):
            return self._send(400, json.dumps(error_body(400, "the request body is not a JSON object")))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = ReplayRequest(path=url.path, query=url.query, body=body, headers=headers)
        self._request = request
        try:
            self._answer(protocol, request, self.server.answer(request))
        except (_ClientGone, OSError):
            request.is_abandoned = True
            self.close_connection = True
        finally:
            self._finish()

    def _answer(self, protocol: Protocol, request: ReplayRequest, reply: Reply) -> None:
        self._wait(reply.delay_s)
        if reply.cut == "at_once":
            return self._hang_up()
        request.status = reply.status
        if reply.status >= 400:
            extra = {} if reply.retry_after_s is None else {"Retry-After": f"{reply.retry_after_s:g}"}
            if reply.status == UNSCRIPTED_STATUS:
                extra["x-should-retry"] = "false"
            message = reply.message or f"scripted failure {reply.status}"
            self._send(reply.status, json.dumps(protocol.error(reply.status, message, reply.param)), extra)
        elif request.is_streaming:
            self._stream(list(protocol.events(request, reply)), reply)
        else:
            self._send_whole(json.dumps(protocol.body(request, reply), ensure_ascii=False), reply)

    def _send_whole(self, text: str, reply: Reply) -> None:
        if reply.broken_json:
            text = text[: len(text) // 2]
        if not reply.cut:
            return self._send(200, text)
        data = text.encode("utf-8", "surrogatepass")
        self._head(200, "application/json", length=len(data))
        self.wfile.write(data[: len(data) // 2])
        self._hang_up()

    def _stream(self, events: list[str], reply: Reply) -> None:
        self._head(200, "text/event-stream", length=None)
        if reply.broken_json:
            events = [*events[: len(events) // 2], 'data: {"choices": [{"del\n\n']
        for event in events[: max(1, len(events) // 2)] if reply.cut else events:
            self._wait(reply.chunk_delay_s)
            data = event.encode("utf-8", "surrogatepass")
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        if reply.cut:
            return self._hang_up()
        self._finish()
        self.wfile.write(b"0\r\n\r\n")

    def _send(self, status: int, text: str, extra: Mapping[str, str] | None = None) -> None:
        data = text.encode("utf-8", "surrogatepass")
        self._head(status, "application/json", length=len(data), extra=extra)
        self._finish()
        self.wfile.write(data)

    def _head(self, status: int, kind: str, *, length: int | None, extra: Mapping[str, str] | None = None) -> None:
        framing = {"Transfer-Encoding": "chunked"} if length is None else {"Content-Length": str(length)}
        self.send_response(status)
        for name, value in {"Content-Type": kind, **framing, **(extra or {})}.items():
            self.send_header(name, value)
        self.end_headers()

    def _wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if self.server.stopping.wait(min(POLL_S, left)) or self._client_hung_up():
                raise _ClientGone

    def _client_hung_up(self) -> bool:
        readable, _, _ = select.select([self.connection], [], [], 0)
        return bool(readable) and not self.connection.recv(1, socket.MSG_PEEK)

    def _finish(self) -> None:
        """Note the end before the client can see it: then a client that has its answer finds it noted."""
        if self._request is not None and self._request.finished_at is None:
            self._request.finished_at = time.monotonic()

    def _hang_up(self) -> None:
        self._finish()
        self.close_connection = True
        self.wfile.flush()
        self.connection.shutdown(socket.SHUT_RDWR)
