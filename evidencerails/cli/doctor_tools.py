"""Plants for the rails that look things up: a tool call and an id that do not exist, and ones that do.

The sources of the user's own config are not asked: which of their values exist is not known here. As the models are,
they are stood in for, so what is proven is that the rail runs and that its verdict holds.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any

from evidencerails.cli.catalog import TOOL_FLOW
from evidencerails.cli.doctor_rows import TURN_TIMEOUT_S, Row, Seen, problem_with, started
from evidencerails.cli.doctor_standin import CLEAN, HALLUCINATION
from evidencerails.cli.recording import recorded
from evidencerails.config import GuardConfig

KNOWN_ID = "GD-1001"
KNOWLEDGE_FLOW = "check knowledge"
KNOWLEDGE_PLANTS = (
    HALLUCINATION._replace(answer="The bridge has the register number GD-9999."),
    CLEAN._replace(answer=f"The bridge has the register number {KNOWN_ID}."),
)
KNOWLEDGE = {
    "sources": {"doctor": {"kind": "callable", "function": "evidencerails.cli.doctor_tools:is_known"}},
    "entities": {"doctor": {"sources": ["doctor"], "pattern": r"\bGD-\d{4}\b", "severity": "critical"}},
}
_TOOL = {"name": "evidencerails_doctor_ping", "parameters": {"type": "object", "properties": {}}}


def is_known(value: str) -> bool:
    """Stands in for the user's sources."""
    return value == KNOWN_ID


def with_own_knowledge(config: Any) -> None:
    """Put the stand-in in the place of the sources of a loaded config; changes the config."""
    settings = dict(config.custom_data.get("evidencerails") or {})
    config.custom_data = {**config.custom_data, "evidencerails": {**settings, "knowledge": KNOWLEDGE}}


def tool_flows(config: Any) -> list[str]:
    """The flows under `rails.tool_output` that are ours."""
    return [flow for flow in config.rails.tool_output.flows if re.split(r"\s*\$", flow)[0].strip() == TOOL_FLOW]


async def tool_rows(config: Any, settings: GuardConfig) -> list[Row]:
    """One row if the config has the rail: a call of an unknown tool, and one of a known tool."""
    rows = []
    for flow in tool_flows(config):
        own = config.model_copy(deep=True)
        own.rails.tool_output.flows, own.rails.output.flows, own.rails.input.flows = [flow], [], []
        with started(own) as app:
            planted = await _seen(app, "evidencerails_doctor_no_such_tool")
            clean = await _seen(app, _TOOL["name"])
        why = problem_with(planted, clean, settings)
        rows.append(Row(TOOL_FLOW, "(none)", "tool call of a message", planted, clean, not why, why))
    return rows


async def _seen(app: Any, name: Any) -> Seen:
    call = {"id": "1", "type": "function", "function": {"name": name, "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Ping."},
        {"role": "assistant", "content": "", "tool_calls": [call]},
    ]
    options = {"rails": ["tool_output"], "llm_params": {"tools": [{"type": "function", "function": _TOOL}]}}
    with recorded(app) as reports:
        try:
            turn = app.generate_async(messages=messages, options=options)
            response = await asyncio.wait_for(turn, TURN_TIMEOUT_S)
        except Exception as error:  # boundary to NeMo and to the user's own actions
            return Seen("failed", tuple(reports), f"{type(error).__name__}: {error}")
    if response.tool_calls:
        return Seen("passed", tuple(reports))
    is_raised = any(message.get("role") == "exception" for message in response.response)
    return Seen("raised" if is_raised else "blocked", tuple(reports))
