"""The replay server's HTTP and OpenAI protocol: connections, bodies, streams, and the faults that a reply asks for."""

from __future__ import annotations

import json
import logging
import re
import select
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from evidencerails.testing.script import ReplayRequest, Reply, Text


def body_of(request: ReplayRequest, reply: Reply, *, is_chat: bool) -> dict[str, Any]:
    """The JSON body of a whole, unstreamed answer."""
    prompt_tokens, completion_tokens = usage_of(request, reply)
    return {
        **_head(request, "chat.completion" if is_chat else "text_completion"),
        "choices": [_choice(i, text, reply, is_chat) for i, text in enumerate(reply.texts)],
        "usage": _usage_body(prompt_tokens, completion_tokens),
    }


def events_of(request: ReplayRequest, reply: Reply, *, is_chat: bool) -> Iterator[str]:
    """The server-sent events of a streamed answer, `[DONE]` included."""
    head = _head(request, "chat.completion.chunk" if is_chat else "text_completion")
    for index, text in enumerate(reply.texts):
        for choice in _stream_choices(index, text, reply, is_chat):
            yield _event({**head, "choices": [choice]})
    if (request.body.get("stream_options") or {}).get("include_usage"):
        yield _event({**head, "choices": [], "usage": _usage_body(*usage_of(request, reply))})
    yield "data: [DONE]\n\n"


def error_body(status: int, message: str, param: str | None = None) -> dict[str, Any]:
    """The error envelope of the OpenAI protocol."""
    kinds = {400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}
    code = "unsupported_value" if param else None
    kind = kinds.get(status, "server_error" if status >= 500 else "api_error")
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def _head(request: ReplayRequest, kind: str) -> dict[str, Any]:
    model = request.body.get("model") or "replay"
    return {"id": f"replay-{uuid.uuid4().hex[:12]}", "object": kind, "created": int(time.time()), "model": model}


def _choice(index: int, text: Text, reply: Reply, is_chat: bool) -> dict[str, Any]:
    reason = _finish_reason(reply)
    if not is_chat:
        return {"index": index, "text": text, "finish_reason": reason, "logprobs": None}
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if reply.reasoning is not None:
        message["reasoning_content"] = reply.reasoning
    if reply.tool_calls:
        message["tool_calls"] = _tool_calls(reply)
    return {"index": index, "message": message, "finish_reason": reason, "logprobs": _logprobs(reply.logprobs)}


def _stream_choices(index: int, text: Text, reply: Reply, is_chat: bool) -> Iterator[dict[str, Any]]:
    def choice(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        part = {"delta": delta} if is_chat else {"text": delta.get("content", "")}
        return {"index": index, **part, "finish_reason": reason, "logprobs": None}

    if is_chat:
        first: dict[str, Any] = {"role": "assistant", "content": "" if text is not None else None}
        if reply.reasoning is not None:
            first["reasoning_content"] = reply.reasoning
        yield choice(first)
    for piece, logprobs in _pieces(text or "", reply):
        yield {**choice({"content": piece}), "logprobs": logprobs}
    for place, call in enumerate(_tool_calls(reply) if is_chat else ()):
        yield choice({"tool_calls": [{"index": place, **call}]})
    yield choice({}, _finish_reason(reply))


def _pieces(text: str, reply: Reply) -> list[tuple[str, dict[str, Any] | None]]:
    """The chunks of a streamed text: its scripted tokens, else its words with the blanks before them."""
    if reply.logprobs:
        return [(token, _logprobs([(token, logprob)])) for token, logprob in reply.logprobs]
    return [(piece, None) for piece in re.findall(r"\s*\S+|\s+$", text)]


def _tool_calls(reply: Reply) -> list[dict[str, Any]]:
    calls = []
    for place, call in enumerate(reply.tool_calls, start=1):
        arguments = call.get("arguments", {})
        shown = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        function = {"name": call["name"], "arguments": shown}
        calls.append({"id": call.get("id", f"call_{place}"), "type": "function", "function": function})
    return calls


def _logprobs(tokens: Sequence[tuple[str, float]]) -> dict[str, Any] | None:
    if not tokens:
        return None
    items = [
        {"token": token, "logprob": logprob, "bytes": list(token.encode()), "top_logprobs": []}
        for token, logprob in tokens
    ]
    return {"content": items, "refusal": None}


def _finish_reason(reply: Reply) -> str:
    return reply.finish_reason or ("tool_calls" if reply.tool_calls else "stop")


def usage_of(request: ReplayRequest, reply: Reply) -> tuple[int, int]:
    """Scripted counts, or the number of words: a stand-in for tokens that is at least stable."""
    if reply.usage is not None:
        return reply.usage
    return len(request.prompt_text.split()), sum(len((text or "").split()) for text in reply.texts)


def _usage_body(prompt_tokens: int, completion_tokens: int) -> dict[str, int]:
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
    }


def _event(data: dict[str, Any]) -> str:
    return f"data: {json.dumps(data, ensure_ascii=False)}\n\n"


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
