"""Tool calls and tools in the shapes that users have."""

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from openai.types.chat import ChatCompletionMessage, ChatCompletionMessageFunctionToolCall
from pydantic import BaseModel

from evidencerails import ToolCall
from evidencerails.errors import InputError
from evidencerails.exchange import as_tool_calls, as_tools

ARGUMENTS = {"user_id": "u1"}
CALL = ToolCall(name="delete_user", arguments=ARGUMENTS, id="c1")
OPENAI = {"id": "c1", "type": "function", "function": {"name": "delete_user", "arguments": json.dumps(ARGUMENTS)}}
SCHEMA = {"type": "object", "properties": {"user_id": {"type": "string"}}, "required": ["user_id"]}


@tool
def delete_user(user_id: str) -> str:
    """Delete a user."""
    return user_id


class delete_account(BaseModel):
    """Delete an account."""

    account: int


OF_OPENAI = ChatCompletionMessageFunctionToolCall.model_validate(OPENAI)
ANTHROPIC = {"type": "tool_use", "name": "delete_user", "input": ARGUMENTS, "id": "c1"}
SHAPES: dict[str, Any] = {
    "plain": [{"name": "delete_user", "arguments": ARGUMENTS, "id": "c1"}],
    "plain, JSON": [{"name": "delete_user", "arguments": json.dumps(ARGUMENTS), "id": "c1"}],
    "OpenAI": [OPENAI],
    "OpenAI, parsed": [{**OPENAI, "function": {"name": "delete_user", "arguments": ARGUMENTS}}],
    "OpenAI object": [OF_OPENAI],
    "OpenAI message": ChatCompletionMessage(role="assistant", tool_calls=[OF_OPENAI]),
    "message dict": {"role": "assistant", "content": None, "tool_calls": [OPENAI]},
    "LangChain": [{"name": "delete_user", "args": ARGUMENTS, "id": "c1", "type": "tool_call"}],
    "LangChain message": AIMessage(content="", tool_calls=[{"name": "delete_user", "args": ARGUMENTS, "id": "c1"}]),
    "Anthropic": [ANTHROPIC],
    "Anthropic content": [{"type": "text", "text": "I delete."}, ANTHROPIC],
    "Anthropic message": {"role": "assistant", "content": [{"type": "text", "text": "I delete."}, ANTHROPIC]},
    "plain, with a role": {"role": "assistant", "name": "delete_user", "arguments": ARGUMENTS, "id": "c1"},
    "LangChain message with blocks": AIMessage(content=[ANTHROPIC]),
    "ours": [CALL],
    "one": CALL,
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_every_shape_is_the_same_call(shape: Any) -> None:
    assert as_tool_calls(shape) == (CALL,)


def test_a_function_call_of_older_models_is_one() -> None:
    legacy = {"function_call": {"name": "delete_user", "arguments": json.dumps(ARGUMENTS)}}
    for message in (
        AIMessage("", additional_kwargs=legacy),
        {"tool_calls": [], **legacy},
        {"role": "assistant", "content": None, **legacy},
    ):
        assert [(call.name, call.arguments) for call in as_tool_calls(message)] == [("delete_user", ARGUMENTS)]


@pytest.mark.parametrize("calls", [None, []])
def test_a_message_may_have_no_calls(calls: Any) -> None:
    assert as_tool_calls({"role": "assistant", "content": "hi", "tool_calls": calls}) == ()
    assert as_tool_calls(ChatCompletionMessage(role="assistant", content="hi", tool_calls=calls)) == ()


def test_calls_that_langchain_could_not_read_are_among_them() -> None:
    message = AIMessage(
        content="",
        tool_calls=[{"name": "a", "args": {}, "id": "1"}],
        invalid_tool_calls=[{"name": "b", "args": "{broken", "id": "2", "error": "no JSON"}],
    )
    first, second = as_tool_calls(message)
    assert (first.name, second.name) == ("a", "b") and second.arguments_error.startswith("not JSON")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("{broken", "not JSON"),
        ("[1, 2]", "a JSON list, not an object"),
        ("null", "a JSON null, not an object"),
        ("[" * 100_000, "not JSON that can be read: nested too deeply"),
        ('{"a": "' + "x" * 1_000_001 + '"}', "over 1000000 characters"),
        ([1], "a JSON list, not an object"),
        (5, "a JSON number, not an object"),
        ({1: "a"}, "an object with keys that are no text"),
    ],
)
def test_arguments_that_are_no_object_are_kept_as_an_error(arguments: Any, expected: str) -> None:
    (call,) = as_tool_calls([{"name": "f", "arguments": arguments}])
    assert call.arguments == {} and call.arguments_error.startswith(expected)


@pytest.mark.parametrize("arguments", [None, "", {}, "{}"])
def test_no_arguments_are_an_empty_object(arguments: Any) -> None:
    assert as_tool_calls([{"name": "f", "arguments": arguments}]) == (ToolCall(name="f"),)


@pytest.mark.parametrize("wrong", ["delete_user", [1], [None], [{"tool": "x"}], 7])
def test_what_is_no_tool_call_is_wrong_usage(wrong: Any) -> None:
    with pytest.raises(InputError, match=r"tool_calls\[1\].name: got"):
        as_tool_calls(wrong)


def test_tools_of_every_shape_have_name_and_schema() -> None:
    openai = {"type": "function", "function": {"name": "delete_user", "description": "", "parameters": SCHEMA}}
    plain = [{"name": "delete_user", key: SCHEMA} for key in ("parameters", "input_schema", "inputSchema")]
    shapes: list[Any] = [openai, *plain]
    assert as_tools(shapes) == ({"name": "delete_user", "parameters": SCHEMA},) * 4
    read = as_tools([delete_user, delete_account])
    assert [t["name"] for t in read] == ["delete_user", "delete_account"]
    assert read[0]["parameters"]["required"] == ["user_id"]
    assert as_tools([{"name": "ping"}]) == ({"name": "ping"},)


@pytest.mark.parametrize("wrong", ["delete_user", [{"parameters": {}}], [5], [{"name": ""}]])
def test_what_is_no_tool_is_wrong_usage(wrong: Any) -> None:
    with pytest.raises(InputError, match=r"^tools(\[1\])?(\.name)?: got"):
        as_tools(wrong)
