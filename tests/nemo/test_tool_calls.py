"""The flow `check tool calls` of `rails.tool_output`: a wrong call never reaches the caller, in no mode."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from nemo_apps import ALWAYS, BLOCKED, CLEAN, EVIDENCE, PLANTED, QUESTION, App, app_2, script

from evidencerails.adapters.nemo_plugin import plugin_of
from evidencerails.testing import ReplayServer

REFUSED = "I have not done that"
PARAMETERS = {"type": "object", "properties": {"user_id": {"type": "string"}}, "required": ["user_id"]}
TOOLS = [{"type": "function", "function": {"name": "delete_user", "parameters": PARAMETERS}}]
RAIL = "rails: {tool_output: {flows: [check tool calls]}}\n"
SETTINGS = """
passthrough: true
{more}
custom_data:
  evidencerails:
    {activation}
    tools:
      sources: {{users: {{kind: jsonl, path: "{path}", field: id}}}}
      resolvers: {{user_id: {{source: users}}}}
"""
ASKED = [{"role": "user", "content": "Delete Ada's account."}]


def delete(user_id: str) -> dict[str, Any]:
    """A call; there is an account usr_1001 and no other."""
    return {"name": "delete_user", "arguments": {"user_id": user_id}}


@pytest.fixture(scope="session")
def users(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("users") / "users.jsonl"
    file.write_text('{"id": "usr_1001"}\n', encoding="utf-8")
    return file


def yaml_of(users: Path, *, more: str = "", activation: str = "on_unverified: warn") -> str:
    return SETTINGS.format(path=users, more=RAIL + more, activation=activation)


def settings_2(users: Path, rail: str) -> str:
    """The same for Colang 2.x."""
    return SETTINGS.format(path=users, more=rail, activation="").replace("passthrough: true\n", "")


async def ask(rails: Any, server: ReplayServer, call: dict[str, Any], tools: Any = TOOLS) -> Any:
    server.reply(tool_calls=[call])
    params = {"llm_params": {"tools": tools}} if tools else {}
    return await rails.generate_async(messages=ASKED, options={**params, "output_vars": ["hallucination_report"]})


@pytest.mark.parametrize(
    ("call", "violation"),
    [
        (delete("usr_1001"), None),
        (delete("usr_9"), "unknown_value"),
        ({"name": "delete_users", "arguments": {"user_id": "usr_1001"}}, "unknown_tool"),
        ({"name": "delete_user", "arguments": {"id": 5}}, "invalid_arguments"),
    ],
)
async def test_a_wrong_call_is_refused_and_a_right_one_goes_out(
    app: App, server: ReplayServer, users: Path, call: dict[str, Any], violation: str | None
) -> None:
    response = await ask(app(yaml_of(users)), server, call)
    report = response.output_data["hallucination_report"]
    if violation is None:
        assert [c["function"] for c in response.tool_calls] == [call] and report["status"] == "grounded"
    else:
        assert not response.tool_calls and call["name"] not in json.dumps(response.response)
        assert response.response[0]["content"].startswith(REFUSED)
        assert violation in [finding["violation"] for finding in report["findings"]]


async def test_the_exception(app: App, server: ReplayServer, users: Path) -> None:
    rails = app(yaml_of(users, more="enable_rails_exceptions: true"))
    response = await ask(rails, server, delete("usr_9"))
    content = response.response[0]["content"]
    assert (content["type"], content["kinds"]) == ("ToolCallRailException", ["tool_call_hallucination"])
    assert not response.tool_calls and "usr_1001" not in json.dumps(response.response)


async def test_calls_of_a_ready_message_are_checked(app: App, server: ReplayServer, users: Path) -> None:
    rails = app(yaml_of(users))
    for user_id, passes in (("usr_1001", True), ("usr_9", False)):
        call = {"id": "1", "type": "function", "function": delete(user_id)}
        ready = {"role": "assistant", "content": "", "tool_calls": [call]}
        options = {"rails": ["tool_output"], "llm_params": {"tools": TOOLS}}
        response = await rails.generate_async(messages=[*ASKED, ready], options=options)
        assert bool(response.tool_calls) is passes, response


async def test_without_known_tools_the_call_is_unverified(
    app: App, server: ReplayServer, users: Path, caplog: pytest.LogCaptureFixture
) -> None:
    call = delete("usr_1001")
    with caplog.at_level(logging.WARNING, "evidencerails"):
        response = await ask(app(yaml_of(users)), server, call, tools=None)
    assert response.output_data["hallucination_report"]["status"] == "unverified" and response.tool_calls
    assert any("no_tools" in record.getMessage() for record in caplog.records)
    response = await ask(app(yaml_of(users, activation="on_unverified: block")), server, call, tools=None)
    assert not response.tool_calls


async def test_shadow_records_and_changes_nothing(
    app: App, server: ReplayServer, users: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rails = app(yaml_of(users, activation="activation: shadow"))
    with caplog.at_level(logging.INFO, "evidencerails"):
        response = await ask(rails, server, delete("usr_9"))
        plugin_of(rails.runtime.llm_task_manager).wait_for_shadow(60)
    assert [c["function"]["name"] for c in response.tool_calls] == ["delete_user"]
    lines = [record.getMessage() for record in caplog.records]
    assert any("check tool calls (shadow" in line and "hallucinated" in line for line in lines)
    assert not any("usr_9" in line for line in lines if line.startswith("evidencerails"))


async def test_the_result_of_a_tool_is_evidence_for_the_answer(app: App, server: ReplayServer) -> None:
    """No flow under `rails.tool_input`: NeMo ends the turn on any."""
    rails = app("passthrough: true\nrails: {output: {flows: [check grounding]}}\n" + ALWAYS)
    call = {"id": "c1", "type": "function", "function": {"name": "lookup", "arguments": "{}"}}
    history = [
        {"role": "user", "content": QUESTION},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "name": "lookup", "content": EVIDENCE},
    ]
    for answer, expected in ((PLANTED, BLOCKED), (CLEAN, CLEAN)):
        script(server, answer)
        assert (await rails.generate_async(messages=history))["content"] == expected


async def test_calls_of_earlier_turns_do_not_end_the_turn(app: App, server: ReplayServer, users: Path) -> None:
    """NeMo takes tool calls in the history for new ones: with any tool rail, the model was not asked any more."""
    rails = app(yaml_of(users, activation="on_unverified: block"))
    call = {"id": "c1", "type": "function", "function": {"name": "delete_user", "arguments": '{"user_id": "usr_9"}'}}
    history = [
        *ASKED,
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "name": "delete_user", "content": "No such user."},
    ]
    server.default("There is no such user.")
    for messages in (history, [*history, {"role": "assistant", "content": "There is none."}, *ASKED]):
        assert (await rails.generate_async(messages=messages))["content"] == "There is no such user."
    for user_id, passes in (("usr_1001", True), ("usr_8", False)):
        server.reset()
        server.reply(tool_calls=[delete(user_id)])
        options = {"llm_params": {"tools": TOOLS}}
        response = await rails.generate_async(messages=history, options=options)
        assert bool(response.tool_calls) is passes


COLANG_2 = """
import core
import guardrails
import evidencerails.plugin

