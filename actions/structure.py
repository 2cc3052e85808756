"""The structure action."""

from typing import Any

from nemoguardrails.actions import action

from evidencerails.adapters.nemo import run_rail


@action(is_system_action=True)
async def check_structure(
    flag: Any = None,
    context: Any = None,
    events: Any = None,
    llm: Any = None,
    llm_task_manager: Any = None,
    **rest: Any,
) -> Any:
    """Hold the form of the answer against the schema, the model or the rules of the settings."""
    given = {**rest, "context": context, "events": events, "llm": llm, "llm_task_manager": llm_task_manager}
    return await run_rail("check structure", flag=flag, **given)
