"""The answerability action, for an input rail."""

from typing import Any

from nemoguardrails.actions import action

from evidencerails.adapters.nemo import run_rail


@action(is_system_action=True)
async def check_answerability(
    flag: Any = None,
    context: Any = None,
    events: Any = None,
    llm: Any = None,
    llm_task_manager: Any = None,
    **rest: Any,
) -> Any:
    """Ask whether the evidence can answer the user's question at all, before an answer is generated."""
    given = {**rest, "context": context, "events": events, "llm": llm, "llm_task_manager": llm_task_manager}
    return await run_rail("check answerability", flag=flag, **given)
