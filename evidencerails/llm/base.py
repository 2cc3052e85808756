"""What every LLM adapter offers, and nothing heavier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from evidencerails.exchange import LlmReply, Message


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
