"""The client of OpenAI-compatible providers, its lessons and its errors."""

import asyncio
import time
from typing import Any

import pytest
from pydantic import SecretStr

from evidencerails.errors import LlmError, LlmReplyError, LlmTimeoutError, SettingsError
from evidencerails.exchange import Message, TokenLogprob
from evidencerails.llm.base import LlmClient
from evidencerails.llm.session import client_from_settings
from evidencerails.settings.llm import LlmEndpoint
from evidencerails.testing import ReplayServer

PROMPT = (Message(role="system", content="Be brief."), Message(role="user", content="Where?"))


def make_client(server: ReplayServer, **fields: Any) -> LlmClient:
    endpoint = LlmEndpoint(**{"base_url": server.base_url, "model": "replay", **fields})
    return client_from_settings(endpoint)


async def test_a_request_carries_what_was_asked_for_and_nothing_else(server: ReplayServer) -> None:
    server.reply(["a", "b"], usage=(7, 5), times=1)
    reply = await make_client(server, api_key=SecretStr("k")).complete(PROMPT, n=2, temperature=0.5, max_tokens=9)
    assert server.requests[0].body == {
        "model": "replay",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Where?"}],
        "n": 2,
        "temperature": 0.5,
        "max_tokens": 9,
    }
    assert server.requests[0].headers["authorization"] == "Bearer k"
    assert [completion.text for completion in reply.completions] == ["a", "b"]
    assert (reply.prompt_tokens, reply.completion_tokens, reply.model) == (7, 5, "replay")


async def test_the_key_is_read_from_the_named_variable(server: ReplayServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "from-env")
    server.say("a")
    await make_client(server, api_key_env="MY_KEY").complete(PROMPT)
    assert server.requests[0].headers["authorization"] == "Bearer from-env"


async def test_a_deployment_of_azure_gets_its_version_and_key(server: ReplayServer) -> None:
    server.say("a")
    url = server.base_url.removesuffix("/v1") + "/openai/deployments/mine?api-version=2024-10-21"
    await make_client(server, base_url=url, api_key=SecretStr("azure")).complete(PROMPT)
    request = server.requests[0]
    assert (request.path, request.query) == ("/openai/deployments/mine/chat/completions", "api-version=2024-10-21")
    assert request.headers["api-key"] == "azure"


async def test_an_instruct_model_is_asked_by_the_legacy_route(server: ReplayServer) -> None:
    server.say(["a", "b"])
    reply = await make_client(server, model="gpt-3.5-turbo-instruct").complete(PROMPT, n=2)
    assert [completion.text for completion in reply.completions] == ["a", "b"]
    assert (server.requests[0].path, server.requests[0].body["prompt"]) == ("/v1/completions", "Be brief.\n\nWhere?")


async def test_tool_results_and_empty_messages_are_told_in_a_form_every_provider_takes(server: ReplayServer) -> None:
    server.say("a")
    given = (("user", "Weather?"), ("assistant", ""), ("tool", "12 degrees"))
    prompt = tuple(Message(role=role, content=content) for role, content in given)
    await make_client(server).complete(prompt)
    assert server.requests[0].messages == [
        {"role": "user", "content": "Weather?"},
        {"role": "user", "content": "Result of a tool call:\n12 degrees"},
    ]


async def test_logprobs_and_a_schema_go_both_ways(server: ReplayServer) -> None:
    server.reply("a b", logprobs=[("a", -0.25), (" b", 0.0)], times=1)
    schema = {"type": "object", "properties": {}}
    reply = await make_client(server).complete(PROMPT, json_schema=schema)
    assert reply.completions[0].logprobs == tuple(
        TokenLogprob(token=t, logprob=p) for t, p in (("a", -0.25), (" b", 0))
    )
    sent = server.requests[0].body["response_format"]
    assert (sent["type"], sent["json_schema"]["schema"]) == ("json_schema", schema)


