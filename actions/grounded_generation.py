"""The generation action, for flows that let nothing but evidence into an answer."""

from typing import Any

from nemoguardrails.actions import action

from evidencerails.adapters.nemo_before import grounded_answer as _grounded_answer


@action(is_system_action=True)
async def grounded_answer(
    context: Any = None, events: Any = None, llm: Any = None, llm_task_manager: Any = None, **rest: Any
) -> Any:
    """Answer the user from the evidence of the turn, a source for each claim."""
    return await _grounded_answer(context=context, events=events, llm=llm, llm_task_manager=llm_task_manager)
