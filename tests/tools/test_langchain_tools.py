"""`model.bind_tools(...) | guard.as_runnable(tools=...)`: a wrong call does not go on to the tools."""

from typing import Any

import pytest
from chat_models import chat_model
from langchain_core.tools import tool

from evidencerails import Guard
from evidencerails.errors import ResponseBlockedError
from evidencerails.testing import ReplayServer


@tool
def delete_user(user_id: str) -> str:
    """Delete a user."""
    return user_id


def chain(server: ReplayServer, **options: Any) -> Any:
    known = {"function": lambda value: value == "usr_1001"}
    guard = Guard({"checks": ["tools"], "tools": {"resolvers": {"user_id": known}}})
    return chat_model(server).bind_tools([delete_user]) | guard.as_runnable(tools=[delete_user], **options)


@pytest.mark.parametrize(
    ("call", "goes_on"),
    [
        ({"name": "delete_user", "arguments": {"user_id": "usr_1001"}}, True),
        ({"name": "delete_user", "arguments": {"user_id": "usr_9"}}, False),
        ({"name": "delete_user", "arguments": "{broken"}, False),
    ],
)
async def test_only_a_sound_call_goes_on(server: ReplayServer, call: dict[str, Any], goes_on: bool) -> None:
    server.reply(tool_calls=[call], when="Delete")
    message = await chain(server).ainvoke("Delete Ada.")
    assert bool(message.tool_calls) is goes_on
    assert message.response_metadata["hallucination_report"]["status"] == ("grounded" if goes_on else "hallucinated")
    if not goes_on:
        with pytest.raises(ResponseBlockedError):
            await chain(server, on="raise").ainvoke("Delete Ada.")
