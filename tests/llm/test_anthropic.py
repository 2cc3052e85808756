"""Anthropic through LangChain, for real: langchain-anthropic and its HTTP client against a server of that protocol."""

import json
from typing import Any

import messages_protocol  # noqa: F401 - the server speaks it from here on
import pytest
from langchain_anthropic import ChatAnthropic

from evidencerails import Guard
from evidencerails.errors import LlmError, LlmTimeoutError
from evidencerails.exchange import Message
from evidencerails.llm.adapt import as_client
from evidencerails.llm.base import LlmClient
from evidencerails.testing import ReplayServer

PROMPT = (Message(role="system", content="Be brief."), Message(role="user", content="Where is the tower?"))
EVIDENCE = "The Eiffel Tower was completed in 1889. It stands in Paris."
ANSWER = "The Eiffel Tower was completed in 1889."


def anthropic(server: ReplayServer, **options: object) -> ChatAnthropic:
    address = server.base_url.removesuffix("/v1")
    return ChatAnthropic(model="claude-test", api_key="k", base_url=address, max_retries=0, **options)


def client_of(server: ReplayServer, **options: object) -> LlmClient:
    return as_client(anthropic(server, **options))


async def test_a_completion_with_its_usage_and_without_its_reasoning(server: ReplayServer) -> None:
    server.reply("In Paris.", reasoning="The user asks for a place.", usage=(11, 3), times=1)
    client = client_of(server)
    reply = await client.complete(PROMPT, temperature=1.0, max_tokens=50)
    assert [c.text for c in reply.completions] == ["In Paris."]
    assert (reply.prompt_tokens, reply.completion_tokens, reply.completions[0].finish_reason) == (11, 3, "end_turn")
    body = server.requests[0].body
    assert (server.requests[0].path, client.model, client.supports_n) == ("/v1/messages", "claude-test", False)
    assert (body["system"], body["max_tokens"], body["temperature"]) == ("Be brief.", 50, 1.0)
    assert [message["role"] for message in body["messages"]] == ["user"]
    assert "tools" not in body  # which only a schema needs


@pytest.mark.parametrize(
    ("fault", "kind", "status", "retryable"),
    [
        ({"status": 401}, LlmError, 401, False),
        ({"status": 529}, LlmError, 529, True),
        ({"text": "late", "delay_s": 3.0}, LlmTimeoutError, None, True),
    ],
)
async def test_its_faults_become_our_errors(
    server: ReplayServer, fault: Any, kind: type[LlmError], status: int | None, retryable: bool
) -> None:
    server.reply(**fault, times=1)
    with pytest.raises(kind) as caught:
        await client_of(server, timeout=0.3).complete(PROMPT)
    assert (caught.value.status, caught.value.retryable) == (status, retryable)


async def test_a_refused_temperature_is_left_out(server: ReplayServer) -> None:
    server.refuse("temperature")
    server.say("In Paris.")
    assert (await client_of(server).complete(PROMPT, temperature=1.0)).completions[0].text == "In Paris."
    assert ["temperature" in request.body for request in server.requests] == [True, False]


async def test_samples_of_a_guard(server: ReplayServer) -> None:
    server.default("The Eiffel Tower was completed in 1925.")
    guard = Guard({"checks": ["consistency"]}, llm=anthropic(server))
    report = await guard.check(ANSWER, prompt="When was the Eiffel Tower completed?")
    assert (report.status, report.llm.calls, report.llm.round_trips) == ("hallucinated", 2, 1)


VERDICT = {
    "claim": 1, "facts": "completed in 1889", "quote": "The Eiffel Tower was completed in 1889.",
    "comparison": "the same", "label": "supported", "error_types": [],
}  # fmt: skip
GIVEN = json.dumps({"verdicts": [VERDICT]})


@pytest.fixture
def judging(server: ReplayServer) -> Guard:
    """A guard whose judge of claims is the model."""
    return Guard({"checks": ["claims"], "claims": {"classifier": "llm"}}, judge=anthropic(server))


async def test_a_schema_is_the_tool_that_has_to_be_called(server: ReplayServer, judging: Guard) -> None:
    server.reply(tool_calls=[{"name": "reply", "arguments": {"verdicts": [VERDICT]}}], when=lambda _: True)
    report = await judging.check(ANSWER, evidence=EVIDENCE)
    assert (report.status, report.llm.calls) == ("grounded", 1)
    body = server.requests[0].body
    assert body["tool_choice"] == {"type": "tool", "name": "reply"}
    (tool,) = body["tools"]
    assert tool["name"] == "reply"
    labels = tool["input_schema"]["properties"]["verdicts"]["items"]["properties"]["label"]["enum"]
    assert labels == ["supported", "partially_supported", "contradicted", "absent", "unevaluatable"]


async def test_arguments_that_break_the_schema_are_repaired_once(server: ReplayServer, judging: Guard) -> None:
    broken = {"verdicts": [{**VERDICT, "label": "plausible"}]}
    server.reply(tool_calls=[{"name": "reply", "arguments": broken}], when=lambda _: True)
    report = await judging.check(ANSWER, evidence=EVIDENCE)
    assert (report.status, len(server.requests)) == ("unverified", 2)
    assert "judge_failed" in report.reason


@pytest.mark.parametrize(
    "message",
    ["Thinking may not be enabled when tool_choice forces tool use.", "tool_choice: type 'tool' is not supported"],
)
async def test_a_model_that_cannot_be_made_to_call_is_asked_without(
    server: ReplayServer, judging: Guard, message: str
) -> None:
    server.reply(status=400, message=message, when=lambda request: "tool_choice" in request.body)
    server.default(GIVEN)
    for answer in (ANSWER, "It was completed in 1889, the Eiffel Tower."):
        assert (await judging.check(answer, evidence=EVIDENCE)).status == "grounded"
    assert ["tool_choice" in request.body for request in server.requests] == [True, False, False]
    assert all("tools" in request.body for request in server.requests)


async def test_a_model_without_tools_gets_the_form_from_the_prompt(server: ReplayServer, judging: Guard) -> None:
    server.reply(status=400, message="tools: not supported by this model", when=lambda request: "tools" in request.body)
    server.default(f"Here it is:\n```json\n{GIVEN}\n```")
    report = await judging.check(ANSWER, evidence=EVIDENCE)
    assert (report.status, report.claims[0].method) == ("grounded", "llm:claude-test")
    assert report.llm.prompt_tokens > 0
    assert [("tools" in r.body, "tool_choice" in r.body) for r in server.requests] == [(True, True), (False, False)]
