"""A real HTTP server on loopback that answers from a script or a recording.

It speaks the OpenAI protocol, and at `/v1/messages` Anthropic's Messages protocol.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from evidencerails.testing.cassette import Cassette
from evidencerails.testing.http_server import UNSCRIPTED_STATUS, HttpServer
from evidencerails.testing.script import Cut, ReplayRequest, Reply, Rule, Script, TextSource, When

log = logging.getLogger(__name__)

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
        self._refused: dict[str, Reply] = {}
        self._script = Script()
        self._lock = threading.Lock()
        self._http: HttpServer | None = None
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

    def refuse(self, *parameters: str, status: int = 400, message: str | None = None) -> None:
        """Answer an error to requests that carry one of these parameters (`n` only above 1), as some models do.

        Args:
            status: of the answer.
            message: its words; by default OpenAI's, which name the parameter.
        """
        for name in parameters:
            words = f"Unsupported parameter: '{name}' is not supported with this model."
            param = name if message is None else None
            self._refused[name] = Reply(status=status, message=words if message is None else message, param=param)

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
        self._http = HttpServer(self)
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
        for name in sorted(self._refused.keys() & request.body.keys()):
            if name != "n" or request.n > 1:
                return self._refused[name]
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
