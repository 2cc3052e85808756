"""The packaged config `agents`, run over real HTTP: calls are held back or go out, results are evidence."""

from typing import Any

import pytest
from nemoguardrails import LLMRails, RailsConfig

from evidencerails.settings.paths import data_folder
from evidencerails.testing import ReplayServer

ASKED = [{"role": "user", "content": "Refund Ada 20 euros."}]


def app_of(server: ReplayServer) -> LLMRails:
    config = RailsConfig.from_path(str(data_folder("configs") / "agents"))
    config.models[0].parameters = {"base_url": server.base_url, "api_key": "none"}
    return LLMRails(config)


@pytest.mark.parametrize(
    ("name", "arguments", "goes_out"),
    [
        ("refund", {"customer_id": "C-1001", "amount": 20}, True),
        ("refund", {"customer_id": "C-1009", "amount": 20}, False),
        ("refund", {"customer_id": "C-1001", "amount": 2000}, False),
        ("refund", {"customer_id": "1001", "amount": 20}, False),
        ("refund", {"customer_id": "C-1001", "amount": 20, "force": True}, False),
        ("refund_all", {}, False),
    ],
)
async def test_only_a_sound_call_goes_out(
    server: ReplayServer, name: str, arguments: dict[str, Any], goes_out: bool
) -> None:
    server.reply(tool_calls=[{"name": name, "arguments": arguments}])
    message = await app_of(server).generate_async(messages=ASKED)
    assert bool(message.get("tool_calls")) is goes_out
    assert message["content"].startswith("I have not done that") is not goes_out


@pytest.mark.parametrize(("amount", "passes"), [("120", True), ("900", False)])
async def test_the_answer_must_say_what_the_tool_gave_back(server: ReplayServer, amount: str, passes: bool) -> None:
    asked = {"name": "get_balance", "arguments": '{"customer_id": "C-1001"}'}
    call = {"id": "c1", "type": "function", "function": asked}
    history = [
        {"role": "user", "content": "What is the balance of customer C-1001?"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "name": "get_balance", "content": "The balance of C-1001 is 120 euros."},
    ]
    answer = f"The balance of C-1001 is {amount} euros."
    server.default(answer)
    message = await app_of(server).generate_async(messages=history)
    assert (message["content"] == answer) is passes
