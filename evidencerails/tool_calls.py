"""What the arguments of tool calls state: an exchange comes in, one whose response also has their claims goes out."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from evidencerails.exchange import Exchange, ToolCall
from evidencerails.text.claimable import is_short_answer, makes_claim

REQUESTS = frozenset(
    {"query", "queries", "q", "question", "search", "search_query", "prompt", "keywords"}
    | {"limit", "top_k", "max_results", "page", "offset", "timeout"}
)
"""Arguments that ask for something and state nothing."""
MAX_DEPTH = 30
TOO_DEEP = f"too_deep: arguments of a tool call are nested deeper than {MAX_DEPTH} levels"
"""Why a check that reads arguments has no verdict (see `nests_too_deep`)."""


def with_arguments(exchange: Exchange) -> Exchange:
    """The exchange whose response also has, as JSON behind its text, what the arguments of its tool calls state.

    The arguments of a call are as good a place for a made-up fact as a sentence. Left out are words and numbers of the
    prompt (the user's own, or what another tool gave back), switches, values that the tool's schema lists, and
    `REQUESTS`. Without evidence only whole sentences count: a mere parameter is none.

    Spans of claims count in the response of this exchange; in its text, if it has any, they are as ever.
    """
    stated = [said for call in exchange.tool_calls if (said := _stated(call, exchange))]
    if not stated:
        return exchange
    data = json.dumps(stated[0] if len(stated) == 1 else stated, ensure_ascii=False, default=str)
    text = exchange.response
    return exchange.model_copy(update={"response": f"{text}\n\n```json\n{data}\n```" if text.strip() else text + data})


def nests_too_deep(call: ToolCall) -> bool:
    """True if `with_arguments` leaves out some arguments of the call because it does not read so deep."""
    level: list[Any] = [call.arguments]
    for _ in range(MAX_DEPTH):
        pairs = [pair for value in level if isinstance(value, Mapping) for pair in value.items()]
        items = [item for value in level if isinstance(value, (list, tuple)) for item in value]
        level = items + [value for key, value in pairs if key not in REQUESTS]
    return bool(level)


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
            return None
        if isinstance(value, Mapping):
            members = ((key, kept(item, depth + 1)) for key, item in value.items() if key not in REQUESTS)
            return {str(key): left for key, left in members if left is not None} or None
        if isinstance(value, (list, tuple)):
            items = (kept(item, depth + 1) for item in value)
            return [left for left in items if left is not None] or None
        return value if states(value) else None

    schemas = declared.items() if isinstance(declared, Mapping) else ()
    chosen = {
        name for name, schema in schemas if isinstance(schema, Mapping) and not {"enum", "const"}.isdisjoint(schema)
    }
    return kept({name: value for name, value in call.arguments.items() if name not in chosen}) or {}
