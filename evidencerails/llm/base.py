"""What every LLM adapter offers, and the base of those that learn from a provider's refusals instead of knowing every
model's peculiarities."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from evidencerails.errors import LlmError
from evidencerails.exchange import LlmReply, Message
from evidencerails.llm.failures import as_llm_error, refused_parameter


@runtime_checkable
class LlmClient(Protocol):
    """One chat model behind any provider. Adapters translate; they do not retry, count or cache."""

    model: str
    supports_n: bool
    """True if one request can bring several completions."""

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        n: int = 1,
        temperature: float | None = None,
        max_tokens: int | None = None,
        json_schema: dict[str, Any] | None = None,
    ) -> LlmReply:
        """Ask the model once. `temperature=None` leaves the provider's default. `LlmError`: the provider failed;
        `.retryable` says whether another try can help."""
        ...


class ClientAround:
    """An `LlmClient` around another one, which it asks and may add to."""

    def __init__(self, inner: LlmClient) -> None:
        self.model = inner.model
        self.server: str = getattr(inner, "server", "")
        self._inner = inner

    @property
    def supports_n(self) -> bool:
        return self._inner.supports_n

    @supports_n.setter
    def supports_n(self, value: bool) -> None:
        self._inner.supports_n = value

    async def complete(self, messages: Sequence[Message], **options: Any) -> LlmReply:
        """Ask the inner client once; see `LlmClient`."""
        return await self._inner.complete(messages, **options)


def portable(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages without what a provider would refuse in a prompt that is asked again.

    A tool's result needs the call it answers, which `Message` does not keep: it is sent as the user's instead. Empty
    messages (a mere tool call) are left out, and neighbours of one role are kept apart.
    """
    return tuple(
        Message(role="user", content=f"Result of a tool call:\n{one.content}") if one.role == "tool" else one
        for one in messages
        if one.content.strip()
    )


log = logging.getLogger("evidencerails")

MAX_LEARNED = 6
"""Requests of one call: one, and one more for each parameter that the provider refuses."""


class AdaptiveClient:
    """Base of `LlmClient`s over a provider that may refuse optional parameters.

    A refusal (status 400, 404 or 422) that names a parameter is asked again without it, and no later request carries
    it. A refused or ignored `n` turns `supports_n` off.
    """

    def __init__(self, model: str, *, supports_n: bool, server: str = "") -> None:
        self.model = model
        self.server = server
        """Address that answers, without secrets; part of the key of kept replies. Empty for the provider's own."""
        self.supports_n = supports_n
        self._refused: set[str] = set()

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        n: int = 1,
        temperature: float | None = None,
        max_tokens: int | None = None,
        json_schema: dict[str, Any] | None = None,
    ) -> LlmReply:
        given = {"n": n if n > 1 else None, "temperature": temperature, "max_tokens": max_tokens}
        wanted = {**given, **(self._schema_fields(json_schema) if json_schema is not None else {})}
        fields: dict[str, Any] = {}
        for _ in range(MAX_LEARNED):
            fields = self._fields({name: value for name, value in wanted.items() if value is not None})
            try:
                reply = await self._request(messages, fields)
            except LlmError:
                raise
            except Exception as error:  # boundary to the provider's library
                if not self._learn(error, tuple(fields)) or ("n" in fields and not self.supports_n):
                    raise as_llm_error(error, self.model) from error
                continue
            if len(reply.completions) < n:
                learn_no_n(self)
            return reply
        raise LlmError(f"model {self.model!r} refuses one parameter after the other; last sent: {sorted(fields)}")

    async def _request(self, messages: Sequence[Message], fields: dict[str, Any]) -> LlmReply:
        """Make one request with these optional fields."""
        raise NotImplementedError

    def _schema_fields(self, json_schema: dict[str, Any]) -> dict[str, Any]:
        """The parameters of OpenAI's API that make a model keep to a schema."""
        named = {"name": "reply", "strict": True, "schema": json_schema}
        return {"response_format": {"type": "json_schema", "json_schema": named}}

    def _fields(self, wanted: dict[str, Any]) -> dict[str, Any]:
        """The optional fields of the request, without the refused ones."""
        return {name: value for name, value in wanted.items() if name not in self._refused}

    def _learn(self, error: Exception, sent: tuple[str, ...]) -> bool:
        """Note what the provider refuses; True if the request is worth another try without it."""
        name = refused_parameter(error, sent)
        if name == "n":
            learn_no_n(self)
            return True
        if name is None:
            return False
        self._refused.add(name)  # a concurrent request may have learned it first: this one is asked again all the same
        return True


def learn_no_n(client: AdaptiveClient | LlmClient) -> None:
    """Remember that the model gives one completion a request, and log it the first time."""
    if client.supports_n:
        client.supports_n = False
        log.warning("model %r does not take `n`: each sample is a request of its own from now on", client.model)