@pytest.mark.parametrize(
    ("parameter", "options"),
    [("temperature", {"temperature": 0.0}), ("response_format", {"json_schema": {"type": "object"}})],
)
async def test_a_refused_parameter_is_left_out_and_stays_out(
    server: ReplayServer, parameter: str, options: dict[str, Any]
) -> None:
    client = make_client(server)
    server.refuse(parameter)
    server.say("a", "b")
    await client.complete(PROMPT, **options)
    await client.complete(PROMPT, **options)
    assert [parameter in request.body for request in server.requests] == [True, False, False]


async def test_a_refused_max_tokens_is_sent_by_its_newer_name(server: ReplayServer) -> None:
    server.refuse("max_tokens")
    server.say("a")
    await make_client(server).complete(PROMPT, max_tokens=9)
    assert server.requests[1].body["max_completion_tokens"] == 9
    assert "max_tokens" not in server.requests[1].body


@pytest.mark.parametrize(
    ("message", "supports_n"),
    [
        ("Unsupported parameter: 'n' is not supported with this model.", False),
        ("'n' : number must be at most 1", False),
        ("Only n=1 is supported", False),
        ("n must be 1 when using greedy sampling, got 2.", False),
        ("This model's maximum context length is 4096 tokens", True),
    ],
)
async def test_a_refused_n_turns_it_off_and_another_bad_request_nothing(
    server: ReplayServer, message: str, supports_n: bool
) -> None:
    client = make_client(server)
    server.reply(status=400, message=message, times=1)
    with pytest.raises(LlmError):
        await client.complete(PROMPT, n=2)
    assert (client.supports_n, len(server.requests)) == (supports_n, 1)


FAULTS: list[tuple[dict[str, Any], type[LlmError], int | None, bool]] = [
    ({"status": 400}, LlmError, 400, False), ({"status": 401}, LlmError, 401, False),
    ({"status": 408}, LlmTimeoutError, 408, True), ({"status": 429}, LlmError, 429, True),
    ({"status": 500}, LlmError, 500, True), ({"cut": True}, LlmError, None, True),
    ({"cut": "at_once"}, LlmError, None, True), ({"text": "a", "broken_json": True}, LlmReplyError, None, True),
    ({"text": "a", "delay_s": 5.0}, LlmTimeoutError, None, True), ({"text": []}, LlmReplyError, None, True),
]  # fmt: skip


@pytest.mark.parametrize(("fault", "kind", "status", "retryable"), FAULTS)
async def test_every_fault_becomes_our_error(
    server: ReplayServer, fault: dict[str, Any], kind: type[LlmError], status: int | None, retryable: bool
) -> None:
    server.reply(**fault, times=1)
    with pytest.raises(LlmError) as caught:
        await make_client(server, timeout_s=0.3).complete(PROMPT)
    assert type(caught.value) is kind
    assert (caught.value.status, caught.value.retryable) == (status, retryable)
    assert "model 'replay'" in str(caught.value)
    assert len(server.requests) == 1  # adapters do not retry


async def test_a_closed_port_is_retryable() -> None:
    with ReplayServer() as gone:
        client = make_client(gone)
    with pytest.raises(LlmError) as caught:
        await client.complete(PROMPT)
    assert caught.value.retryable is True


def test_a_missing_key_is_told_when_the_model_is_asked() -> None:
    client = client_from_settings(LlmEndpoint(model="gpt-4o"))
    with pytest.raises(LlmError, match=r"no key for model 'gpt-4o': set OPENAI_API_KEY"):
        asyncio.run(client.complete(PROMPT))  # type: ignore[union-attr]


def test_without_model_and_server_there_is_no_client() -> None:
    assert client_from_settings(None) is None
    assert client_from_settings(LlmEndpoint()) is None
    with pytest.raises(SettingsError, match=r"llm\.model is not"):
        client_from_settings(LlmEndpoint(base_url="http://127.0.0.1:1/v1"))


def test_one_client_serves_many_event_loops_and_leaves_no_connection_open(server: ReplayServer) -> None:
    client = make_client(server)
    server.default("a")
    for _ in range(3):
        assert asyncio.run(client.complete(PROMPT)).completions[0].text == "a"
    until = time.monotonic() + 20.0
    while server.open_connections and time.monotonic() < until:
        time.sleep(0.01)
    assert server.open_connections == 0
