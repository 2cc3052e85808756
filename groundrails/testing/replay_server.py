"""A real HTTP server on loopback that answers from a script or a recording.

It speaks the OpenAI protocol, and at `/v1/messages` Anthropic's Messages protocol.
"""

from __future__ import annotations

import json
import logging
import select
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

from groundrails.testing.cassette import Cassette
from groundrails.testing.script import Cut, ReplayRequest, Reply, Rule, Script, TextSource, When
from groundrails.testing.wire import body_of, error_body, events_of
from groundrails.testing.wire_messages import message_error, message_events, message_of

log = logging.getLogger(__name__)

MESSAGES = "/messages"
"""End of the path of Anthropic's protocol."""
UNSCRIPTED_STATUS = 599
"""Status of the answer to a request that nothing was scripted for: no client takes it for a transient fault."""
POLL_S = 0.02
"""How often a delayed answer looks whether the client has hung up."""
_UNSET: Any = object()


class ReplayServer:
    """An OpenAI-compatible server for tests and demos: every client talks to it over real HTTP.

        with ReplayServer() as server:
            server.say("Paris.")                                # the next request, once
            server.reply(["Lyon.", "Nice."], when="capital")    # every request whose prompt says "capital"
            OpenAI(base_url=server.base_url, api_key="any")

    Serves `/v1/chat/completions` (with `n`, streaming, logprobs, tool calls), `/v1/completions` and `/v1/models`; any
    prefix before these paths will do, so Azure's deployment paths work too. A request that nothing was scripted for is
    answered with status 599 and stands in `unmatched`: no answer is ever made up, unless `default` was called.

    Args:
        cassette: a file made by a recording; its answers are replayed to equal requests, in their order.
        record_from: base URL of a real provider; requests that no rule answers go there and are recorded.
        models: what `/v1/models` lists.
        api_key: if set, requests without this key get a 401.
    """

    def __init__(
        self,
        cassette: str | Path | None = None,
        *,
        record_from: str | None = None,
        models: Sequence[str] = ("replay",),
        api_key: str | None = None,
    ) -> None:
        self.models = tuple(models)
        self.api_key = api_key
        self.cassette = Cassette.load(cassette) if cassette is not None else Cassette()
        self.requests: list[ReplayRequest] = []
        """Every request, in the order of arrival."""
        self.unmatched: list[ReplayRequest] = []
        """Requests that nothing was scripted for."""
        self.ignores_n = False
        """True to answer one completion whatever `n` says, as some servers do."""
        self._record_from = record_from
        self._refused: set[str] = set()
        self._script = Script()
        self._lock = threading.Lock()
        self._http: _Server | None = None
        self._thread: threading.Thread | None = None

    # ---- the script

    def say(self, *texts: str | Sequence[str | None]) -> None:
        """Answer the next requests that no `when` matches, one text (or list of completions) each, in this order."""
        for text in texts:
            self.reply(text)

    def reply(
        self,
        text: TextSource = _UNSET,
        *,
        when: When = None,
        times: int | None = None,
        status: int = 200,
        message: str = "",
        retry_after_s: float | None = None,
        delay_s: float = 0.0,
        chunk_delay_s: float = 0.0,
        cut: Cut = False,
        broken_json: bool = False,
        tool_calls: Sequence[Mapping[str, Any]] = (),
        logprobs: Sequence[tuple[str, float]] = (),
        reasoning: str | None = None,
        finish_reason: str | None = None,
        usage: tuple[int, int] | None = None,
    ) -> None:
        """Script one reply.

        Args:
            text: a string; None (null content); a list, taken in turn for the `n` completions and later requests; or a
                function of the request that returns one of these.
            when: a substring of the prompt, or a function of the request. Such rules come before those without.
            times: how many requests it answers: by default any number with `when`, one without.
            status: 400 or more makes it an error with `message`.
            delay_s, chunk_delay_s: wait before the answer, and between the chunks of a stream.
            cut: True breaks the connection in the middle of the answer, `"at_once"` before it.
            broken_json: the body ends in the middle, with status 200.
            tool_calls: mappings with `name` and `arguments`.
            logprobs: (token, natural-log probability) pairs.
            usage: (prompt tokens, completion tokens); counted in words by default.

        Raises:
            ValueError: neither a text nor a fault is given.
        """
        is_fault = status >= 400 or bool(cut) or broken_json or bool(tool_calls)
        if text is _UNSET and not is_fault:
            raise ValueError("a reply needs a text, tool calls, or a fault (status, cut, broken_json)")
        fault_text = None if tool_calls else "a text that does not arrive whole"
        reply = Reply(
            status=status,
            message=message,
            retry_after_s=retry_after_s,
            delay_s=delay_s,
            chunk_delay_s=chunk_delay_s,
            cut=cut,
            broken_json=broken_json,
            tool_calls=tuple(tool_calls),
            logprobs=tuple(logprobs),
            reasoning=reasoning,
            finish_reason=finish_reason,
            usage=usage,
        )
        times = 1 if times is None and when is None else times
        self._script.add(Rule(when, fault_text if text is _UNSET else text, times, reply))

    def default(self, text: TextSource) -> None:
        """Answer every request that no rule matches by this text."""
        self._script.set_default(Rule(None, text, None, Reply()))

    def refuse(self, *parameters: str) -> None:
        """Answer 400 to requests that carry one of these parameters (`n` only above 1), as some models do."""
        self._refused.update(parameters)

    def reset(self) -> None:
        """Forget the script, the refusals and the requests."""
        self._script.clear()
        self._refused.clear()
        with self._lock:
            self.requests.clear()
            self.unmatched.clear()

    @property
    def unused(self) -> int:
        """How many replies that were scripted a number of times are still waiting."""
        return self._script.unused

    @property
    def open_connections(self) -> int:
        """How many connections of clients are open now."""
        return 0 if self._http is None else self._http.open_count()

    # ---- the life of the server

    @property
    def base_url(self) -> str:
        """Base URL for clients; ends with `/v1`.

        Raises:
            RuntimeError: the server is not running.
        """
        if self._http is None:
            raise RuntimeError("the replay server is not running; use `with ReplayServer() as server:`")
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def start(self) -> ReplayServer:
        """Listen on a free port of the loopback interface, in a thread of its own."""
        self._http = _Server(self)
        self._thread = threading.Thread(
            target=self._http.serve_forever, args=(0.05,), name="replay-server", daemon=True
        )
        self._thread.start()
        return self

    def stop(self) -> None:
        """Close the port and every open connection; a delayed answer is dropped."""
        if self._http is not None and self._thread is not None:
            self._http.stop()
            self._thread.join()
            self._http = self._thread = None

    def __enter__(self) -> ReplayServer:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    async def __aenter__(self) -> ReplayServer:
        return self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    # ---- answering

    def answer(self, request: ReplayRequest) -> Reply:
        """Record a request and pick its reply."""
        with self._lock:
            self.requests.append(request)
        refusal = self._refusal(request)
        if refusal is not None:
            return refusal
        scripted = self._script.answer(request, n=1 if self.ignores_n else request.n)
        if scripted is not None:
            return scripted
        if self._record_from is not None:
            return self.cassette.record(request, self._record_from)
        return self.cassette.answer(request) or self._unscripted(request)

    def _refusal(self, request: ReplayRequest) -> Reply | None:
        if self.api_key is not None and self.api_key not in _keys(request):
            return Reply(status=401, message="Incorrect API key provided.")
        for name in sorted(self._refused & request.body.keys()):
            if name != "n" or request.n > 1:
                message = f"Unsupported parameter: '{name}' is not supported with this model."
                return Reply(status=400, message=message, param=name)
        return None

    def _unscripted(self, request: ReplayRequest) -> Reply:
        with self._lock:
            self.unmatched.append(request)
        message = f"ReplayServer: nothing scripted for this request; last user text: {request.last_user_text[:200]!r}"
        log.error("%s", message)
        return Reply(status=UNSCRIPTED_STATUS, message=message)


