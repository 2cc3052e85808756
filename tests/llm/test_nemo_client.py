"""Models as NeMo makes them from a config, asked through our client inside a real turn."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from chat_models import chat_model
from nemoguardrails import LLMRails, RailsConfig
from nemoguardrails.actions.rail_outcome import RailOutcome
from nemoguardrails.context import llm_call_info_var
from nemoguardrails.integrations.langchain.llm_adapter import LangChainLLMAdapter
from nemoguardrails.llm.clients.openai_compatible import OpenAICompatibleClient
from nemoguardrails.llm.frameworks import get_default_framework, register_framework, set_default_framework
from nemoguardrails.llm.frameworks.default import DefaultFramework
from nemoguardrails.llm.models.initializer import init_llm_model
from nemoguardrails.llm.models.openai_chat import OpenAIChatModel
from nemoguardrails.logging.explain import LLMCallInfo
from parsed_once import colang_is_parsed_once

from evidencerails.config import GuardConfig
from evidencerails.errors import LlmError
from evidencerails.exchange import Message
from evidencerails.llm.adapt import as_client
from evidencerails.llm.piggyback import install
from evidencerails.llm.sampling import Sampler
from evidencerails.llm.session import LlmSession
from evidencerails.report import LlmUsage
from evidencerails.settings.claims import ConsistencySettings
from evidencerails.settings.llm import LlmSettings
from evidencerails.testing import ReplayServer

__all__ = ["colang_is_parsed_once"]
PROMPT = (Message(role="user", content="Where is the tower?"),)


@pytest.fixture(scope="module", autouse=True)
def _pool(colang_is_parsed_once: None) -> Any:
    """NeMo keeps its connections in a pool of the process; these tests have one of their own, as they close it: the
    apps of other tests hold clients of the usual one."""
    own = DefaultFramework()
    register_framework("closed after each test", own)
    return own


@pytest.fixture(autouse=True)
async def _closed_pool(_pool: Any) -> AsyncIterator[None]:
    usual = get_default_framework()
    set_default_framework("closed after each test")
    yield
    set_default_framework(usual)
    await _pool.aclose()


def openai_model(server: ReplayServer, name: str = "replay", **parameters: Any) -> Any:
    """A model as NeMo makes it for an app."""
    return init_llm_model(name, "openai", {"base_url": server.base_url, "api_key": "k", **parameters}, mode="chat")


def make_rails(server: ReplayServer, **parameters: Any) -> LLMRails:
    """An app with one output rail that draws samples."""
    parameters = {"base_url": server.base_url, "api_key": "key-1", **parameters}
    main = {"models": [{"type": "main", "engine": "openai", "model": "replay", "parameters": parameters}]}
    output = {"flows": ["draw samples"], "streaming": {"enabled": True, "stream_first": False}}
    colang = "define subflow draw samples\n  $drawn = execute draw_samples\n"
    return LLMRails(RailsConfig.from_content(colang, config={**main, "rails": {"output": output}}))


def draw_in_turn(
    rails: LLMRails, settings: ConsistencySettings, usages: list[LlmUsage] | None = None
) -> list[tuple[str, ...]]:
    """Register the drawing action; what it drew is in the list after the turn."""
    drawn: list[tuple[str, ...]] = []

    async def draw_samples(llm: Any = None, **_: Any) -> RailOutcome:
        session = LlmSession.of(as_client(llm), LlmSettings())
        sampler = Sampler(session, PROMPT, settings)
        drawn.append(tuple(sample.text for sample in await sampler.draw(2)))
        if session is not None and usages is not None:
            usages.append(session.usage())
        return RailOutcome.allow()

    rails.register_action(draw_samples, "draw_samples")
    return drawn


async def ask(rails: LLMRails) -> str:
    answer = await rails.generate_async(messages=[{"role": "user", "content": "Where is the tower?"}])
    return str(answer["content"])


async def test_samples_come_in_one_request_with_the_settings_of_the_app_and_stand_in_explain(
    server: ReplayServer,
) -> None:
    rails = make_rails(server, default_headers={"x-team": "blue"}, top_p=0.9)
    drawn = draw_in_turn(rails, ConsistencySettings())
    server.reply("In Paris.", times=1, usage=(10, 3))
    server.reply(["In Lyon.", "In Nice."], times=1, usage=(11, 6))
    assert await ask(rails) == "In Paris."
    assert drawn == [("In Lyon.", "In Nice.")]
    calls = rails.explain().llm_calls
    assert [(call.task, call.prompt_tokens, call.completion_tokens) for call in calls] == [
        ("general", 10, 3),
        ("self_check_hallucination", 11, 6),
    ]
    assert calls[1].completion == "In Lyon.\n---\nIn Nice."
    assert calls[1].duration is not None and calls[1].llm_model_name == "replay"
    assert len(server.requests) == 2
    sampling = server.requests[1]
    assert sampling.body == {
        "model": "replay",
        "messages": [{"role": "user", "content": "Where is the tower?"}],
        "n": 2,
        "temperature": 1.0,
        "top_p": 0.9,
    }
    assert sampling.headers["authorization"] == "Bearer key-1"
    assert sampling.headers["x-team"] == "blue"


async def test_a_model_of_azure_is_asked_at_its_deployment_with_its_key(server: ReplayServer) -> None:
    place = {"azure_endpoint": server.base_url.removesuffix("/v1"), "azure_deployment": "mine"}
    given = {"api_version": "2024-02-15-preview", "api_key": "azure-key", **place}
    client = as_client(init_llm_model("gpt-4o", "azure", given, mode="chat"))
    server.say(["a", "b"])
    reply = await client.complete(PROMPT, n=2)  # type: ignore[union-attr]
    assert [completion.text for completion in reply.completions] == ["a", "b"]
    request = server.requests[0]
    assert request.path == "/openai/deployments/mine/chat/completions"
    assert request.query == "api-version=2024-02-15-preview"
    assert request.headers["api-key"] == "azure-key"
    assert "authorization" not in request.headers


def test_an_http_client_of_the_users_own_is_used_and_left_open(server: ReplayServer) -> None:
    server.say("a")

    async def main() -> bool:
        async with httpx.AsyncClient(headers={"x-proxy": "mine"}) as own:
            theirs = OpenAICompatibleClient(server.base_url, api_key="k", http_client=own)
            await as_client(OpenAIChatModel(theirs, "replay")).complete(PROMPT)  # type: ignore[union-attr]
            await asyncio.get_running_loop().shutdown_asyncgens()  # as `asyncio.run` does at its end
            return own.is_closed

    assert asyncio.run(main()) is False
    assert server.requests[0].headers["x-proxy"] == "mine"


async def test_a_reasoning_model_is_not_sent_a_temperature(server: ReplayServer) -> None:
    client = as_client(openai_model(server, "o3-mini", max_tokens=99))
    server.say("a")
    await client.complete(PROMPT, temperature=1.0)  # type: ignore[union-attr]
    assert sorted(server.requests[0].body) == ["max_completion_tokens", "messages", "model"]


async def test_what_a_provider_refuses_is_remembered_over_turns(server: ReplayServer) -> None:
    rails = make_rails(server)
    drawn = draw_in_turn(rails, ConsistencySettings())
    server.refuse("temperature", "n")
    server.default("In Paris.")
    await ask(rails)
    await ask(rails)
    assert drawn == [("In Paris.", "In Paris.")] * 2
    statuses = [request.status for request in server.requests]
    assert statuses[-3:] == [200, 200, 200]  # the second turn: the answer and two single requests
    assert statuses.count(400) == 3  # `n` once, then `temperature` for each of the two that run at the same time


async def test_an_engine_that_is_not_openai_is_asked_by_concurrent_calls(server: ReplayServer) -> None:
    rails = make_rails(server)
    rails.update_llm(OtherEngine(rails.llm))
    drawn = draw_in_turn(rails, ConsistencySettings())
    server.reply("In Paris.", times=1)
    server.reply(["In Lyon.", "In Nice."], times=2, delay_s=0.2)
    await ask(rails)
    assert sorted(drawn[0]) == ["In Lyon.", "In Nice."]
    first, second = server.requests[1:]
    assert second.received_at < (first.finished_at or 0.0)
    assert [call.task for call in rails.explain().llm_calls] == ["general", *["self_check_hallucination"] * 2]


async def test_an_error_of_the_provider_becomes_ours(server: ReplayServer) -> None:
    model = openai_model(server)
    server.reply(status=401, message="Incorrect API key provided: sk-abcdef123456", times=2)
    for client in (as_client(model), as_client(OtherEngine(model))):
        with pytest.raises(LlmError) as caught:
            await client.complete(PROMPT)  # type: ignore[union-attr]
        assert (caught.value.status, caught.value.retryable) == (401, False)
        assert "sk-abcdef123456" not in str(caught.value)
        assert caught.value.__cause__ is not None


async def test_a_langchain_model_of_the_app_gives_samples_in_one_request(server: ReplayServer) -> None:
    rails = make_rails(server)
    rails.update_llm(LangChainLLMAdapter(chat_model(server)))
    drawn = draw_in_turn(rails, ConsistencySettings())
    server.say("In Paris.", ["In Lyon.", "In Nice."])
    await ask(rails)
    assert drawn == [("In Lyon.", "In Nice.")]
    assert [request.n for request in server.requests] == [1, 2]
    assert [call.task for call in rails.explain().llm_calls] == ["general", "self_check_hallucination"]


async def test_a_bound_langchain_model_is_asked_singly(server: ReplayServer) -> None:
    client = as_client(LangChainLLMAdapter(chat_model(server).bind(top_p=0.5)))
    server.say("a")
    reply = await client.complete(PROMPT, temperature=1.0)  # type: ignore[union-attr]
    assert reply.completions[0].text == "a"
    assert server.requests[0].body["top_p"] == 0.5


# ---- piggyback


def piggyback(
    server: ReplayServer, usages: list[LlmUsage] | None = None, **parameters: Any
) -> tuple[LLMRails, list[tuple[str, ...]]]:
    settings = GuardConfig.load({"consistency": {"sampling": "piggyback"}})
    rails = make_rails(server, **parameters)
    rails.llm = None  # as in `init`, before NeMo has made its model
    assert install(rails, settings)
    rails.update_llm(rails.llm)  # what NeMo does itself after `init`
    return rails, draw_in_turn(rails, settings.consistency, usages=usages)


async def test_while_streaming_nothing_comes_along(server: ReplayServer) -> None:
    rails, _ = piggyback(server)
    server.reply("In Paris.", when=lambda request: request.is_streaming)
    server.reply(["In Lyon.", "In Nice."], when=lambda request: not request.is_streaming)
    chunks = [chunk async for chunk in rails.stream_async(messages=[{"role": "user", "content": "Where?"}])]
    assert "".join(map(str, chunks)) == "In Paris."
    shapes = [(request.n, request.is_streaming) for request in server.requests]
    assert shapes[0] == (1, True)  # the answer alone
    assert set(shapes[1:]) == {(2, False)}  # the rail draws for itself


async def test_without_a_model_there_is_nothing_to_wrap() -> None:
    rails = LLMRails(RailsConfig.from_content(config={"models": []}))
    assert install(rails, GuardConfig.load(None)) is False
    assert as_client(rails.llm) is None


async def test_samples_come_with_the_answer_in_one_request_and_are_not_seen_in_the_next_turn(
    server: ReplayServer,
) -> None:
    rails, drawn = piggyback(server)
    server.say(["In Paris.", "In Lyon.", "In Nice."], ["In Rome.", "In Bari.", "In Pisa."])
    assert [await ask(rails), await ask(rails)] == ["In Paris.", "In Rome."]
    assert drawn == [("In Lyon.", "In Nice."), ("In Bari.", "In Pisa.")]
    assert [request.n for request in server.requests] == [3, 3]


@pytest.mark.parametrize("refusal", [{"status": 400}, {"status": 501, "message": "Not implemented"}, None])
async def test_a_provider_without_n_still_gives_answer_and_samples(server: ReplayServer, refusal: Any) -> None:
    rails, drawn = piggyback(server)
    server.default("In Paris.")
    if refusal:
        server.refuse("n", **refusal)
    else:
        server.ignores_n = True
    assert await ask(rails) == "In Paris."
    assert drawn == [("In Paris.", "In Paris.")]
    seen = len(server.requests)
    assert await ask(rails) == "In Paris."
    assert [request.n for request in server.requests[seen:]] == [1, 1, 1]


async def test_an_answer_at_another_temperature_keeps_it_and_gets_samples_beside_it(server: ReplayServer) -> None:
    usages: list[LlmUsage] = []
    rails, drawn = piggyback(server, usages, temperature=0.0)
    server.reply("In Paris.", when=lambda r: r.body["temperature"] == 0.0, delay_s=0.2)
    server.reply(["In Lyon.", "In Nice."], when=lambda r: r.body["temperature"] == 1.0, delay_s=0.2)
    assert await ask(rails) == "In Paris."
    assert drawn == [("In Lyon.", "In Nice.")]
    assert (usages[0].calls, usages[0].round_trips, usages[0].saved_calls) == (1, 0, 1)
    first, second = server.requests
    assert second.received_at < (first.finished_at or 0.0)


async def test_an_answer_with_tool_calls_keeps_them(server: ReplayServer) -> None:
    rails, _ = piggyback(server)
    model = rails.llm
    server.reply(None, tool_calls=[{"name": "look_up", "arguments": {"city": "Paris"}}], times=1)

    llm_call_info_var.set(LLMCallInfo(task="general"))
    response = await model.generate_async("Where?")  # type: ignore[union-attr]
    assert response.tool_calls[0].function.arguments == {"city": "Paris"}
    assert server.requests[0].n == 3


async def test_a_failed_answer_fails_as_without_piggyback(server: ReplayServer) -> None:
    rails, drawn = piggyback(server, max_retries=0)
    server.reply(status=500, when=lambda request: True)
    with pytest.raises(Exception, match="scripted failure 500"):
        await ask(rails)
    assert drawn == []


# ---- helpers


class OtherEngine:
    """An `LLMModel` of a provider that NeMo does not know."""

    provider_name = "other"
    provider_url = None

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.model_name = "other-model"

    async def generate_async(self, prompt: Any, *, stop: Any = None, **kwargs: Any) -> Any:
        return await self._inner.generate_async(prompt, stop=stop, **kwargs)

    async def stream_async(self, prompt: Any, *, stop: Any = None, **kwargs: Any) -> Any:
        async for chunk in self._inner.stream_async(prompt, stop=stop, **kwargs):
            yield chunk
