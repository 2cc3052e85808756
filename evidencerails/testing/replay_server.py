"""A real HTTP server on loopback that answers from a script, in the OpenAI protocol."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from typing import Any

from evidencerails.testing.http_server import UNSCRIPTED_STATUS, HttpServer
from evidencerails.testing.script import ReplayRequest, Reply, Rule, TextSource, When

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
    """

    def __init__(self) -> None:
        self.requests: list[ReplayRequest] = []
        """Every request, in the order of arrival."""
        self.unmatched: list[ReplayRequest] = []
        """Requests that nothing was scripted for."""
        self.ignores_n = False
        """True to answer one completion whatever `n` says, as some servers do."""
        self._refused: dict[str, Reply] = {}
        self._rules: list[Rule] = []
        self._default: Rule | None = None
        self._lock = threading.Lock()
        self._http: HttpServer | None = None
        self._thread: threading.Thread | None = None

    # ---- the script

    def say(self, *texts: str | Sequence[str | None]) -> None:
        """Answer the next requests that no `when` matches, one text (or list of completions) each, in this order."""
        for text in texts:
            self.reply(text)

    def reply(self, text: TextSource = _UNSET, *, when: When = None, times: int | None = None, **how: Any) -> None:
        """Script one reply.

        Args:
            text: a string; None (null content); a list, taken in turn for the `n` completions and later requests; or a
                function of the request that returns one of these.
            when: a substring of the prompt, or a function of the request. Such rules come before those without.
            times: how many requests it answers: by default any number with `when`, one without.
            how: fields of a `Reply`: a fault, tool calls, log probabilities, delays.

        Raises:
            ValueError: neither a text nor a fault is given.
        """
        reply = Reply(**how)
        if text is _UNSET:
            if not (reply.status >= 400 or reply.cut or reply.broken_json or reply.tool_calls):
                raise ValueError("a reply needs a text, tool calls, or a fault (status, cut, broken_json)")
            text = None if reply.tool_calls else "a text that does not arrive whole"
        rule = Rule(when, text, 1 if times is None and when is None else times, reply)
        with self._lock:
            self._rules.append(rule)

    def default(self, text: TextSource) -> None:
        """Answer every request that no rule matches by this text."""
        with self._lock:
            self._default = Rule(None, text, None, Reply())

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
        with self._lock:
            self._default = None
            for kept in (self._rules, self._refused, self.requests, self.unmatched):
                kept.clear()

    @property
    def open_connections(self) -> int:
        return 0 if self._http is None else self._http.open_count()

    # ---- the life of the server

    @property
    def base_url(self) -> str:
        """Base URL for clients; ends with `/v1`. `RuntimeError`: the server is not running."""
        if self._http is None:
            raise RuntimeError("the replay server is not running; use `with ReplayServer() as server:`")
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def start(self) -> ReplayServer:
        """Listen on a free port of the loopback interface, in a thread of its own."""
        self._http = HttpServer(self.answer)
        serve = self._http.serve_forever
        self._thread = threading.Thread(target=serve, args=(0.05,), name="replay-server", daemon=True)
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

    def __exit__(self, *_: object) -> None:
        self.stop()

    async def __aenter__(self) -> ReplayServer:
        return self.start()

    async def __aexit__(self, *_: object) -> None:
        self.stop()

    # ---- answering

    def answer(self, request: ReplayRequest) -> Reply:
        """Record a request and pick its reply: rules with `when` first, in the order given, then the others."""
        with self._lock:
            self.requests.append(request)
            for name in sorted(self._refused.keys() & request.body.keys()):
                if name != "n" or request.n > 1:
                    return self._refused[name]
            ordered = sorted(self._rules, key=lambda rule: rule.when is None)  # stable: the given order stays
            rule = next((rule for rule in ordered if rule.matches(request)), self._default)
            if rule is not None:
                return rule.take(request, n=1 if self.ignores_n else request.n)
            self.unmatched.append(request)
        message = f"ReplayServer: nothing scripted for this request; last user text: {request.last_user_text[:200]!r}"
        log.error("%s", message)
        return Reply(status=UNSCRIPTED_STATUS, message=message)
