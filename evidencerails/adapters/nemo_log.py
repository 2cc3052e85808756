"""A response that NeMo gave with its log, saved as JSON: the answer in it, what it was written to, its evidence."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

from evidencerails.adapters.nemo_calls import find_answer_call, messages_of_events, readable_messages
from evidencerails.adapters.nemo_evidence import EvidenceSources, find_evidence
from evidencerails.errors import InputError
from evidencerails.exchange import Passage, ToolCall, as_tool_calls
from evidencerails.settings.claims import EvidenceSettings

EXPECTED = (
    "the JSON of `await rails.generate_async(messages=..., options={'log': {'llm_calls': True, 'internal_events': "
    "True}})`, by its `model_dump_json()`"
)


class LoggedTurn(NamedTuple):
    """A log up to its last answer."""

    answer: str = ""
    before: Sequence[Any] | None = None
    """The prompt that wrote the answer, or the conversation before it."""
    evidence: tuple[Passage, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    """Those of the answer's message."""
    tools: list[Any] | None = None
    """What the model was offered, where the log is a request with its `tools`."""


def is_nemo(value: Any) -> bool:
    """True if a JSON value is a response of NeMo or a trace of its tracing."""
    return isinstance(value, Mapping) and ("spans" in value or {"response", "log"} <= set(value))


def logged_turn(value: Mapping[str, Any]) -> LoggedTurn:
    """The turn in a response with its log; evidence is what a rail would have found in it. `InputError`: there is no
    log or no answer in it, or it is a trace, which holds no texts."""
    if "spans" in value:
        raise InputError(f"a trace of NeMo's tracing holds no texts; expected {EXPECTED}")
    log, calls = value["log"], as_tool_calls(value.get("tool_calls"))
    replies = readable_messages(value["response"] or ())
    if not isinstance(log, Mapping) or not (replies or calls):
        missing = "log" if replies or calls else "answer"
        raise InputError(f"there is no {missing} in this response of NeMo; expected {EXPECTED}")
    answer, events = replies[-1].content if replies else "", _rows(log, "internal_events")
    context: dict[str, Any] = {}
    for event in events:
        context |= event.get("data") or {} if event.get("type") == "ContextUpdate" else {}
    unsaid = dict.fromkeys(("id", "task", "prompt", "completion"))
    logged: Any = [SimpleNamespace(**{**unsaid, "finished_at": 0, **call}) for call in _rows(log, "llm_calls")]
    call = find_answer_call(logged, answer)
    said = messages_of_events(events)
    before = call.prompt if call else said[:-1] if said and said[-1].role == "assistant" else said
    sources = EvidenceSources(context=context, messages=before, prompt=before)
    found = asyncio.run(find_evidence(EvidenceSettings(), sources))
    passages = [one.model_copy(update={"source": one.source or found.place}) for one in found.passages]
    return LoggedTurn(answer, list(before), tuple(passages), calls)


def _rows(log: Mapping[str, Any], name: str) -> Sequence[Mapping[str, Any]]:
    rows = log.get(name) or []
    return [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
