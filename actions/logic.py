"""The logic action."""

from typing import Any

from nemoguardrails.actions import action

from evidencerails.adapters.nemo import run_rail


@action(is_system_action=True)
async def check_logic(
    flag: Any = None,
    context: Any = None,
    events: Any = None,
    llm: Any = None,
    llm_task_manager: Any = None,
    **rest: Any,
) -> Any:
    """Compute again what the answer computes, and audit its chains of reasoning."""
    given = {**rest, "context": context, "events": events, "llm": llm, "llm_task_manager": llm_task_manager}
    return await run_rail("check logic", flag=flag, **given)
