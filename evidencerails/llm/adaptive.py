"""Clients that learn from a provider's refusals instead of knowing every model's peculiarities."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from evidencerails.errors import LlmError
from evidencerails.llm.base import LlmClient, LlmReply
from evidencerails.llm.failures import as_llm_error, refused_parameter

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

    async def _asked(
        self, wanted: Mapping[str, Any], request: Callable[[dict[str, Any]], Awaitable[LlmReply]]
    ) -> LlmReply:
        """The reply to one call.

        Args:
            wanted: the optional parameters; None leaves one out.
            request: makes one request with those that are left.

        Raises:
            LlmError: the provider failed.
        """
        fields: dict[str, Any] = {}
        for _ in range(MAX_LEARNED):
            fields = self._fields({name: value for name, value in wanted.items() if value is not None})
            try:
                reply = await request(fields)
            except LlmError:
                raise
            except Exception as error:  # boundary to the provider's library
                if not self._learn(error, tuple(fields)) or ("n" in fields and not self.supports_n):
                    raise as_llm_error(error, self.model) from error
                continue
            if len(reply.completions) < (wanted.get("n") or 1):
                learn_no_n(self)
            return reply
        raise LlmError(f"model {self.model!r} refuses one parameter after the other; last sent: {sorted(fields)}")

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


def response_format(json_schema: dict[str, Any] | None) -> dict[str, Any] | None:
    """The parameter of OpenAI's API that makes a model keep to a schema; None without one."""
    if json_schema is None:
        return None
    return {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": json_schema}}
