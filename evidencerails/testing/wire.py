"""The OpenAI protocol as bytes: chat and legacy completion bodies, server-sent events, errors."""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from evidencerails.testing.script import ReplayRequest, Reply, Text


def body_of(request: ReplayRequest, reply: Reply, *, is_chat: bool) -> dict[str, Any]:
    """The JSON body of a whole, unstreamed answer."""
    prompt_tokens, completion_tokens = usage_of(request, reply)
    return {
        **_head(request, "chat.completion" if is_chat else "text_completion"),
        "choices": [_choice(i, text, reply, is_chat) for i, text in enumerate(reply.texts)],
        "usage": _usage_body(prompt_tokens, completion_tokens),
    }


def events_of(request: ReplayRequest, reply: Reply, *, is_chat: bool) -> Iterator[str]:
    """The server-sent events of a streamed answer, `[DONE]` included."""
    head = _head(request, "chat.completion.chunk" if is_chat else "text_completion")
    for index, text in enumerate(reply.texts):
        for choice in _stream_choices(index, text, reply, is_chat):
            yield _event({**head, "choices": [choice]})
    if (request.body.get("stream_options") or {}).get("include_usage"):
        yield _event({**head, "choices": [], "usage": _usage_body(*usage_of(request, reply))})
    yield "data: [DONE]\n\n"


def error_body(status: int, message: str, param: str | None = None) -> dict[str, Any]:
    """The error envelope of the OpenAI protocol."""
    kinds = {400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}
    code = "unsupported_value" if param else None
    kind = kinds.get(status, "server_error" if status >= 500 else "api_error")
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def _head(request: ReplayRequest, kind: str) -> dict[str, Any]:
    model = request.body.get("model") or "replay"
    return {"id": f"replay-{uuid.uuid4().hex[:12]}", "object": kind, "created": int(time.time()), "model": model}


def _choice(index: int, text: Text, reply: Reply, is_chat: bool) -> dict[str, Any]:
    reason = _finish_reason(reply)
    if not is_chat:
        return {"index": index, "text": text, "finish_reason": reason, "logprobs": None}
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if reply.reasoning is not None:
        message["reasoning_content"] = reply.reasoning
    if reply.tool_calls:
        message["tool_calls"] = _tool_calls(reply)
    return {"index": index, "message": message, "finish_reason": reason, "logprobs": _logprobs(reply.logprobs)}


def _stream_choices(index: int, text: Text, reply: Reply, is_chat: bool) -> Iterator[dict[str, Any]]:
    def choice(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        part = {"delta": delta} if is_chat else {"text": delta.get("content", "")}
        return {"index": index, **part, "finish_reason": reason, "logprobs": None}

    if is_chat:
        first: dict[str, Any] = {"role": "assistant", "content": "" if text is not None else None}
        if reply.reasoning is not None:
            first["reasoning_content"] = reply.reasoning
        yield choice(first)
    for piece, logprobs in _pieces(text or "", reply):
        yield {**choice({"content": piece}), "logprobs": logprobs}
    for place, call in enumerate(_tool_calls(reply) if is_chat else ()):
        yield choice({"tool_calls": [{"index": place, **call}]})
    yield choice({}, _finish_reason(reply))


def _pieces(text: str, reply: Reply) -> list[tuple[str, dict[str, Any] | None]]:
    """The chunks of a streamed text: its scripted tokens, else its words with the blanks before them."""
    if reply.logprobs:
        return [(token, _logprobs([(token, logprob)])) for token, logprob in reply.logprobs]
    return [(piece, None) for piece in re.findall(r"\s*\S+|\s+$", text)]


def _tool_calls(reply: Reply) -> list[dict[str, Any]]:
    calls = []
    for place, call in enumerate(reply.tool_calls, start=1):
        arguments = call.get("arguments", {})
        shown = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        function = {"name": call["name"], "arguments": shown}
        calls.append({"id": call.get("id", f"call_{place}"), "type": "function", "function": function})
    return calls


def _logprobs(tokens: Sequence[tuple[str, float]]) -> dict[str, Any] | None:
    if not tokens:
        return None
    items = [
        {"token": token, "logprob": logprob, "bytes": list(token.encode()), "top_logprobs": []}
        for token, logprob in tokens
    ]
    return {"content": items, "refusal": None}


def _finish_reason(reply: Reply) -> str:
    return reply.finish_reason or ("tool_calls" if reply.tool_calls else "stop")


def usage_of(request: ReplayRequest, reply: Reply) -> tuple[int, int]:
    """Scripted counts, or the number of words: a stand-in for tokens that is at least stable."""
    if reply.usage is not None:
        return reply.usage
    return len(request.prompt_text.split()), sum(len((text or "").split()) for text in reply.texts)


def _usage_body(prompt_tokens: int, completion_tokens: int) -> dict[str, int]:
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
    }


def _event(data: dict[str, Any]) -> str:
    return f"data: {json.dumps(data, ensure_ascii=False)}\n\n"
