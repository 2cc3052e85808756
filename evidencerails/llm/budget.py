"""What one response may spend on LLM calls, in all its sessions; a call under way has its tokens reserved.

Without the reservation every call of a concurrent batch would pass before the first one has reported its cost.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from evidencerails.config import BudgetSettings
from evidencerails.errors import BudgetExceededError
from evidencerails.exchange import Message

CHARACTERS_PER_TOKEN = 4
"""Rule of thumb for English (OpenAI's help on tokens). Only for what nobody has counted yet, or ever counts."""


def estimated_tokens(characters: int) -> int:
    """How many tokens a text of that many characters has, roughly."""
    return -(-characters // CHARACTERS_PER_TOKEN)


class CallAllowance:
    """Calls that one turn may make to a model which nobody named for it."""

    def __init__(self, calls: int) -> None:
        self.left = self._calls = calls

    def take(self) -> None:
        """Count one call. `BudgetExceededError`: all are made."""
        if self.left <= 0:
            setting = f"claims.own_model_calls: {self._calls}"
            raise BudgetExceededError(f"this turn's calls to the app's own model are made ({setting})")
        self.left -= 1


class ResponseBudget:
    """Calls, tokens and seconds of one response."""

    def __init__(self, settings: BudgetSettings) -> None:
        self._settings = settings
        self._calls = 0
        self._tokens = 0
        self._reserved_tokens = 0
        self._started_at: float | None = None

    def take(self, messages: Sequence[Message]) -> int:
        """Reserve one call; gives the tokens that its prompt is estimated to have, for `settle`. `BudgetExceededError`:
        the calls, tokens or seconds are spent, or would be by calls under way and this one."""
        settings, tokens = self._settings, estimated_tokens(sum(len(message.content) for message in messages))
        if self._calls >= settings.calls:
            raise BudgetExceededError(f"budget of {settings.calls} calls for one response is spent (llm.budget.calls)")
        expected = self._tokens + self._reserved_tokens + tokens
        if self._tokens >= settings.tokens or expected > settings.tokens:
            raise BudgetExceededError(
                f"budget of {settings.tokens} tokens for one response is spent or would be: {self._tokens} spent, "
                f"{self._reserved_tokens} in calls under way, some {tokens} for this one (llm.budget.tokens)"
            )
        if self.seconds_left <= 0:
            raise BudgetExceededError(f"budget of {settings.seconds:g} seconds is spent (llm.budget.seconds)")
        self._started_at = self._started_at or time.monotonic()
        self._calls += 1
        self._reserved_tokens += tokens
        return tokens

    def settle(self, reserved_tokens: int, tokens: int) -> None:
        """Count what a call has really cost in place of what was reserved for it."""
        self._reserved_tokens -= reserved_tokens
        self._tokens += tokens

    def note_spent(self, calls: int, tokens: int) -> None:
        """Count what was spent for this response elsewhere."""
        self._calls += calls
        self._tokens += tokens

    @property
    def seconds_left(self) -> float:
        """Wall seconds until the budget ends; it starts with the first call."""
        allowed = self._settings.seconds
        return allowed if self._started_at is None else allowed - (time.monotonic() - self._started_at)
