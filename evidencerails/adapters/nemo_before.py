"""What runs before there is an answer: the input rail `check answerability` and the action `grounded_answer`."""

from __future__ import annotations

import logging
from typing import Any

from nemoguardrails.actions.actions import ActionResult, action
from nemoguardrails.actions.rail_outcome import RailDecision

from evidencerails.adapters.nemo_action_call import ActionCall
from evidencerails.adapters.nemo_calls import readable_messages
from evidencerails.adapters.nemo_evidence import EvidenceSources, find_evidence
from evidencerails.adapters.nemo_outcome import ANSWER_KEY, NOT_ACTIVATED, Verdict, not_run
from evidencerails.adapters.nemo_plugin import NemoPlugin
from evidencerails.adapters.nemo_rails import INPUT_RAIL, is_set
from evidencerails.adapters.wording import ABSTAIN_MESSAGE, UNVERIFIED_MESSAGE, bot_message
from evidencerails.errors import traceback_summary
from evidencerails.exchange import Message, Passage
from evidencerails.llm.adapt import as_client
from evidencerails.mitigation.abstain import ABSTAIN_LEAD
from evidencerails.report import Abstention

log = logging.getLogger("evidencerails")

ANSWERABILITY_VARIABLE = "answerability_report"
"""Context variable with the outcome as plain data."""
GENERATION_VARIABLE = "grounded_generation"
"""Context variable with claims, sources and what was quarantined, as plain data."""


async def run_input_rail(flag: Any, call: ActionCall, plugin: NemoPlugin) -> Any:
    """The verdict on the user's message; it runs unless the flag says no, since no flow comes before an input rail.

    What breaks it is decided by `on_unverified`, as for an answer that could not be checked.
    """
    if flag is not None and call.context.get(flag) is not None and not is_set(call.context[flag]):
        return ActionResult(return_value=not_run(NOT_ACTIVATED), context_updates={})
    try:
        found = await plugin.guard.answerability(_asked(call), evidence=await _evidence_before(call, plugin))
    except Exception as error:  # boundary to the user's evidence and knowledge base: neither may break the turn
        log.error("evidencerails: %s could not run: %s", INPUT_RAIL.flow, traceback_summary(error))
        return _unverified(error, plugin)
    plain = found.model_dump(mode="json")
    log.info("evidencerails: %s: %s %s", INPUT_RAIL.flow, found.action, ", ".join(found.reasons))
    verdict = _verdict(found, plain, plugin)
    return ActionResult(return_value=verdict, context_updates={ANSWERABILITY_VARIABLE: plain})


def _asked(call: ActionCall) -> list[Message]:
    """The conversation; its last message as an earlier input rail may have left it."""
    before = [message for message in call.conversation if message.role == "user"][:-1]
    return [*before, Message(role="user", content=call.user_message)]


@action(is_system_action=True)  # type: ignore[untyped-decorator]
async def grounded_answer(
    context: Any = None, events: Any = None, llm: Any = None, llm_task_manager: Any = None, **_: Any
) -> Any:
    """The text of an answer from the evidence of the turn alone, in place of NeMo's own generation; what breaks is
    answered as unverified, and never with the model's own words."""
    given = {"context": context, "events": events, "llm": llm, "llm_task_manager": llm_task_manager}
    call, plugin = ActionCall.injected(given)
    try:
        evidence = await _evidence_before(call, plugin)
        answer = await plugin.guard.generate(call.user_message, evidence=evidence, llm=as_client(call.llm))
    except Exception as error:  # boundary to evidence, knowledge base and model: none may break the turn
        log.error("evidencerails: no grounded answer: %s", traceback_summary(error))
        return ActionResult(return_value=bot_message(UNVERIFIED_MESSAGE, plugin.bot_messages), context_updates={})
    return ActionResult(return_value=answer.text, context_updates={GENERATION_VARIABLE: answer.model_dump(mode="json")})


async def _evidence_before(call: ActionCall, plugin: NemoPlugin) -> list[Passage]:
    """The evidence of a turn before anything is generated. `InputError`: a place holds what is no evidence."""
    sources = EvidenceSources(
        context=call.context,
        messages=call.request,
        prompt=readable_messages(call.request),
        search=plugin.search_knowledge_base,
        user_message=call.user_message,
    )
    return list((await find_evidence(plugin.config.evidence, sources)).passages)


def _verdict(found: Abstention, plain: dict[str, Any], plugin: NemoPlugin) -> Verdict:
    metadata = {"status": "grounded", "decision": "allow", "reason": ", ".join(found.reasons), "abstention": plain}
    if found.action != "abstain" or plugin.config.activation == "shadow":
        return Verdict(RailDecision.ALLOW, metadata["reason"], metadata)
    message = found.message.replace(ABSTAIN_LEAD, bot_message(ABSTAIN_MESSAGE, plugin.bot_messages))
    blocked = {**metadata, "status": "unverified", "decision": "abstain", ANSWER_KEY: message}
    return Verdict(RailDecision.BLOCK, metadata["reason"], blocked)


def _unverified(error: Exception, plugin: NemoPlugin) -> Any:
    wanted = plugin.config.on_unverified
    decision = "warn" if wanted == "escalate" else wanted  # a person reviews answers; there is none yet
    reason = f"check_failed: {type(error).__name__}"
    metadata = {"status": "unverified", "decision": decision, "reason": reason}
    if decision in ("allow", "warn") or plugin.config.activation == "shadow":  # the output rails still look at it
        verdict = Verdict(RailDecision.ALLOW, reason, metadata)
    else:
        text = bot_message(UNVERIFIED_MESSAGE, plugin.bot_messages)
        verdict = Verdict(RailDecision.BLOCK, reason, {**metadata, ANSWER_KEY: text})
    return ActionResult(return_value=verdict, context_updates={ANSWERABILITY_VARIABLE: metadata})
