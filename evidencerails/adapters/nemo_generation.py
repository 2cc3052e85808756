"""The action `grounded_answer`: an answer from the evidence of the turn alone, in place of NeMo's own generation."""

from __future__ import annotations

import logging
from typing import Any

from nemoguardrails.actions.actions import ActionResult

from evidencerails.adapters.nemo_action_call import ActionCall
from evidencerails.adapters.nemo_answerability import evidence_before
from evidencerails.adapters.nemo_plugin import plugin_of
from evidencerails.adapters.wording import UNVERIFIED_MESSAGE, bot_message
from evidencerails.errors import EvidencerailsError, traceback_summary

log = logging.getLogger("evidencerails")

GENERATION_VARIABLE = "grounded_generation"
"""Context variable with claims, sources and what was quarantined, as plain data."""


async def grounded_answer(**given: Any) -> Any:
    """The text of the answer; what breaks is answered as unverified, and never with the model's own words."""
    names = ("context", "events", "llm", "llm_task_manager")
    call = ActionCall(**{name: given[name] for name in names if given.get(name) is not None})
    plugin = plugin_of(call.llm_task_manager)
    if plugin is None:
        raise EvidencerailsError("evidencerails is not set up in this app; add `evidencerails/plugin` to import_paths")
    try:
        evidence = await evidence_before(call, plugin)
        answer = await plugin.guard.generate(call.user_message, evidence=evidence, llm=plugin.client(call.llm))
    except Exception as error:  # boundary to evidence, knowledge base and model: none may break the turn
        log.error("evidencerails: no grounded answer: %s", traceback_summary(error))
        return ActionResult(return_value=bot_message(UNVERIFIED_MESSAGE, plugin.bot_messages), context_updates={})
    return ActionResult(return_value=answer.text, context_updates={GENERATION_VARIABLE: answer.model_dump(mode="json")})
