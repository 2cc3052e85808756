"""The flags with which a turn asks for a check: what counts as set, and flags that no rail reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

FLAGS = {
    "self check hallucination": "check_hallucination",
    "hallucination warning": "hallucination_warning",
    "check grounding": "check_grounding",
    "check claims": "check_claims",
    "check citations": "check_citations",
    "check knowledge": "check_knowledge",
    "check structure": "check_structure",
    "check logic": "check_logic",
}
"""Flag of each output rail, by its flow."""
_OFF = ("", "false", "no", "off", "0", "none", "null")
_ON = ("true", "yes", "on", "1")


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
    listed = {flow.split("$")[0].strip() for flow in flows}
    if not listed <= FLAGS.keys():
        return {}
    return {flag: flow for flow, flag in FLAGS.items() if flow not in listed and is_set(context.get(flag))}
