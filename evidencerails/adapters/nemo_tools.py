"""Tool calls inside NeMo: the tools that a turn offers its model.

NeMo runs `rails.tool_output` on the event `BotToolCalls`, which it makes in passthrough mode and of assistant messages
with `tool_calls`; the calls are in `$tool_calls`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evidencerails.adapters.nemo_plugin import NemoPlugin
from evidencerails.adapters.nemo_rails import TOOL_FLOW

TOOL_RAIL_OF_COLANG_2 = f"rails.tool_output lists {TOOL_FLOW!r}, but NeMo runs no tool rails in Colang 2.x"
TOOL_RAIL_REMEDY = f"take it out there and write `await {TOOL_FLOW} $calls` in the flow that makes the calls"
CALLS_VARIABLE = "tool_calls"
TOOLS_VARIABLE = "tools"
"""Context variable that may hold the tools of the turn: `$tools`."""


def tools_of_turn(context: Mapping[str, Any], plugin: NemoPlugin) -> Any:
    """The tools that the model was offered: `$tools`, the request's `llm_params`, the main model's own, else none, and
    the settings' `tools.definitions` stand in for them."""
    options = context.get("generation_options")
    params = options.get("llm_params") if isinstance(options, Mapping) else getattr(options, "llm_params", None)
    main = next((model for model in plugin.app.config.models if model.type == "main"), None)
    places = (
        context.get(TOOLS_VARIABLE),
        (params or {}).get("tools"),
        _bound_tools(plugin.app.llm),
        (main.parameters or {}).get("tools") if main else None,
    )
    return next((found for found in places if found), None)


def _bound_tools(llm: Any) -> Any:
    """The tools that a LangChain model was bound to."""
    for holder in (llm, getattr(llm, "llm", None), getattr(llm, "_llm", None)):
        kwargs = getattr(holder, "kwargs", None)
        if isinstance(kwargs, Mapping) and kwargs.get("tools"):
            return kwargs["tools"]
    return None