def _keys(request: ReplayRequest) -> tuple[str, ...]:
    bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
    return bearer, request.headers.get("api-key", ""), request.headers.get("x-api-key", "")


class _Server(ThreadingHTTPServer):
    """Keeps its open sockets, so that it can end without waiting for clients that keep theirs alive."""

    daemon_threads = False
    block_on_close = True
    request_queue_size = 256

    def __init__(self, replay: ReplayServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.replay = replay
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
    server: _Server
    _request: ReplayRequest | None = None

    def log_message(self, format: str, *args: Any) -> None:
        log.debug(format, *args)

    def do_GET(self) -> None:
        if urlsplit(self.path).path.endswith("/models"):
            listed = [{"id": name, "object": "model", "owned_by": "replay"} for name in self.server.replay.models]
            self._send(200, json.dumps({"object": "list", "data": listed}))
        else:
            self._send(404, json.dumps(error_body(404, f"no such path: {self.path}")))

    def do_POST(self) -> None:
        url = urlsplit(self.path)
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        if not url.path.endswith(("/completions", MESSAGES)):
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
            self._answer(request, self.server.replay.answer(request))
        except (_ClientGone, OSError):
            request.is_abandoned = True
            self.close_connection = True
        finally:
            self._finish()

    def _answer(self, request: ReplayRequest, reply: Reply) -> None:
        self._wait(reply.delay_s)
        if reply.cut == "at_once":
            return self._hang_up()
        request.status = reply.status
        is_chat = request.path.endswith("/chat/completions")
        if reply.raw is not None:
            self._send(reply.status, reply.raw, content_type=reply.content_type)
        elif reply.status >= 400:
            self._send_error(reply)
        elif request.is_streaming:
            is_message = request.path.endswith(MESSAGES)
            events = message_events(request, reply) if is_message else events_of(request, reply, is_chat=is_chat)
            self._stream(list(events), reply)
        else:
            is_message = request.path.endswith(MESSAGES)
            body = message_of(request, reply) if is_message else body_of(request, reply, is_chat=is_chat)
            self._send_whole(json.dumps(body, ensure_ascii=False), reply)

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
            self._write_chunk(event)
        if reply.cut:
            return self._hang_up()
        self._finish()
        self.wfile.write(b"0\r\n\r\n")

    def _write_chunk(self, event: str) -> None:
        data = event.encode("utf-8", "surrogatepass")
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def _send_error(self, reply: Reply) -> None:
        extra = {} if reply.retry_after_s is None else {"Retry-After": f"{reply.retry_after_s:g}"}
        if reply.status == UNSCRIPTED_STATUS:
            extra["x-should-retry"] = "false"
        message = reply.message or f"scripted failure {reply.status}"
        is_message = self._request is not None and self._request.path.endswith(MESSAGES)
        body = message_error(reply.status, message) if is_message else error_body(reply.status, message, reply.param)
        self._send(reply.status, json.dumps(body), extra)

    def _send(
        self, status: int, text: str, extra: Mapping[str, str] | None = None, content_type: str = "application/json"
    ) -> None:
        data = text.encode("utf-8", "surrogatepass")
        self._head(status, content_type, length=len(data), extra=extra)
        self._finish()
        self.wfile.write(data)

    def _head(
        self, status: int, content_type: str, *, length: int | None, extra: Mapping[str, str] | None = None
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        if length is None:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(length))
        for name, value in (extra or {}).items():
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
