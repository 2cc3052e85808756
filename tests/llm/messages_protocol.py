"""Anthropic's Messages protocol for the replay server, added by importing this module: text, reasoning, tool calls."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

from evidencerails.testing.http_server import PROTOCOLS, Protocol, usage_of
from evidencerails.testing.script import ReplayRequest, Reply

_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}
_STOP_REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}


def message_of(request: ReplayRequest, reply: Reply) -> dict[str, Any]:
    """The JSON body of a whole answer; the protocol has one completion a request."""
    prompt_tokens, completion_tokens = usage_of(request, reply)
    return {
        **_head(request),
        "content": _blocks(reply),
        "stop_reason": _stop_reason(reply),
        "usage": {"input_tokens": prompt_tokens, "output_tokens": completion_tokens},
    }


def message_error(status: int, message: str, param: str | None = None) -> dict[str, Any]:
    kind = _KINDS.get(status, "api_error")
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "replay"}


def _head(request: ReplayRequest) -> dict[str, Any]:
    return {
        "id": f"msg_replay{uuid.uuid4().hex[:12]}",
        "type": "message",
        "role": "assistant",
        "model": request.body.get("model") or "replay",
        "stop_reason": None,
        "stop_sequence": None,
    }


def _blocks(reply: Reply) -> list[dict[str, Any]]:
    thinking = [{"type": "thinking", "thinking": reply.reasoning, "signature": ""}] if reply.reasoning else []
    text = reply.texts[0] if reply.texts else None
    calls = [
        {"type": "tool_use", "id": call.get("id", f"toolu_{place}"), "name": call["name"], "input": call["arguments"]}
        for place, call in enumerate(reply.tool_calls, start=1)
    ]
    return thinking + ([{"type": "text", "text": text}] if text else []) + calls


def _stop_reason(reply: Reply) -> str:
    reason = reply.finish_reason or ("tool_calls" if reply.tool_calls else "stop")
    return _STOP_REASONS.get(reason, reason)


def no_events(request: ReplayRequest, reply: Reply) -> Iterator[str]:
    raise NotImplementedError("no test streams this protocol")


PROTOCOLS["/messages"] = Protocol(message_of, no_events, message_error)
