"""Samples in the form a user would have seen them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from groundrails.exchange import Message
from groundrails.llm.base import LlmClient, LlmReply


class ParsingClient:
    """An LLM client whose completions pass through NeMo's parser of the task that wrote the answer.

    In single-call mode a completion holds the user's intent, the bot's intent and the message; compared whole, no two
    samples would agree with an answer.
    """

    def __init__(self, client: LlmClient, parse: Callable[[str], str]) -> None:
        self.model = client.model
        self._client = client
        self._parse = parse

    @property
    def supports_n(self) -> bool:
        """True if one request can bring several completions."""
        return self._client.supports_n

    @supports_n.setter
    def supports_n(self, value: bool) -> None:
        self._client.supports_n = value

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        n: int = 1,
        temperature: float | None = None,
        max_tokens: int | None = None,
        json_schema: dict[str, Any] | None = None,
    ) -> LlmReply:
        """Ask the model once and parse what comes.

        Raises:
            LlmError: the provider failed.
        """
        reply = await self._client.complete(
            messages, n=n, temperature=temperature, max_tokens=max_tokens, json_schema=json_schema
        )
        parsed = tuple(c.model_copy(update={"text": self._parse(c.text)}) for c in reply.completions)
        return reply.model_copy(update={"completions": parsed})
