"""Tool calls and tools in the shapes that users have, as the values every check reads; and what arguments state."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from evidencerails.errors import InputError
from evidencerails.exchange import Exchange, ToolCall
from evidencerails.text.claimable import is_short_answer, makes_claim
from evidencerails.text.json_answers import json_parts

REQUESTS = frozenset(
    {"query", "queries", "q", "question", "search", "search_query", "prompt", "keywords"}
    | {"limit", "top_k", "max_results", "page", "offset", "timeout"}
)
"""Arguments that ask for something and state nothing."""
MAX_ARGUMENT_CHARACTERS = 1_000_000
"""Longer arguments in JSON are not read: no tool takes them."""
MAX_DEPTH = 30
TOO_DEEP = "something nested too deep to be read"
"""Stands for deeper arguments: a claim that no evidence supports."""


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


def with_arguments(exchange: Exchange) -> Exchange:
    """The exchange whose response also has, as JSON behind its text, what the arguments of its tool calls state.

    The arguments of a call are as good a place for a made-up fact as a sentence. Left out are words and numbers of the
    prompt (the user's own, or what another tool gave back), switches, values that the tool's schema lists, and
    `REQUESTS`. Without evidence only whole sentences count: a mere parameter is none.

    Spans of claims count in the response of this exchange; in its text, if it has any, they are as ever.
    """
    stated = [said for call in exchange.tool_calls if (said := _stated(call, exchange))]
    is_json = "```" not in exchange.response and bool(json_parts(exchange.response))
    if not stated or is_json:  # with more behind it, an answer that is nothing but JSON would be read as prose
        return exchange
    data = json.dumps(stated[0] if len(stated) == 1 else stated, ensure_ascii=False)
    text = exchange.response
    return exchange.model_copy(update={"response": f"{text}\n\n```json\n{data}\n```" if text.strip() else text + data})


def _stated(call: ToolCall, exchange: Exchange) -> dict[str, Any]:
    """The arguments of one call that state something."""
    prompt = "\n".join(message.content for message in exchange.prompt if message.role != "assistant")
    given = " ".join(prompt.casefold().split())
    tool = next((tool for tool in exchange.tools if tool.get("name") == call.name), {})
    parameters = tool.get("parameters")
    declared = parameters.get("properties") if isinstance(parameters, Mapping) else None

    def states(value: Any) -> bool:
        if value is None or isinstance(value, bool):
            return False
        said = " ".join(value.casefold().split()) if isinstance(value, str) else json.dumps(value, default=str)
        if not said or re.search(rf"(?<!\w){re.escape(said)}(?!\w)", given):
            return False
        return bool(exchange.evidence) or (makes_claim(said) and not is_short_answer(said))

    def kept(value: Any, depth: int = 0) -> Any:
        """The value with all that states nothing left out; None if nothing is left."""
        if depth >= MAX_DEPTH:
            return TOO_DEEP
        if isinstance(value, Mapping):
            members = ((key, kept(item, depth + 1)) for key, item in value.items() if key not in REQUESTS)
            return {key: left for key, left in members if left is not None} or None
        if isinstance(value, (list, tuple)):
            items = (kept(item, depth + 1) for item in value)
            return [left for left in items if left is not None] or None
        return value if states(value) else None

    schemas = declared.items() if isinstance(declared, Mapping) else ()
    chosen = {
        name for name, schema in schemas if isinstance(schema, Mapping) and not {"enum", "const"}.isdisjoint(schema)
    }
    return kept({name: value for name, value in call.arguments.items() if name not in chosen}) or {}


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
