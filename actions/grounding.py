"""The evidence action."""

from typing import Any

from nemoguardrails.actions import action

from evidencerails.adapters.nemo import run_rail


@action(is_system_action=True)
async def check_grounding(
    flag: Any = None,
    context: Any = None,
    events: Any = None,
    llm: Any = None,
    llm_task_manager: Any = None,
    **rest: Any,
) -> Any:
    """Compare each sentence of the answer with the evidence of the turn."""
    given = {**rest, "context": context, "events": events, "llm": llm, "llm_task_manager": llm_task_manager}
    return await run_rail("check grounding", flag=flag, **given)
