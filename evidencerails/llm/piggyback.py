"""Samples that come together with the answer: no further wait for them (`consistency.sampling: piggyback`)."""

from __future__ import annotations

import asyncio
import copy
import logging
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from nemoguardrails.context import llm_call_info_var, streaming_handler_var
from nemoguardrails.llm.models.openai_chat import OpenAIChatModel

from evidencerails.config import GuardConfig
from evidencerails.errors import InputError, LlmError, redact_external_text
from evidencerails.exchange import as_messages
from evidencerails.llm.adapt import as_client
from evidencerails.llm.base import learn_no_n
from evidencerails.llm.failures import may_refuse_n, refused_parameter
from evidencerails.llm.sampling import PrefetchedSamples, leave_samples
from evidencerails.llm.session import LlmSession
from evidencerails.llm.wrapped import WrappedModel, main_model, unwrapped

if TYPE_CHECKING:
    from nemoguardrails.types import ChatMessage, LLMResponse, LLMResponseChunk

log = logging.getLogger("evidencerails")

ANSWER_TASKS = frozenset({"general", "generate_bot_message"})
"""NeMo's tasks whose completion is the answer itself; that of the single-call mode holds more than the answer."""


def install(app: Any, settings: GuardConfig) -> bool:
    """Wrap the main model of an `LLMRails`, from `init(app)`; False if it has none."""
    model = main_model(app)
    if model is None:
        return False
    if not isinstance(model, PiggybackModel):
        app.llm = PiggybackModel(model, settings)
    return True


class PiggybackModel(WrappedModel):
    """An `LLMModel` that asks for samples whenever the inner one is asked for an answer; everything else passes.

    On NeMo's OpenAI-compatible engine, and where the answer's temperature is that of the samples or the provider's own,
    they come in the very request of the answer (`n` more). Otherwise they are asked for in requests of their own at the
    same time, so that the answer is the one the app would have given. Nothing is asked for while streaming.
    """

    def __init__(self, model: Any, settings: GuardConfig) -> None:
        super().__init__(model)
        self._settings = settings
        wanted = settings.consistency.samples
        assert isinstance(wanted, int)  # the settings refuse `by_risk` beside piggyback
        self._count = wanted
        self._running: set[asyncio.Task[PrefetchedSamples]] = set()

    async def generate_async(
        self, prompt: str | list[ChatMessage], *, stop: list[str] | None = None, **kwargs: Any
    ) -> LLMResponse:
        """The inner model's response; samples of it are left for the checks of this turn."""
        if not _is_answer(kwargs):
            return await self.wrapped_model.generate_async(prompt, stop=stop, **kwargs)
        if self._fits_one_request(kwargs):
            response = await self._with_more(prompt, stop, kwargs)
            if response is None:
                response = await self._beside(prompt, stop, kwargs)
                self._without_n()  # not before the plain request went through: the refusal may have had another cause
            return response
        return await self._beside(prompt, stop, kwargs)

    async def stream_async(
        self, prompt: str | list[ChatMessage], *, stop: list[str] | None = None, **kwargs: Any
    ) -> AsyncIterator[LLMResponseChunk]:
        async for chunk in self.wrapped_model.stream_async(prompt, stop=stop, **kwargs):
            yield chunk

    def _fits_one_request(self, kwargs: dict[str, Any]) -> bool:
        inner = unwrapped(self.wrapped_model)
        if inner is not self.wrapped_model or not isinstance(inner, OpenAIChatModel):
            return False  # telemetry in between counts on one plain call
        client = as_client(inner)
        temperature = {**inner._default_kwargs, **kwargs}.get("temperature")
        same = temperature is None or temperature == self._settings.consistency.temperature
        return same and client is not None and client.supports_n

    async def _with_more(
        self, prompt: str | list[ChatMessage], stop: list[str] | None, kwargs: dict[str, Any]
    ) -> LLMResponse | None:
        """Answer and samples from one request; None if the provider refuses it, which may be because of `n`."""
        inner = copy.copy(self.wrapped_model)
        inner._client = seen = _Seen(self.wrapped_model._client)
        try:
            response: LLMResponse = await inner.generate_async(prompt, stop=stop, **{**kwargs, "n": 1 + self._count})
        except Exception as error:  # boundary to the provider's library; raised again unless it may be about `n`
            if refused_parameter(error, ("n",)) is not None:
                self._without_n()
            elif not may_refuse_n(error):
                raise
            return None
        others = tuple((c.get("message") or {}).get("content") or "" for c in seen.body.get("choices", [])[1:])
        if not others:
            self._without_n()
        ready: asyncio.Future[PrefetchedSamples] = asyncio.get_running_loop().create_future()
        ready.set_result(PrefetchedSamples(tuple(text for text in others if text.strip())))
        leave_samples(ready)
        return response

    def _without_n(self) -> None:
        client = as_client(self.wrapped_model)
        if client is not None:
            learn_no_n(client)

    async def _beside(
        self, prompt: str | list[ChatMessage], stop: list[str] | None, kwargs: dict[str, Any]
    ) -> LLMResponse:
        """The answer, and at the same time its samples."""
        samples = asyncio.create_task(self._samples(prompt))
        self._running.add(samples)  # the event loop itself keeps only a weak reference
        samples.add_done_callback(self._running.discard)
        try:
            response: LLMResponse = await self.wrapped_model.generate_async(prompt, stop=stop, **kwargs)
        except BaseException:  # a cancelled turn, too, ends its samples; raised again
            samples.cancel()
            raise
        leave_samples(samples)
        return response

    async def _samples(self, prompt: str | list[ChatMessage]) -> PrefetchedSamples:
        session = LlmSession.of(as_client(self.wrapped_model), self._settings.llm)
        if session is None:
            return PrefetchedSamples()
        texts: tuple[str, ...] = ()
        try:
            reply = await session.complete(
                as_messages(prompt), n=self._count, temperature=self._settings.consistency.temperature
            )
            texts = tuple(completion.text for completion in reply.completions)
        except (LlmError, InputError) as error:
            log.warning("no samples came with the answer: %s", redact_external_text(str(error)))
        return PrefetchedSamples(texts, session.usage())


def _is_answer(kwargs: dict[str, Any]) -> bool:
    info = llm_call_info_var.get()
    return info is not None and info.task in ANSWER_TASKS and "n" not in kwargs and streaming_handler_var.get() is None


class _Seen:
    """NeMo's HTTP client, whose last answer can be looked at: `OpenAIChatModel` keeps only its first completion."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.body: dict[str, Any] = {}

    @property
    def provider_url(self) -> str | None:
        return self._client.provider_url  # type: ignore[no-any-return]

    async def chat_completion(self, model: str, messages: list[dict[str, Any]], **options: Any) -> Any:
        answer = await self._client.chat_completion(model, messages, **options)
        self.body = answer.body if isinstance(answer.body, dict) else {}
        return answer
