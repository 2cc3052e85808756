"""The one table of the plugin's rails, and the flags with which a turn asks for them.

What flows, actions, `init`, `doctor` and the documentation know of a rail stands here once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:  # the commands list the rails without loading pydantic
    from evidencerails.report import Decision

IMPORT_PATH = "evidencerails/plugin"
IMPORT_STATEMENT = "import evidencerails.plugin"
TOOL_FLOW = "check tool calls"
"""The flow under `rails.tool_output`; it has no flag."""
_OFF = ("", "false", "no", "off", "0", "none", "null")
_ON = ("true", "yes", "on", "1")


class Rail(NamedTuple):
    """One flow of the plugin, and what its action does."""

    flow: str
    check: str
    exception: str = ""
    """Empty for a rail that never blocks."""
    needs_evidence: bool = False
    message: str = "inform answer unknown"
    cap: Decision | None = None
    """The severest decision it may take."""
    in_stream: Literal["sentences", "whole", "both"] = "sentences"
    """What it reads of a stream: sentences as they come, the whole answer at its end, or one and then the other."""

    @property
    def flag(self) -> str:
        return self.action.removeprefix("self_")

    @property
    def action(self) -> str:
        return self.flow.replace(" ", "_")


RAILS: dict[str, Rail] = {
    rail.flow: rail
    for rail in (
        Rail("self check hallucination", "consistency", "SelfCheckHallucinationRailException"),
        Rail("hallucination warning", "consistency", message="inform answer prone to hallucination", cap="warn"),
        Rail("check grounding", "grounding", "GroundingRailException", needs_evidence=True),
        Rail("check claims", "claims", "ClaimsRailException", needs_evidence=True),
        Rail("check citations", "citations", "CitationRailException", needs_evidence=True),
        Rail("check knowledge", "knowledge", "KnowledgeRailException"),
        Rail("check structure", "structure", "StructureRailException", in_stream="whole"),
        Rail("check logic", "logic", "LogicRailException", in_stream="both"),
    )
}
"""The output rails by their flows."""
TOOL_RAIL = Rail(TOOL_FLOW, "tools", "ToolCallRailException")
INPUT_RAIL = Rail("check answerability", "", "AnswerabilityRailException")
"""Looks at the user's message before anything is generated."""
ACTIONS = {rail.action: rail for rail in (*RAILS.values(), TOOL_RAIL, INPUT_RAIL)}
"""Every rail by the action that its flow executes."""


def flow_name(flow: str) -> str:
    """The name of a flow in a config, without its parameters."""
    return flow.split("$")[0].strip()


def tool_flows(rails_config: Any) -> list[str]:
    """The flows under `rails.tool_output`, without their parameters."""
    return [flow_name(flow) for flow in rails_config.rails.tool_output.flows or []]


def is_set(value: Any) -> bool:
    """True unless the value says no. A word that is neither yes nor no counts as set."""
    if isinstance(value, str):
        return value.strip().lower() not in _OFF
    try:
        return bool(value)
    except (TypeError, ValueError):  # an array or a table has no truth of its own
        return True


def is_asked_for(flag: Any, context: Mapping[str, Any], *, is_streaming: bool) -> bool:
    """True if the flag asks for the check.

    Args:
        flag: name of a context variable, with `$` or without; None if the caller has decided already. The variable's
            value (`flag=$check_grounding`) is understood as well.
        is_streaming: a flag set by a flow is invisible in a stream; one that cannot be seen counts as set.
    """
    if flag is None:
        return True
    if not isinstance(flag, str):
        return is_set(flag)
    name = flag.strip().removeprefix("$")
    if name in context:
        return is_set(context[name])
    return is_streaming or name.lower() in _ON


def unread_flags(context: Mapping[str, Any], flows: Sequence[str]) -> dict[str, str]:
    """Flags that are set while the rail that reads them is not among the output rails; flag -> flow.

    Nothing if an output rail is the app's own: that one may read any of them.
    """
    listed = set(map(flow_name, flows))
    if not listed <= RAILS.keys():
        return {}
    return {r.flag: r.flow for r in RAILS.values() if r.flow not in listed and is_set(context.get(r.flag))}
