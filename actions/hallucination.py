"""Self-consistency actions; the first has the name of NeMo's own and takes its place."""

from typing import Any

from nemoguardrails.actions import action

from evidencerails.adapters.nemo import run_rail


# NeMo looks at the parameter names: it injects these and no others. A system action stays out of the history that
# dialog prompts show, and runs here even where an actions server is set.
@action(is_system_action=True)
async def self_check_hallucination(
    flag: Any = None,
    context: Any = None,
    events: Any = None,
    llm: Any = None,
    llm_task_manager: Any = None,
    **rest: Any,
) -> Any:
    """Draw further answers to the same prompt and block the answer that does not agree with them."""
    given = {**rest, "context": context, "events": events, "llm": llm, "llm_task_manager": llm_task_manager}
    return await run_rail("self check hallucination", flag=flag, **given)


@action(is_system_action=True)
async def hallucination_warning(
    flag: Any = None,
    context: Any = None,
    events: Any = None,
    llm: Any = None,
    llm_task_manager: Any = None,
    **rest: Any,
) -> Any:
    """The same check, which never goes beyond a warning."""
    given = {**rest, "context": context, "events": events, "llm": llm, "llm_task_manager": llm_task_manager}
    return await run_rail("hallucination warning", flag=flag, **given)
