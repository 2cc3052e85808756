"""NeMo's own models: asked through its settings, and recorded in its `explain()`.

NeMo 0.24's `LLMModel` protocol gives one completion a call. Its OpenAI-compatible engine (openai, nim, azure, ollama,
anything with `parameters.base_url`) is `OpenAIChatModel` over an httpx client; from the settings of that client an
`AsyncOpenAI` is built, which can ask for several completions in one request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.language_models import BaseLanguageModel
from nemoguardrails.context import llm_call_info_var, llm_stats_var
from nemoguardrails.llm.call import llm_call
from nemoguardrails.llm.models.openai_chat import OpenAIChatModel
from nemoguardrails.llm.openai_reasoning import is_openai_reasoning_model
from nemoguardrails.logging.explain import LLMCallInfo
from nemoguardrails.logging.llm_tracker import track_llm_call

from evidencerails.exchange import Completion, LlmReply, Message
from evidencerails.llm.base import AdaptiveClient, ClientAround, LlmClient, portable
from evidencerails.llm.langchain_client import LangchainClient
from evidencerails.llm.openai_client import NO_KEY, OpenAIClient
from evidencerails.llm.wrapped import unwrapped

if TYPE_CHECKING:
    from openai import AsyncOpenAI

TASK = "self_check_hallucination"
"""Name under which all calls stand in `explain()`: the one NeMo's own rail uses."""
_NOT_IN_BODY = frozenset({"n", "stream", "include_usage_in_stream"})


def client_from_nemo(model: Any) -> LlmClient:
    """The client for one of NeMo's models; its calls are recorded like NeMo's own."""
    model = unwrapped(model)
    provider = getattr(model, "provider_name", None)
    if isinstance(model, OpenAIChatModel):
        return RecordedClient(_openai_client(model), provider)
    raw = getattr(model, "raw_llm", None)  # NeMo's LangChainLLMAdapter
    if isinstance(raw, BaseLanguageModel):  # it may also hold a chain or a bound model, which only answers
        return RecordedClient(LangchainClient(raw), provider)
    return NemoModelClient(model)


def _openai_client(model: OpenAIChatModel) -> OpenAIClient:
    theirs = model._client
    client = OpenAIClient(
        model.model_name,
        lambda: _connect(model),
        parameters={k: v for k, v in model._default_kwargs.items() if k not in _NOT_IN_BODY},
        headers=theirs._custom_headers,
        sends_key=bool(theirs._api_key),
        owns_connection=theirs._owns_client,
        server=str(theirs._base_url),
    )
    if is_openai_reasoning_model(model.model_name):
        client.refuses("temperature", "stop", "max_tokens")
    return client


def _connect(model: OpenAIChatModel) -> AsyncOpenAI:
    """An `AsyncOpenAI` with the address, key, query and timeouts of NeMo's client.

    An httpx client that the user gave (own proxies, certificates) is used itself; one that NeMo made has nothing but
    the environment's proxies and certificates, which a new one reads too.
    """
    from openai import AsyncOpenAI

    theirs = model._client
    return AsyncOpenAI(
        base_url=theirs._base_url,
        api_key=theirs._api_key or NO_KEY,
        default_query=theirs._custom_query or None,
        timeout=theirs._client.timeout,
        http_client=None if theirs._owns_client else theirs._client,
        max_retries=0,
    )


class RecordedClient(ClientAround):
    """Another client whose calls stand in NeMo's `explain()`, statistics and log."""

    def __init__(self, inner: LlmClient, provider: str | None) -> None:
        super().__init__(inner)
        self._provider = provider

    async def complete(self, messages: Sequence[Message], **options: Any) -> LlmReply:
        async def recorded() -> LlmReply:
            info = LLMCallInfo(task=TASK, prompt=_shown(messages))
            info.llm_model_name, info.llm_provider_name = self.model, self._provider or "unknown"
            llm_call_info_var.set(info)
            reply: LlmReply = await _tracked(info, self._inner, messages, options)
            return reply

        return await _in_own_context(recorded())


@track_llm_call  # type: ignore[untyped-decorator]
async def _tracked(
    info: LLMCallInfo, client: LlmClient, messages: Sequence[Message], options: Mapping[str, Any]
) -> LlmReply:
    reply = await client.complete(messages, **options)
    info.completion = "\n---\n".join(completion.text for completion in reply.completions)
    info.prompt_tokens, info.completion_tokens = reply.prompt_tokens, reply.completion_tokens
    info.total_tokens = reply.prompt_tokens + reply.completion_tokens
    stats = llm_stats_var.get()
    if stats is not None:
        stats.inc("total_tokens", info.total_tokens)
        stats.inc("total_prompt_tokens", reply.prompt_tokens)
        stats.inc("total_completion_tokens", reply.completion_tokens)
    return reply


class NemoModelClient(AdaptiveClient):
    """An `LlmClient` over any `LLMModel`: one completion a request, through NeMo's `llm_call`."""

    def __init__(self, model: Any) -> None:
        super().__init__(str(model.model_name), supports_n=False)
        self._refused.add("n")
        self._model = model

    async def _request(self, messages: Sequence[Message], fields: dict[str, Any]) -> LlmReply:
        return await _in_own_context(self._call(messages, fields))

    def _schema_fields(self, json_schema: dict[str, Any]) -> dict[str, Any]:
        return {}  # left to the prompt: not every engine takes a schema

    async def _call(self, messages: Sequence[Message], fields: dict[str, Any]) -> LlmReply:
        llm_call_info_var.set(LLMCallInfo(task=TASK))
        prompt = [{"role": message.role, "content": message.content} for message in portable(messages)]
        response = await llm_call(self._model, prompt, llm_params=fields)
        used = response.usage
        return LlmReply(
            completions=(Completion(text=response.content or "", finish_reason=response.finish_reason),),
            prompt_tokens=used.input_tokens if used else 0,
            completion_tokens=used.output_tokens if used else 0,
            model=response.model or self.model,
        )


async def _in_own_context(work: Coroutine[Any, Any, LlmReply]) -> LlmReply:
    """Run a call in a task of its own: NeMo keeps the answer's tool calls, reasoning and call info in context
    variables, which a later call of the same context would overwrite."""
    return await asyncio.create_task(work)


def _shown(messages: Sequence[Message]) -> str:
    names = {"system": "System", "user": "User", "assistant": "Bot", "tool": "Tool"}
    return "\n" + "\n".join(f"[cyan]{names[m.role]}[/]\n{m.content}" for m in messages)
