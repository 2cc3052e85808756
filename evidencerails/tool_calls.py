"""Tool calls and tools in the shapes that users have, as the values every check reads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from evidencerails.errors import InputError
from evidencerails.exchange import ToolCall

MAX_ARGUMENT_CHARACTERS = 1_000_000
"""Longer arguments in JSON are not read: no tool takes them."""


def as_tool_calls(calls: Any) -> tuple[ToolCall, ...]:
    """Tool calls in any usual shape as values.

    Takes `{name, arguments}`, OpenAI's `{id, function: {name, arguments}}` with arguments in JSON, LangChain's
    `{name, args, id}`, Anthropic's `{type: "tool_use", name, input}`, objects with these attributes, a message with
    `tool_calls` (and `invalid_tool_calls`), or a list of any of them. Arguments that are no JSON object are kept as
    `arguments_error`: the model wrote them, so they are something to find, not wrong usage.

    Raises:
        InputError: an item is no tool call.
    """
    if calls is None:
        return ()
    found: list[ToolCall] = []
    for place, item in enumerate(calls if isinstance(calls, (list, tuple)) else [calls], start=1):
        inner = _of_message(item)
        found += as_tool_calls(inner) if inner is not None else [_as_tool_call(item, place)]
    return tuple(found)


def _of_message(item: Any) -> list[Any] | None:
    """The calls of a message; None if the item is no message."""
    held = _get(item, "tool_calls")
    if isinstance(item, ToolCall) or not isinstance(held, (list, tuple)):
        return None
    return [*held, *(_get(item, "invalid_tool_calls") or ())]


def _as_tool_call(item: Any, place: int) -> ToolCall:
    if isinstance(item, ToolCall):
        return item
    function = _get(item, "function")
    body = item if function is None or isinstance(function, str) else function
    name = _get(body, "name")
    keys = ("arguments", "args", "input", "parameters")
    given = next((value for key in keys if (value := _get(body, key)) is not None), None)
    if name is None:
        raise InputError(
            f"tool_calls[{place}].name: got {_shown(item)}: Field required; give {{name, arguments}}, or a call as "
            "OpenAI or LangChain write it"
        )
    arguments, problem = _arguments(given)
    call_id = _get(item, "id") or _get(item, "tool_call_id") or _get(item, "call_id")
    return ToolCall(
        name=name if isinstance(name, str) else "",
        arguments=arguments,
        arguments_error=problem,
        id=str(call_id) if call_id else None,
    )


def _arguments(given: Any) -> tuple[dict[str, Any], str]:
    """The arguments as an object, or what is wrong with them."""
    if given is None or given == "":
        return {}, ""
    if isinstance(given, (str, bytes)):
        if len(given) > MAX_ARGUMENT_CHARACTERS:
            return {}, f"over {MAX_ARGUMENT_CHARACTERS} characters"
        try:
            given = json.loads(given)
        except RecursionError:
            return {}, "not JSON that can be read: nested too deeply"
        except ValueError as error:
            return {}, f"not JSON: {error}"
    if hasattr(given, "model_dump"):
        given = given.model_dump()
    if not isinstance(given, Mapping):
        return {}, f"a JSON {_json_type(given)}, not an object"
    if not all(isinstance(key, str) for key in given):
        return {}, "an object with keys that are no text"
    return dict(given), ""


def as_tools(tools: Any) -> tuple[dict[str, Any], ...]:
    """Tools in any usual shape as `{name, parameters}`; `parameters` is their JSON Schema, absent if they have none.

    Takes that form, OpenAI's `{type: "function", function: {...}}`, Anthropic's `{name, input_schema}`, LangChain
    tools, pydantic classes, and functions that LangChain can read.

    Raises:
        InputError: an item is no tool.
    """
    if tools is None:
        return ()
    if isinstance(tools, (str, bytes)) or not isinstance(tools, (Mapping, Sequence)):
        raise InputError(f"tools: got {_shown(tools)}: give a list of {{name, parameters}}")
    items = [tools] if isinstance(tools, Mapping) else tools
    return tuple(_as_tool(item, place) for place, item in enumerate(items, start=1))


def _as_tool(item: Any, place: int) -> dict[str, Any]:
    if not isinstance(item, Mapping):
        item = _from_langchain(item, place)
    body = item.get("function") if isinstance(item.get("function"), Mapping) else item
    name = body.get("name")
    if not isinstance(name, str) or not name:
        keys_told = ", ".join(map(str, body))
        raise InputError(f"tools[{place}].name: got {_shown(name)} (keys: {keys_told}); give {{name, parameters}}")
    keys = ("parameters", "input_schema", "inputSchema")
    schema = next((body[key] for key in keys if body.get(key) is not None), None)
    return {"name": name} if schema is None else {"name": name, "parameters": schema}


def _from_langchain(item: Any, place: int) -> Mapping[str, Any]:
    from langchain_core.utils.function_calling import convert_to_openai_tool

    try:
        tool: Mapping[str, Any] = convert_to_openai_tool(item)
    except Exception as error:  # boundary to LangChain, which raises whatever it likes for what it cannot read
        raise InputError(
            f"tools[{place}]: got {_shown(item)}: give {{name, parameters}} or a LangChain tool; reading it as one "
            f"gave {type(error).__name__}"
        ) from error
    return tool


def _get(item: Any, key: str) -> Any:
    return item.get(key) if isinstance(item, Mapping) else getattr(item, key, None)


def _shown(value: Any, limit: int = 80) -> str:
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _json_type(value: Any) -> str:
    names = {"list": "list", "str": "text", "int": "number", "float": "number", "bool": "boolean", "NoneType": "null"}
    return names.get(type(value).__name__, type(value).__name__)
