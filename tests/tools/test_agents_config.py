"""The packaged config `agents`, run over real HTTP: calls are held back or go out, results are evidence."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from nemoguardrails import LLMRails, RailsConfig

from evidencerails.settings.paths import data_folder
from evidencerails.testing import ReplayServer

pytestmark = pytest.mark.asyncio(loop_scope="module")  # to which the app's connections belong
ASKED = [{"role": "user", "content": "Refund Ada 20 euros."}]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running() -> AsyncIterator[tuple[LLMRails, ReplayServer]]:
    """The app and its model's server: an app takes seconds to make, and keeps nothing of a turn."""
    config = RailsConfig.from_path(str(data_folder("configs") / "agents"))
    with ReplayServer() as server:
        config.models[0].parameters = {"base_url": server.base_url, "api_key": "none"}
        yield LLMRails(config), server


@pytest.mark.parametrize(
    ("name", "arguments", "goes_out"),
    [
        ("refund", {"customer_id": "C-1001", "amount": 20}, True),
        ("refund", {"customer_id": "C-1009", "amount": 20}, False),
        ("refund", {"customer_id": "C-1001", "amount": 2000}, False),
        ("refund", {"customer_id": "C-1001", "amount": 20, "force": True}, False),
        ("refund_all", {}, False),
    ],
)
async def test_only_a_sound_call_goes_out(
    running: tuple[LLMRails, ReplayServer], name: str, arguments: dict[str, Any], goes_out: bool
) -> None:
    app, server = running
    server.reply(tool_calls=[{"name": name, "arguments": arguments}])
    message = await app.generate_async(messages=ASKED)
    assert bool(message.get("tool_calls")) is goes_out
    assert message["content"].startswith("I have not done that") is not goes_out


@pytest.mark.parametrize(("amount", "passes"), [("120", True), ("900", False)])
async def test_the_answer_must_say_what_the_tool_gave_back(
    running: tuple[LLMRails, ReplayServer], amount: str, passes: bool
) -> None:
    asked = {"name": "get_balance", "arguments": '{"customer_id": "C-1001"}'}
    call = {"id": "c1", "type": "function", "function": asked}
    history = [
        {"role": "user", "content": "What is the balance of customer C-1001?"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "name": "get_balance", "content": "The balance of C-1001 is 120 euros."},
    ]
    answer = f"The balance of C-1001 is {amount} euros."
    app, server = running
    server.default(answer)
    message = await app.generate_async(messages=history)
    assert (message["content"] == answer) is passes
