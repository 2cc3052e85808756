"""A stream of an answer that was checked as a whole first.

NeMo's own `stream_async` can only allow or block: what a policy would warn of, annotate or raise, it cannot carry, and
with `stream_first` its user reads each chunk before the rail does. Here the answer is buffered, goes through all the
app's rails as in `generate_async`, and is then streamed as the rails left it.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from evidencerails.errors import SettingsError

_PIECE = re.compile(r"\S+\s*|\s+")


async def stream(
    rails: Any,
    prompt: str | None = None,
    *,
    messages: Sequence[Mapping[str, Any]] | None = None,
    options: Any = None,
    state: Any = None,
) -> AsyncIterator[str]:
    """Stream the checked answer of an `LLMRails`, word by word; the pieces joined are the answer.

    Takes what `rails.generate_async` takes. A rail exception comes as one JSON object with the key `error`, in the form
    in which `stream_async` says that a rail has blocked.

        async for piece in evidencerails.stream(rails, messages=[{"role": "user", "content": "..."}]):
            print(piece, end="")

    Raises:
        SettingsError: the app has no evidencerails in it, so that nothing would be checked.
    """
    _require_plugin(rails)
    result = await rails.generate_async(
        prompt=prompt, messages=None if messages is None else list(messages), options=options, state=state
    )
    for piece in _pieces(_message_of(result)):
        yield piece


def _require_plugin(rails: Any) -> None:
    from evidencerails.adapters.nemo_plugin import plugin_of

    runtime = getattr(rails, "runtime", None)  # a wrapper around an LLMRails may not show it
    if runtime is not None and plugin_of(getattr(runtime, "llm_task_manager", None)) is None:
        raise SettingsError(
            "evidencerails is not set up in this app, so answers would be streamed unchecked: add "
            "`evidencerails/plugin` to import_paths and a rail to rails.output.flows (evidencerails init does both)"
        )


def _message_of(result: Any) -> Mapping[str, Any]:
    """The message in any of the shapes of `generate_async`: a text, a message, a response with options."""
    answer = getattr(result, "response", result)
    if isinstance(answer, list):
        answer = answer[-1] if answer else ""
    return answer if isinstance(answer, Mapping) else {"role": "assistant", "content": answer}


def _pieces(message: Mapping[str, Any]) -> list[str]:
    content = message.get("content")
    if message.get("role") == "exception" and isinstance(content, Mapping):
        blocked = {name: content.get(name) for name in ("message", "type")}
        return [json.dumps({"error": {**blocked, "param": content.get("flow_id"), "code": "content_blocked"}})]
    return pieces_of(str(content or ""))


def pieces_of(text: str) -> list[str]:
    """The words of a text, each with the space after it; joined they are the text."""
    return _PIECE.findall(text)
