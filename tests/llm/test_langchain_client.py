"""LangChain's models through our client: those with `n`, those without, and those that are not chat models."""

import pytest
from chat_models import chat_model
from langchain_core.language_models import FakeListChatModel, FakeListLLM

from evidencerails.errors import InputError
from evidencerails.exchange import Message
from evidencerails.llm.adapt import as_client
from evidencerails.llm.session import LlmSession
from evidencerails.settings.llm import LlmSettings
from evidencerails.testing import ReplayServer

PROMPT = (Message(role="system", content="Be brief."), Message(role="user", content="Where?"))


async def test_a_model_with_n_gives_samples_in_one_request(server: ReplayServer) -> None:
    server.reply(["a", "b"], usage=(7, 5), times=1)
    reply = await as_client(chat_model(server)).complete(PROMPT, n=2, temperature=1.0)
    assert [completion.text for completion in reply.completions] == ["a", "b"]
    assert (reply.prompt_tokens, reply.completion_tokens) == (7, 5)
    body = server.requests[0].body
    assert (body["n"], body["temperature"]) == (2, 1.0)
    assert body["messages"] == [{"content": "Be brief.", "role": "system"}, {"content": "Where?", "role": "user"}]


async def test_a_schema_goes_to_models_that_keep_to_one_and_is_left_out_where_it_is_refused(
    server: ReplayServer,
) -> None:
    schema = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    server.say('{"a": 1}')
    reply = await as_client(chat_model(server)).complete(PROMPT, json_schema=schema)
    assert reply.completions[0].text == '{"a": 1}'
    assert server.requests[0].body["response_format"]["json_schema"]["schema"] == schema
    server.refuse("response_format")
    server.say("b", "c")
    client = as_client(chat_model(server))
    texts = [(await client.complete(PROMPT, json_schema=schema)).completions[0].text for _ in range(2)]
    assert texts == ["b", "c"]
    assert ["response_format" in request.body for request in server.requests[1:]] == [True, False, False]


async def test_a_model_without_n_is_asked_by_single_requests() -> None:
    client = as_client(FakeListChatModel(responses=["a", "b"]))
    session = LlmSession.of(client, LlmSettings())
    assert session is not None and client.supports_n is False
    reply = await session.complete(PROMPT, n=2, temperature=1.0)
    assert sorted(completion.text for completion in reply.completions) == ["a", "b"]


async def test_a_text_model_is_asked_too() -> None:
    reply = await as_client(FakeListLLM(responses=["a"])).complete(PROMPT)
    assert reply.completions[0].text == "a"


def test_one_model_keeps_its_client(server: ReplayServer) -> None:
    model = chat_model(server)
    copied = model.model_copy()
    client = as_client(model)
    assert as_client(model) is client
    assert as_client(client) is client
    assert as_client(copied) is not client
    assert model.model_copy() == model  # the client it keeps changes nothing about the model


def test_none_is_no_model_and_something_else_is_an_error() -> None:
    assert as_client(None) is None
    with pytest.raises(InputError, match="cannot ask a str; give a LangChain model"):
        as_client("gpt-4o")
