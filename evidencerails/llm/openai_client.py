"""Any OpenAI-compatible provider, through the official client."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import sys
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit, urlunsplit
from weakref import WeakKeyDictionary

from evidencerails.errors import LlmError, LlmReplyError, SettingsError
from evidencerails.exchange import Completion, LlmReply, Message, TokenLogprob
from evidencerails.llm.base import AdaptiveClient, portable
from evidencerails.settings.environment import variable
from evidencerails.settings.llm import LlmEndpoint

if TYPE_CHECKING:
    from openai import AsyncOpenAI

NO_KEY = "no-key"
"""Sent to servers that want none: the client insists on something."""
LEGACY_MODELS = frozenset({"gpt-3.5-turbo-instruct", "babbage-002", "davinci-002"})
"""Models that only know `/v1/completions`."""


class OpenAIClient(AdaptiveClient):
    """An `LlmClient` over `AsyncOpenAI`; a refused `max_tokens` goes on under its newer name.

    Args:
        model: its name at the provider; for a legacy instruct model the old completions route is used.
        connect: makes a client; called once per event loop, whose end also closes it.
        parameters: further fields of every request body, such as `top_p`.
        headers: further headers of every request.
        sends_key: False leaves out the `Authorization` header, where another one carries the key.
        owns_connection: False leaves what `connect` made open when its loop ends.
        server: address that answers; two servers may give a model the same name.
    """

    def __init__(
        self,
        model: str,
        connect: Callable[[], AsyncOpenAI],
        *,
        parameters: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        sends_key: bool = True,
        owns_connection: bool = True,
        server: str = "",
    ) -> None:
        super().__init__(model, supports_n=True, server=server)
        self._connections = _PerLoop(connect, closes=owns_connection)
        self._parameters = dict(parameters or {})
        self._headers = dict(headers or {})
        self._sends_key = sends_key
        self._is_legacy = model in LEGACY_MODELS

    @classmethod
    def from_endpoint(cls, endpoint: LlmEndpoint) -> OpenAIClient:
        """The client of an endpoint in the settings; its key is read when the first request is made. `SettingsError`:
        the endpoint names no model."""
        if not endpoint.model:
            raise SettingsError("llm.base_url is set but llm.model is not; name the model that the server offers")
        return cls(endpoint.model, lambda: _connect(endpoint), server=endpoint.base_url or "")

    def refuses(self, *parameters: str) -> OpenAIClient:
        """Tell in advance which parameters the model refuses, so that no request is spent on learning it."""
        self._refused.update(parameters)
        return self

    def _fields(self, wanted: dict[str, Any]) -> dict[str, Any]:
        """The optional fields of the request body, the refused ones left out or renamed."""
        fields = {**self._parameters, **wanted}
        if "max_tokens" in self._refused and "max_tokens" in fields:
            fields.setdefault("max_completion_tokens", fields["max_tokens"])
        return super()._fields(fields)

    async def _request(self, messages: Sequence[Message], fields: dict[str, Any]) -> LlmReply:
        if "openai" not in sys.modules:  # takes half a second, which the event loop need not wait for
            await asyncio.to_thread(importlib.import_module, "openai")
        from openai import Omit

        client = self._connections.get()
        prompt = portable(messages)
        headers = self._headers if self._sends_key else {"Authorization": Omit(), **self._headers}
        extra: dict[str, Any] = {"extra_body": fields, "extra_headers": headers}
        if self._is_legacy:
            text = "\n\n".join(message.content for message in prompt)
            return self._reply(await client.completions.create(model=self.model, prompt=text, **extra))
        body: Any = [{"role": m.role, "content": m.content} for m in prompt]
        return self._reply(await client.chat.completions.create(model=self.model, messages=body, **extra))

    def _reply(self, answer: Any) -> LlmReply:
        choices = getattr(answer, "choices", None)
        if not choices:  # a body that is JSON but no answer: some gateways send errors with status 200
            raise LlmReplyError(f"model {self.model!r} answered without any completion", retryable=True)
        usage = getattr(answer, "usage", None)
        return LlmReply(
            completions=tuple(_completion(choice) for choice in choices),
            prompt_tokens=getattr(usage, "prompt_tokens", None) or 0,
            completion_tokens=getattr(usage, "completion_tokens", None) or 0,
            model=getattr(answer, "model", None) or self.model,
        )


def _completion(choice: Any) -> Completion:
    message = getattr(choice, "message", None)
    text = getattr(message, "content", None) if message is not None else getattr(choice, "text", None)
    tokens = getattr(getattr(choice, "logprobs", None), "content", None) or ()
    return Completion(
        text=text if isinstance(text, str) else "",
        finish_reason=getattr(choice, "finish_reason", None),
        logprobs=tuple(TokenLogprob(token=t.token, logprob=min(0.0, t.logprob)) for t in tokens),
    )


def _connect(endpoint: LlmEndpoint) -> AsyncOpenAI:
    """A connection to an endpoint; an Azure deployment's URL may carry its `api-version` as a query."""
    from openai import AsyncOpenAI

    key = endpoint.api_key.get_secret_value() if endpoint.api_key else variable(endpoint.api_key_env)
    if not key and endpoint.base_url is None:
        raise LlmError(
            f"no key for model {endpoint.model!r}: set {endpoint.api_key_env} (llm.api_key_env), or llm.api_key"
        )
    url = urlsplit(endpoint.base_url) if endpoint.base_url else None
    return AsyncOpenAI(
        api_key=key or NO_KEY,
        base_url=urlunsplit(url._replace(query="")) if url else None,
        default_query=dict(parse_qsl(url.query)) if url else None,
        default_headers={"api-key": key} if url and key and "/openai/deployments/" in url.path else None,
        timeout=endpoint.timeout_s,
        max_retries=0,  # the session retries, under the response's budget
    )


class _PerLoop:
    """One client per event loop: its connections belong to the loop that opened them, and end with it."""

    def __init__(self, connect: Callable[[], AsyncOpenAI], *, closes: bool) -> None:
        self._connect = connect
        self._closes = closes
        self._open: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[AsyncOpenAI, Any]] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def get(self) -> AsyncOpenAI:
        loop = asyncio.get_running_loop()
        with self._lock:
            if loop not in self._open:
                client = self._connect()
                self._open[loop] = (client, _started(self._hold(client)))
            return self._open[loop][0]

    async def _hold(self, client: AsyncOpenAI) -> AsyncIterator[None]:
        """Close the client with its loop: at the end `asyncio.run` finishes every generator that was started in it."""
        try:
            yield
        finally:
            with self._lock:
                self._open.pop(asyncio.get_running_loop(), None)
            if self._closes:
                await client.close()


def _started(generator: AsyncIterator[None]) -> AsyncIterator[None]:
    """The generator, run to its first yield without a task of its own."""
    with contextlib.suppress(StopIteration):
        generator.__anext__().__await__().send(None)
    return generator
