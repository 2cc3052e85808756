"""From the fields of a row to the exchange to check."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evidencerails.errors import InputError
from evidencerails.exchange import Exchange, Labels
from evidencerails.settings.problems import nearest

FIELDS = (
    "response",
    "evidence",
    "prompt",
    "samples",
    "tool_calls",
    "tools",
    "schema",
    "logprobs",
    "stakes",
    "flow",
    "agent",
    "model",
    "session",
)
"""Fields that are read; `id` is copied, others are left alone."""
LABELS = ("flow", "agent", "model", "session")


def renamed(fields: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """The fields with columns of other names under ours; `names` leads from our name to theirs."""
    taken = set(names.values())
    kept = {name: value for name, value in fields.items() if name not in taken}
    return {**kept, **{ours: fields[theirs] for ours, theirs in names.items() if theirs in fields}}


def exchange_of(fields: Mapping[str, Any]) -> Exchange:
    """The exchange of one row.

    Raises:
        InputError: there is neither `response` nor `tool_calls`, or a field has a shape that cannot be read.
    """
    if fields.get("response") is None and fields.get("tool_calls") is None:
        hint = nearest("response", tuple(fields)).removeprefix("; ")
        raise InputError("no field 'response'" + (f"; {hint} (--map response=NAME)" if hint else ""))
    given = {name: fields[name] for name in FIELDS if fields.get(name) is not None}
    labels = {name: str(given.pop(name)) for name in LABELS if name in given}
    if "schema" in given:
        given["response_schema"] = given.pop("schema")
    _require_whole_characters(given)
    return Exchange.of(given.pop("response", ""), **given, labels=Labels(**labels))


def _require_whole_characters(given: Mapping[str, Any]) -> None:
    for name, value in given.items():
        if isinstance(value, str) and any("\ud800" <= letter <= "\udfff" for letter in value):
            raise InputError(f"{name}: holds half a character (a lone surrogate)")
