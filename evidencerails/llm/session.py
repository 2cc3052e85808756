"""LLM calls of one response: retried, counted, and bounded by what it may spend in all its sessions.

A call under way has its tokens reserved: else every call of a concurrent batch would pass before the first one has
reported its cost.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception

from evidencerails.errors import BudgetExceededError, LlmError, LlmReplyError, LlmTimeoutError
from evidencerails.exchange import Completion, LlmReply, Message
from evidencerails.llm.base import LlmClient, learn_no_n
from evidencerails.llm.failures import may_refuse_n
from evidencerails.report import LlmUsage
from evidencerails.settings.llm import BudgetSettings, LlmEndpoint, LlmSettings
from evidencerails.trace import llm_call

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


FIRST_WAIT_S = 0.25
MAX_WAIT_S = 8.0
Requests = Literal["auto", "one", "many"]
"""How several completions are asked for: one request where the provider has `n` and single ones for the rest; one
request only; single ones only."""


def client_from_settings(endpoint: LlmEndpoint | None) -> LlmClient | None:
    """The client that the settings name; None if they name neither a model nor a server. `SettingsError`: a server is
    named but no model."""
    if endpoint is None or (not endpoint.model and not endpoint.base_url):
        return None
    from evidencerails.llm.openai_client import OpenAIClient

    return OpenAIClient.from_endpoint(endpoint)


class LlmSession:
    """One response's access to a model, under the budget of the settings.

    Args:
        beside: another session of the same response, with which this one shares budget and slots: what a judge of its
            own spends is spent for the same response.
        timeout_s: of one call, in place of the settings' own; for a model with an endpoint of its own.
        allowance: calls of the turn, retries included, that bound this session beside the budget.
    """

    def __init__(
        self,
        client: LlmClient,
        settings: LlmSettings,
        *,
        beside: LlmSession | None = None,
        timeout_s: float | None = None,
        allowance: CallAllowance | None = None,
    ) -> None:
        self.client = client
        self._settings = settings
        self._timeout_s = settings.timeout_s if timeout_s is None else timeout_s
        self._slots: asyncio.Semaphore = beside._slots if beside else asyncio.Semaphore(settings.max_concurrency)
        self._budget: ResponseBudget = beside._budget if beside else ResponseBudget(settings.budget)
        self._allowance = allowance
        self._ledger = _Ledger()

    @property
    def is_spent(self) -> bool:
        """True if the allowance is used up, so that there is no use in asking again."""
        return self._allowance is not None and self._allowance.left <= 0

    @classmethod
    def of(cls, client: LlmClient | None, settings: LlmSettings) -> LlmSession | None:
        """A fresh session, or None if there is no model."""
        return None if client is None else cls(client, settings)

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        n: int = 1,
        temperature: float | None = None,
        json_schema: dict[str, Any] | None = None,
        requests: Requests = "auto",
    ) -> LlmReply:
        """Ask for `n` completions. Fewer come back if a part of them failed; those without text are left out.
        `BudgetExceededError`: the response's calls, tokens or seconds are spent. `LlmReplyError`: an answer came, but
        no text in it. `LlmError`: the provider failed, also after the retries."""
        options = {"temperature": temperature, "json_schema": json_schema}
        replies: list[LlmReply] = []
        if requests == "one" or (requests == "auto" and (n == 1 or self.client.supports_n)):
            first = await self._first(messages, n, options, fall_back=requests == "auto")
            replies = [first] if first else []
        missing = n - sum(len(reply.completions) for reply in replies)
        if missing > 0 and requests != "one":
            asked_for_all = n > 1 and requests == "auto" and self.client.supports_n
            singles = await self._single(messages, missing, options, has_some=bool(replies))
            if asked_for_all and not replies:  # the single requests went through: it was the number that was refused
                learn_no_n(self.client)
            replies += singles
        return _merged(replies, self.client.model)

    def usage(self) -> LlmUsage:
        return self._ledger.usage()

    @staticmethod
    def usage_of(sessions: Sequence[LlmSession]) -> LlmUsage:
        parts = [session.usage() for session in sessions]
        return LlmUsage(**{name: sum(getattr(part, name) for part in parts) for name in LlmUsage.model_fields})

    def note_saved(self, calls: int) -> None:
        """Count calls that were not needed, such as samples that came with the answer."""
        self._ledger.saved_calls += max(0, calls)

    def note_spent(self, usage: LlmUsage) -> None:
        """Count what was spent for this response elsewhere, at the same time as something else."""
        self._ledger.calls += usage.calls
        self._ledger.prompt_tokens += usage.prompt_tokens
        self._ledger.completion_tokens += usage.completion_tokens
        self._budget.note_spent(usage.calls, usage.prompt_tokens + usage.completion_tokens)

    async def _first(
        self, messages: Sequence[Message], n: int, options: dict[str, Any], *, fall_back: bool
    ) -> LlmReply | None:
        """One request for all; None if the provider refuses it, which may be because of `n`."""
        try:
            reply = await self._attempts(messages, n, options)
        except LlmError as error:
            if n > 1 and fall_back and (not self.client.supports_n or may_refuse_n(error)):
                return None
            raise
        self.note_saved(len(reply.completions) - 1)
        return reply

    async def _single(
        self, messages: Sequence[Message], count: int, options: dict[str, Any], *, has_some: bool
    ) -> list[LlmReply]:
        """Concurrent single requests. Raises only if all of them failed and nothing came before."""
        tasks = [self._attempts(messages, 1, options) for _ in range(count)]
        results = await asyncio.gather(*tasks, return_exceptions=True)
        replies = [result for result in results if isinstance(result, LlmReply)]
        failures = [result for result in results if isinstance(result, BaseException)]
        unexpected = [error for error in failures if not isinstance(error, LlmError)]
        if unexpected or (failures and not replies and not has_some):
            raise (unexpected or failures)[0]
        return replies

    async def _attempts(self, messages: Sequence[Message], n: int, options: dict[str, Any]) -> LlmReply:
        retrying = AsyncRetrying(
            retry=retry_if_exception(lambda error: isinstance(error, LlmError) and error.retryable),
            stop=self._is_over,
            wait=_wait_s,
            reraise=True,
        )
        return await retrying(self._attempt, messages, n, options)

    def _is_over(self, state: RetryCallState) -> bool:
        is_last = state.attempt_number > self._settings.max_retries or self.is_spent
        return is_last or _wait_s(state) >= self._budget.seconds_left

    async def _attempt(self, messages: Sequence[Message], n: int, options: dict[str, Any]) -> LlmReply:
        async with self._slots:
            if self._allowance is not None:
                self._allowance.take()
            reserved = self._budget.take(messages)
            tokens = reserved  # the cost of a failed call is not reported; its prompt was sent
            try:
                reply = await self._asked(messages, n, options)
                tokens = _tokens_of(reply, reserved)
            finally:
                self._budget.settle(reserved, tokens)
            self._ledger.add_tokens(reply)
            return reply

    async def _asked(self, messages: Sequence[Message], n: int, options: dict[str, Any]) -> LlmReply:
        timeout_s = min(self._timeout_s, self._budget.seconds_left)
        with self._ledger.call(), llm_call(self.client.model, messages, {"n": n, **options}) as record:
            try:
                reply = await asyncio.wait_for(self.client.complete(messages, n=n, **options), timeout_s)
            except (asyncio.TimeoutError, TimeoutError) as error:
                message = f"model {self.client.model!r} did not answer within {timeout_s:.3g} s"
                raise LlmTimeoutError(message, retryable=True) from error
            record.reply = reply
        return reply


def _tokens_of(reply: LlmReply, prompt_tokens: int) -> int:
    """What a call has cost; an estimate where the provider does not report it."""
    reported = reply.prompt_tokens + reply.completion_tokens
    return reported or prompt_tokens + estimated_tokens(sum(len(completion.text) for completion in reply.completions))


class _Ledger:
    """Counts a session's calls, tokens, seconds, and how many calls waited one after the other."""

    def __init__(self) -> None:
        self.calls = 0
        self.saved_calls = 0
        self.prompt_tokens = 0
        self.completion_tokens = 0
        self._round_trips = 0
        self._active = 0
        self._busy_since = 0.0
        self._busy_s = 0.0

    @contextmanager
    def call(self) -> Iterator[None]:
        """One call, for the time it takes; it is one deeper than any call that had ended before it."""
        self.calls += 1
        if self._active == 0:
            self._busy_since = time.monotonic()
        self._active += 1
        depth = self._round_trips + 1
        try:
            yield
        finally:
            self._active -= 1
            if self._active == 0:
                self._busy_s += time.monotonic() - self._busy_since
            self._round_trips = max(self._round_trips, depth)

    def add_tokens(self, reply: LlmReply) -> None:
        self.prompt_tokens += reply.prompt_tokens
        self.completion_tokens += reply.completion_tokens

    def usage(self) -> LlmUsage:
        return LlmUsage(
            calls=self.calls,
            round_trips=self._round_trips,
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            seconds=self._busy_s,
            saved_calls=self.saved_calls,
        )


def _wait_s(state: RetryCallState) -> float:
    """Seconds before the next try: what the provider asks for, else doubling from `FIRST_WAIT_S`."""
    error = state.outcome.exception() if state.outcome else None
    asked = getattr(error, "retry_after_s", None)
    if asked is not None:
        return float(asked)
    return min(MAX_WAIT_S, FIRST_WAIT_S * 2.0 ** (state.attempt_number - 1))


def _merged(replies: Sequence[LlmReply], model: str) -> LlmReply:
    completions: tuple[Completion, ...] = tuple(c for reply in replies for c in reply.completions if c.text.strip())
    if not completions:
        reasons = sorted({c.finish_reason or "none" for reply in replies for c in reply.completions})
        raise LlmReplyError(f"model {model!r} answered without text (finish reason: {', '.join(reasons)})")
    return LlmReply(
        completions=completions,
        prompt_tokens=sum(reply.prompt_tokens for reply in replies),
        completion_tokens=sum(reply.completion_tokens for reply in replies),
        model=replies[0].model or model,
    )
