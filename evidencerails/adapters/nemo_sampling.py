"""Samples in the form a user would have seen them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from evidencerails.exchange import Message
from evidencerails.llm.base import ClientAround, LlmClient, LlmReply


class ParsingClient(ClientAround):
    """An LLM client whose completions pass through NeMo's parser of the task that wrote the answer.

    In single-call mode a completion holds the user's intent, the bot's intent and the message; compared whole, no two
    samples would agree with an answer.
    """

    def __init__(self, client: LlmClient, parse: Callable[[str], str]) -> None:
        super().__init__(client)
        self._parse = parse

    async def complete(self, messages: Sequence[Message], **options: Any) -> LlmReply:
        """Ask the model once and parse what comes.

        Raises:
            LlmError: the provider failed.
        """
        reply = await super().complete(messages, **options)
        parsed = tuple(c.model_copy(update={"text": self._parse(c.text)}) for c in reply.completions)
        return reply.model_copy(update={"completions": parsed})