flow main
  activate agent
  activate fixed answer

flow agent
  user said something as $said
  $calls = [{"name": "delete_user", "arguments": {"user_id": "$ID"}}]
  await check tool calls $calls
  bot say "Done."

flow fixed answer
  match NeverSent()
"""


@pytest.mark.parametrize(
    ("user_id", "expected"), [("usr_1001", "Done."), ("usr_9", "I don't know the answer to that.")]
)
async def test_colang_2_has_no_such_rail_but_a_flow_to_await(
    server: ReplayServer, users: Path, tmp_path: Path, user_id: str, expected: str
) -> None:
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps(TOOLS), encoding="utf-8")
    settings = settings_2(users, "").replace("resolvers:", f'definitions: "{tools}"\n      resolvers:')
    rails = app_2(server, settings, COLANG_2.replace("$ID", user_id))
    message = await rails.generate_async(messages=ASKED)
    assert message["content"] == expected, message


def test_colang_2_refuses_a_tool_rail_that_would_never_run(server: ReplayServer, users: Path) -> None:
    with pytest.raises(RuntimeError) as caught:
        app_2(server, settings_2(users, RAIL), COLANG_2.replace("$ID", "usr_1001"))
    assert "NeMo runs no tool rails in Colang 2.x; take it out there and write `await" in str(caught.value.__cause__)
