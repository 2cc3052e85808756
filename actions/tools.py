"""The tool call action."""

from typing import Any

from nemoguardrails.actions import action

from evidencerails.adapters.nemo import run_rail


@action(is_system_action=True)
async def check_tool_calls(
    tool_calls: Any = None,
    tools: Any = None,
    context: Any = None,
    llm_task_manager: Any = None,
    **rest: Any,
) -> Any:
    """Compare the tool calls of the turn with the known tools, their schemas, and the sources of their values."""
    given = {**rest, "context": context, "llm_task_manager": llm_task_manager}
    return await run_rail("check tool calls", tool_calls=tool_calls, tools=tools, **given)
