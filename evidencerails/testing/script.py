"""What a replay server answers: the requests it saw, the rules it follows, and replies."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

Text: TypeAlias = "str | None"
When: TypeAlias = "str | Callable[[ReplayRequest], bool] | None"
Cut: TypeAlias = "bool | Literal['at_once']"


@dataclass(kw_only=True)
class ReplayRequest:
    """One request as the server read it."""

    path: str
    body: dict[str, Any]
    headers: dict[str, str]
    """Names in lower case."""
    query: str = ""
    received_at: float = field(default_factory=time.monotonic)
    """Seconds on the monotonic clock, as `finished_at`."""
    finished_at: float | None = None
    status: int | None = None
    """HTTP status of the answer; None until it was sent, and where the connection was cut before it."""
    is_abandoned: bool = False
    """True if the client hung up before it had the whole answer."""

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The chat messages; empty for a legacy completion."""
        messages = self.body.get("messages")
        return [m for m in messages if isinstance(m, dict)] if isinstance(messages, list) else []

    @property
    def prompt_text(self) -> str:
        """All text of the prompt, one message after the other."""
        prompt = self.body.get("prompt")
        if prompt is not None:
            return prompt if isinstance(prompt, str) else "\n".join(map(str, prompt))
        system = [{"content": self.body["system"]}] if "system" in self.body else []  # of the Messages protocol
        return "\n".join(_content_text(m.get("content")) for m in (*system, *self.messages))

    @property
    def last_user_text(self) -> str:
        """Text of the last user message; the whole prompt of a legacy completion."""
        if "prompt" in self.body:
            return self.prompt_text
        return next((_content_text(m.get("content")) for m in reversed(self.messages) if m.get("role") == "user"), "")

    @property
    def n(self) -> int:
        n = self.body.get("n")
        return n if isinstance(n, int) and n > 0 else 1

    @property
    def is_streaming(self) -> bool:
        return bool(self.body.get("stream"))


def _content_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    return "\n".join(str(p.get("text", "")) if isinstance(p, Mapping) else str(p) for p in parts)


@dataclass(kw_only=True)
class Reply:
    """How one request is answered: completions, or a fault."""

    texts: tuple[Text, ...] = ()
    status: int = 200
    """400 or more makes it an error with `message`."""
    message: str = ""
    param: str | None = None
    retry_after_s: float | None = None
    delay_s: float = 0.0
    chunk_delay_s: float = 0.0
    """Between the chunks of a stream."""
    cut: Cut = False
    """True breaks the connection in the middle of the answer, `"at_once"` before it."""
    broken_json: bool = False
    """The body ends in the middle, with status 200."""
    tool_calls: Sequence[Mapping[str, Any]] = ()
    """Mappings with `name` and `arguments`."""
    logprobs: Sequence[tuple[str, float]] = ()
    """Tokens with their natural-log probabilities."""
    reasoning: str | None = None
    finish_reason: str | None = None
    usage: tuple[int, int] | None = None
    """Prompt tokens and completion tokens; counted in words by default."""


TextSource: TypeAlias = "Text | Sequence[Text] | Callable[[ReplayRequest], Text | Sequence[Text]]"


class Rule:
    """A scripted reply: which requests it answers, how often, and with what."""

    def __init__(self, when: When, text: TextSource, times: int | None, reply: Reply) -> None:
        self.when = when
        self.times_left = times
        self._text = text
        self._reply = reply
        self._cursor = 0

    def matches(self, request: ReplayRequest) -> bool:
        """True if the rule may answer the request. A substring is looked for in the whole prompt."""
        if self.times_left is not None and self.times_left <= 0:
            return False
        if self.when is None:
            return True
        return self.when in request.prompt_text if isinstance(self.when, str) else bool(self.when(request))

    def take(self, request: ReplayRequest, *, n: int) -> Reply:
        """Use the rule once: a reply with `n` completions, taken in turn from the scripted ones."""
        if self.times_left is not None:
            self.times_left -= 1
        text = self._text(request) if callable(self._text) else self._text
        pool: Sequence[Text] = [text] if text is None or isinstance(text, str) else list(text)
        texts = tuple(pool[(self._cursor + i) % len(pool)] for i in range(n)) if pool else ()
        self._cursor += n
        return replace(self._reply, texts=texts)
