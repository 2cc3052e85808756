"""What the plugin's actions call: a turn of NeMo becomes an exchange, the guard checks it, a flow gets the verdict.

In a stream the result must be a bare `RailOutcome` and can only allow or block.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any, get_args

from nemoguardrails.actions.actions import ActionResult, action

from evidencerails.adapters.nemo_action_call import ActionCall
from evidencerails.adapters.nemo_before import run_input_rail
from evidencerails.adapters.nemo_calls import ParsingClient, answer_parser
from evidencerails.adapters.nemo_evidence import (
    Evidence,
    EvidenceSources,
    find_evidence,
    instructions_of,
    lacks_schema,
    with_remedy,
    with_schema,
)
from evidencerails.adapters.nemo_outcome import NOT_ACTIVATED, SHADOW, Verdict, log_report, not_run, verdict_of
from evidencerails.adapters.nemo_plugin import NemoPlugin
from evidencerails.adapters.nemo_rails import INPUT_RAIL, RAILS, TOOL_RAIL, Rail, is_asked_for
from evidencerails.adapters.nemo_stream import StreamedAnswer
from evidencerails.adapters.nemo_tools import CALLS_VARIABLE, TOOLS_VARIABLE, tools_of_turn
from evidencerails.adapters.nemo_turn import REPORT_VARIABLE, Turn, turn_key
from evidencerails.adapters.wording import withheld_text
from evidencerails.errors import InputError, reason_of, traceback_summary
from evidencerails.exchange import Exchange, Labels, Message, Stakes, as_tool_calls, as_tools
from evidencerails.llm.adapt import as_client
from evidencerails.llm.base import LlmClient
from evidencerails.llm.sampling import Sampler
from evidencerails.llm.session import CallAllowance, LlmSession
from evidencerails.mitigation.respond import without_second_repair
from evidencerails.report import Report

log = logging.getLogger("evidencerails")

STAKES_VARIABLE = "stakes"
"""Context variable with the stakes of the answer: low, medium or high."""
INCOMPLETE = "incomplete_sentence"
NO_SCHEMA = "no_schema"
Check = Callable[..., Coroutine[Any, Any, Report]]
"""A check that can run here or elsewhere; takes `sampling_rate`."""


def rail_action(flow: str) -> Callable[..., Awaitable[Any]]:
    """The action that a flow of ours executes, named after it.

    NeMo looks at the parameter names: it injects these and no others. A system action stays out of the history that
    dialog prompts show, and runs here even where an actions server is set.
    """

    async def run(
        flag: Any = None,
        context: Any = None,
        events: Any = None,
        llm: Any = None,
        llm_task_manager: Any = None,
        **rest: Any,
    ) -> Any:
        given = {**rest, "context": context, "events": events, "llm": llm, "llm_task_manager": llm_task_manager}
        return await run_rail(flow, flag=flag, **given)

    return action(is_system_action=True, name=flow.replace(" ", "_"))(run)  # type: ignore[no-any-return]


async def run_rail(flow: str, *, flag: Any = None, tool_calls: Any = None, tools: Any = None, **given: Any) -> Any:
    """Run one rail and give what NeMo expects of its action: never an exception, never a silent pass.

    Args:
        flow: name of the rail in `nemo_rails`.
        flag: context variable that asks for the check, or its value; None if the caller has decided (custom flows).
        tool_calls, tools: of the rail `check tool calls`, from a flow of the user's own; those of the turn if None.
        given: what NeMo injected: `context`, `events`, `bot_message`, `llm`, `llm_task_manager`.

    Returns:
        A `Verdict`, from a flow inside an `ActionResult` that also sets `$hallucination_report`.
    """
    call, plugin = ActionCall.injected(given)
    if flow == INPUT_RAIL.flow:
        return await run_input_rail(flag, call, plugin)
    if flow == TOOL_RAIL.flow:
        turn = Turn("tool calls")
        verdict = await _tool_verdict(call, tool_calls, tools, plugin, turn)
        return ActionResult(return_value=verdict, context_updates={REPORT_VARIABLE: turn.plain})
    rail, turn = RAILS[flow], Turn("unknown")
    try:
        key = _key_of(call)
        turn = plugin.turns.get(key, lambda: Turn(key))
        verdict = await _verdict(rail, flag, call, plugin, turn)
    except Exception as error:  # boundary to what NeMo and the app keep in a turn, which may be of any shape
        verdict = _failed(error, rail, flag, call, plugin, turn)
    if call.is_streaming:
        return verdict
    return ActionResult(return_value=verdict, context_updates={REPORT_VARIABLE: turn.plain})


def _key_of(call: ActionCall) -> str:
    if call.stream:
        return call.stream.id
    return turn_key(call.answer_call, call.history, (call.answer, call.user_message))


async def _verdict(rail: Rail, flag: Any, call: ActionCall, plugin: NemoPlugin, turn: Turn) -> Verdict:
    activation = plugin.config.activation
    if not _is_activated(flag, call, plugin):
        plugin.warn_of_unread_flags(call.context)
        return not_run(NOT_ACTIVATED)
    text, shown = turn.as_written(call.answer), None
    if call.is_streaming:
        if plugin.streams_before_check:
            plugin.warn_of_shown_text()
        stream = turn.streams.setdefault(rail.flow, StreamedAnswer())
        text = _next_text(rail, stream, call)
        if not text.strip():
            return not_run(INCOMPLETE)
        shown = len(stream.text) if plugin.streams_before_check else stream.shown
    is_structure = activation != "per_response" and rail.check == "structure"
    if is_structure and lacks_schema(call.context, plugin.config.structure):
        return not_run(NO_SCHEMA)
    check = _prepared(rail, text, call, plugin)
    if activation == "shadow":
        return _in_shadow(rail, check, call, plugin, _key_of(call))
    return _concluded(await check(), rail, call, plugin, turn, shown=shown)


def _is_activated(flag: Any, call: ActionCall, plugin: NemoPlugin) -> bool:
    asks = plugin.config.activation == "per_response"
    return not asks or is_asked_for(flag, call.context, is_streaming=call.is_streaming)


def _in_shadow(rail: Rail, check: Check, call: ActionCall, plugin: NemoPlugin, key: str | None) -> Verdict:
    record = partial(log_report, rail.flow, is_shadow=True)
    plugin.check_in_shadow(check, record, stakes=stakes_in(call.context), key=key)
    return not_run(SHADOW)


def _concluded(
    report: Report, rail: Rail, call: ActionCall, plugin: NemoPlugin, turn: Turn, *, shown: int | None = None
) -> Verdict:
    report = without_second_repair(report, is_repaired=turn.is_repaired_from(call.answer))
    turn.record(report, plugin.config)
    log_report(rail.flow, report, shown=shown)
    changed = turn.with_additions(call.answer, report, plugin.bot_messages, plugin.config.annotation.format)
    return verdict_of(report, plugin.config, changed, withheld_text(report, plugin.bot_messages))


def _failed(error: Exception, rail: Rail, flag: Any, call: ActionCall, plugin: NemoPlugin, turn: Turn) -> Verdict:
    """The verdict of a rail that broke before its check began: unverified, if the check was asked for at all."""
    log.error("evidencerails: %s could not run: %s", rail.flow, traceback_summary(error))
    if plugin.config.activation == "shadow":
        return not_run(SHADOW)
    if not _is_activated(flag, call, plugin):
        return not_run(NOT_ACTIVATED)
    exchange = Exchange(response=call.answer, is_chunk=call.is_streaming)
    report = _unverified(f"check_failed: {reason_of(error)}", rail, exchange, plugin)
    return _concluded(report, rail, call, plugin, turn)


def _unverified(reason: str, rail: Rail, exchange: Exchange, plugin: NemoPlugin) -> Report:
    return plugin.guard.unverified_report([rail.check], reason, exchange, cap=rail.cap)


def stakes_in(context: Mapping[str, Any]) -> Stakes | None:
    """The stakes that a flow has set; None if it set none. A word that is none of them counts as `high`."""
    value = context.get(STAKES_VARIABLE)
    if value is None:
        return None
    word = str(value).strip().lower()
    if word in get_args(Stakes):
        return word  # type: ignore[return-value]
    log.warning("evidencerails: $stakes is none of %s: taken as high", ", ".join(get_args(Stakes)))
    return "high"


def _next_text(rail: Rail, stream: StreamedAnswer, call: ActionCall) -> str:
    stream.add(call.answer)
    if rail.in_stream == "whole" and not call.is_last_chunk:
        return ""
    new_text = stream.take(is_final=call.is_last_chunk)
    return stream.whole_once() if rail.in_stream != "sentences" and call.is_last_chunk else new_text


def _prepared(rail: Rail, text: str, call: ActionCall, plugin: NemoPlugin) -> Check:
    """The check of an answer; whatever NeMo keeps in this context is read now."""
    prompt, request, parse = call.written_from, call.request or call.conversation, _parser(call, plugin)
    key = call.answer_call.id if call.answer_call else _key_of(call)
    exchange = Exchange(
        response=text,
        prompt=call.conversation,
        is_chunk=call.is_streaming,
        stakes=stakes_in(call.context),
        labels=Labels(flow=rail.flow, model=plugin.model_name),
    )

    async def completed(exchange: Exchange) -> Exchange:
        if rail.check == "structure":
            return with_schema(exchange, call.context)
        if not _needs_evidence(rail, plugin):
            return exchange
        found = await _evidence(call, request, text, plugin)
        return exchange.model_copy(update={"evidence": found.passages, "evidence_from": found.place})

    def models() -> dict[str, Any]:
        client = as_client(call.llm)
        sampler = _sampler(plugin, key, client, prompt, parse) if rail.check == "consistency" else None
        calls = plugin.config.own_model_calls if rail.check == "claims" else 0
        allowance = plugin.allowances.get(key, lambda: CallAllowance(calls)) if calls else None
        return {"llm": client, "sampler": sampler, "allowance": allowance}

    return _check_of(rail, exchange, completed, plugin, models)


def _check_of(
    rail: Rail,
    exchange: Exchange,
    completed: Callable[[Exchange], Awaitable[Exchange]],
    plugin: NemoPlugin,
    models: Callable[[], dict[str, Any]] = dict,
) -> Check:
    """The check of an exchange whose remaining inputs are fetched when it runs; it never raises."""
    bad_input = {"tools": "bad_tool_calls", "structure": "bad_schema"}.get(rail.check, "bad_evidence")

    async def check(sampling_rate: float = 1.0) -> Report:
        whole = exchange
        try:
            try:
                whole = await completed(exchange)
            except InputError as error:
                return _unverified(f"{bad_input}: {error}", rail, whole, plugin)
            report = await plugin.guard.check_exchange(
                whole, checks=[rail.check], cap=rail.cap, sampling_rate=sampling_rate, **models()
            )
            return with_remedy(report, plugin.config.evidence)
        except Exception as error:  # boundary to the user's evidence, sources and model: none may break the turn
            log.error("evidencerails: %s could not run: %s", rail.flow, traceback_summary(error))
            return _unverified(f"check_failed: {reason_of(error)}", rail, whole, plugin)

    return check


def _needs_evidence(rail: Rail, plugin: NemoPlugin) -> bool:
    reads_evidence = rail.needs_evidence or rail.check == "knowledge"
    return reads_evidence or (rail.check == "logic" and plugin.config.logic.audit == "judge")


async def _evidence(call: ActionCall, request: Sequence[Any], answer: str, plugin: NemoPlugin) -> Evidence:
    sources = EvidenceSources(
        context=call.context,
        messages=request,
        prompt=call.written_from,
        search=plugin.search_knowledge_base,
        user_message=call.user_message
        or next((m.content for m in reversed(call.conversation) if m.role == "user"), ""),
        answer=answer,
        instructions=instructions_of(plugin.app.config),
    )
    return await find_evidence(plugin.config.evidence, sources)


def _parser(call: ActionCall, plugin: NemoPlugin) -> Callable[[str], str]:
    task = call.answer_call.task if call.answer_call else None
    if task is None and plugin.app.config.rails.dialog.single_call.enabled:
        task = "generate_intent_steps_message"  # when it streams, NeMo logs this call without its task
    return answer_parser(task, call.llm_task_manager.parse_task_output)


def _sampler(
    plugin: NemoPlugin,
    key: str,
    client: LlmClient | None,
    prompt: tuple[Message, ...],
    parse: Callable[[str], str],
) -> Sampler:
    def make() -> Sampler:
        parsing: LlmClient | None = ParsingClient(client, parse) if client is not None else plugin.guard.llm
        return Sampler(LlmSession.of(parsing, plugin.config.llm), prompt, plugin.config.consistency)

    return plugin.samplers.get(key, make)


async def _tool_verdict(call: ActionCall, tool_calls: Any, tools: Any, plugin: NemoPlugin, turn: Turn) -> Verdict:
    """The verdict on what the model wants to call, before anything is called.

    There is no answer to write a warning into: what the policy lets pass goes out as it is, and the report says what
    was found.
    """
    calls = call.context.get(CALLS_VARIABLE) if tool_calls is None else tool_calls
    offered = tools_of_turn(call.context if tools is None else {**call.context, TOOLS_VARIABLE: tools}, plugin)

    async def completed(exchange: Exchange) -> Exchange:
        return exchange.model_copy(update={"tool_calls": as_tool_calls(calls), "tools": as_tools(offered)})

    check = _check_of(TOOL_RAIL, Exchange(response="", stakes=stakes_in(call.context)), completed, plugin)
    if plugin.config.activation == "shadow":
        return _in_shadow(TOOL_RAIL, check, call, plugin, None)
    report = await check()
    turn.record(report, plugin.config)
    log_report(TOOL_RAIL.flow, report)
    return verdict_of(report, plugin.config, None)
