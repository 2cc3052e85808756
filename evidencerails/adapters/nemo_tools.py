"""The rail of tool calls: what the model wants to call becomes an exchange, before anything is called.

NeMo runs `rails.tool_output` on the event `BotToolCalls`, which it makes in passthrough mode and of assistant messages
with `tool_calls`; the calls are in `$tool_calls`. There is no answer to write a warning into: what the policy lets
pass goes out as it is, and the report says what was found.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from evidencerails.adapters.nemo import REPORT_VARIABLE, stakes_in
from evidencerails.adapters.nemo_log import log_report, log_shadow
from evidencerails.adapters.nemo_outcome import SHADOW, Verdict, not_run, verdict_of
from evidencerails.adapters.nemo_plugin import NemoPlugin, Rail, plugin_of
from evidencerails.adapters.nemo_rails import TOOL_FLOW
from evidencerails.adapters.nemo_turn import Turn
from evidencerails.errors import EvidencerailsError, InputError, reason_of, traceback_summary
from evidencerails.exchange import Exchange, as_tool_calls, as_tools
from evidencerails.report import Report

log = logging.getLogger("evidencerails")


CHECK_TOOL_CALLS = Rail(TOOL_FLOW, ("tools",))
TOOL_RAIL_OF_COLANG_2 = f"rails.tool_output lists {TOOL_FLOW!r}, but NeMo runs no tool rails in Colang 2.x"
TOOL_RAIL_REMEDY = f"take it out there and write `await {TOOL_FLOW} $calls` in the flow that makes the calls"
CALLS_EVENT = "BotToolCalls"
CALLS_VARIABLE = "tool_calls"
TOOLS_VARIABLE = "tools"
"""Context variable that may hold the tools of the turn: `$tools`."""


def tool_flows(rails_config: Any) -> list[str]:
    """The flows under `rails.tool_output`, without their parameters."""
    return [flow.split("$")[0].strip() for flow in rails_config.rails.tool_output.flows or []]


def forget_earlier_calls(app: Any) -> None:
    """Keep NeMo from running the tool rails on calls of earlier turns.

    NeMo turns the assistant messages with `tool_calls` of a request into events that its flow of tool calls then takes
    for new ones: the rails run on nothing, and the turn ends with an empty answer and without a call of the model, as
    soon as a tool has answered. The calls of this turn are the last event, or have an id of their own.
    """
    events_of = getattr(app, "_get_events_for_messages", None)
    if events_of is None or app.config.colang_version != "1.0" or not app.config.rails.tool_output.flows:
        return

    def without_earlier_calls(messages: Any, state: Any) -> list[Any]:
        events = events_of(messages, state)
        last = len(events) - 1
        return [e for n, e in enumerate(events) if n == last or e.get("type") != CALLS_EVENT or "uid" in e]

    app._get_events_for_messages = without_earlier_calls


async def run_rail(
    rail: Rail,
    *,
    tool_calls: Any = None,
    tools: Any = None,
    context: Any = None,
    llm_task_manager: Any = None,
    **_: Any,
) -> Any:
    """Check the tool calls of the turn and give the flow a verdict: never an exception, never a silent pass.

    Args:
        tool_calls, tools: given by a flow of the user's own; those of the turn if None.
        context, llm_task_manager: what NeMo injected.
    """
    from nemoguardrails.actions.actions import ActionResult

    plugin = plugin_of(llm_task_manager)
    if plugin is None:
        raise EvidencerailsError(
            "evidencerails is not set up in this app: its config.py did not run; "
            "add `evidencerails/plugin` to import_paths"
        )
    known = dict(context) if isinstance(context, Mapping) else {}
    known.update({k: v for k, v in ((CALLS_VARIABLE, tool_calls), (TOOLS_VARIABLE, tools)) if v is not None})
    turn = Turn("tool calls")
    verdict = await _verdict(rail, known, plugin, turn)
    return ActionResult(return_value=verdict, context_updates={REPORT_VARIABLE: turn.plain})


async def _verdict(rail: Rail, context: Mapping[str, Any], plugin: NemoPlugin, turn: Turn) -> Verdict:
    check = _prepared(rail, context, plugin)
    if plugin.config.activation == "shadow":
        plugin.check_in_shadow(check, lambda report: log_shadow(rail.name, report), stakes=stakes_in(context))
        return not_run(SHADOW)
    report: Report = await check()
    if report.decision == "regenerate":  # there is no text to repair, and a call that was found wrong must not go out
        decided_by = f"{report.decided_by}, calls are not written again: block"
        report = report.model_copy(update={"decision": "block", "decided_by": decided_by})
    turn.record(report, plugin.config)
    log_report(rail.name, report)
    return verdict_of(report, plugin.config, None)


def _prepared(rail: Rail, context: Mapping[str, Any], plugin: NemoPlugin) -> Callable[[], Any]:
    """The check as a function that can run here or elsewhere."""
    calls, tools, stakes = context.get(CALLS_VARIABLE), _tools(context, plugin), stakes_in(context)

    async def check(sampling_rate: float = 1.0) -> Report:
        exchange = Exchange(response="", stakes=stakes)
        try:
            found = {"tool_calls": as_tool_calls(calls), "tools": as_tools(tools)}
            exchange = exchange.model_copy(update=found)
        except InputError as error:
            return plugin.guard.unverified_report(rail.checks, f"bad_tool_calls: {error}", exchange, cap=rail.cap)
        try:
            return await plugin.guard.check_exchange(
                exchange, checks=rail.checks, cap=rail.cap, sampling_rate=sampling_rate
            )
        except Exception as error:  # boundary to the user's sources and tools: none may break the turn
            log.error("evidencerails: %s could not run: %s", rail.name, traceback_summary(error))
            reason = f"check_failed: {reason_of(error)}"
            return plugin.guard.unverified_report(rail.checks, reason, exchange, cap=rail.cap)

    return check


def _tools(context: Mapping[str, Any], plugin: NemoPlugin) -> Any:
    """The tools that the model was offered: `$tools`, the request's `llm_params`, the main model's own, else none, and
    the settings' `tools.definitions` stand in for them."""
    options = context.get("generation_options")
    params = options.get("llm_params") if isinstance(options, Mapping) else getattr(options, "llm_params", None)
    main = next((model for model in plugin.app.config.models if model.type == "main"), None)
    places = (
        context.get(TOOLS_VARIABLE),
        (params or {}).get("tools"),
        _bound_tools(plugin.app.llm),
        (main.parameters or {}).get("tools") if main else None,
    )
    return next((found for found in places if found), None)


def _bound_tools(llm: Any) -> Any:
    """The tools that a LangChain model was bound to."""
    for held in (llm, getattr(llm, "llm", None), getattr(llm, "_llm", None)):
        kwargs = getattr(held, "kwargs", None)
        if isinstance(kwargs, Mapping) and kwargs.get("tools"):
            return kwargs["tools"]
    return None
