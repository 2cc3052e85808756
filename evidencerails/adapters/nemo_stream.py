"""A streamed answer, put together again from NeMo's overlapping chunks and cut into whole sentences.

NeMo hands an output rail `context_size` tokens it has seen before and then the new ones; a chunk ends anywhere, in the
middle of a sentence or of a number. A sentence is checked in the chunk that completes it.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

CONTEXT_KEY = "_evidencerails_stream"
"""Context variable through which an action of a stream finds what it is part of."""

_STOPPED = re.compile(r"[.!?…。！？][\"'”’»)\]*_]*$")
_NEXT = "The"
_MAY_BE_DECIMAL = re.compile(r"[0-9]\.$")
_OPEN_REASONING = re.compile(
    r"<(think|thinking|thought|reasoning|reflection|scratchpad|analysis)>(?!.*</\1>)", re.DOTALL | re.I
)


@dataclass
class Stream:
    """One stream, as seen from outside of its chunks."""

    messages: Sequence[Any]
    """The caller's messages; NeMo's chunk calls see only the last user and context message of them."""
    has_ended: bool = False
    """True once the model has nothing more: then the chunk under check is the last one."""
    error: str = ""
    """The error with which the model's stream broke off: NeMo sends it behind the answer, as if it were part of it."""
    id: str = field(default_factory=lambda: f"stream-{uuid.uuid4()}")


def watch_streams(app: Any) -> None:
    """Let the actions of `app` know, in a stream, the request's messages and whether a chunk is the last.

    NeMo reports neither, so its method that runs the rails over a stream is called with a source that records its end
    and with one more context message. Without that method (another version) each chunk counts as the last.
    """
    original = getattr(app, "_run_output_rails_in_streaming", None)
    if original is None:
        return

    def watched(
        streaming_handler: AsyncIterator[Any], *args: Any, messages: Sequence[Any] | None = None, **options: Any
    ) -> Any:
        stream = Stream(list(messages or ()))
        known = [m for m in stream.messages if isinstance(m, Mapping)]
        context: Mapping[str, Any] = next((m["content"] for m in reversed(known) if m.get("role") == "context"), {})
        tagged = [*stream.messages, {"role": "context", "content": {**context, CONTEXT_KEY: stream}}]
        return original(_noting_the_end(streaming_handler, stream), *args, messages=tagged, **options)

    app._run_output_rails_in_streaming = watched


async def _noting_the_end(source: AsyncIterator[Any], stream: Stream) -> AsyncIterator[Any]:
    async for piece in source:
        text = piece.get("text") if isinstance(piece, Mapping) else piece
        if isinstance(text, str) and _is_error(text):
            stream.error, stream.has_ended = text, True
        yield piece
    stream.has_ended = True


def _is_error(piece: str) -> bool:
    """True for what NeMo sends when the model failed: `{"error": {"message": ...}}`."""
    if not piece.startswith('{"error"'):
        return False
    try:
        error = json.loads(piece)["error"]
    except (ValueError, KeyError):
        return False
    return isinstance(error, Mapping) and "message" in error


class StreamedAnswer:
    """What has come of one answer so far, for one rail."""

    def __init__(self) -> None:
        self.text = ""
        """The answer up to now."""
        self.shown = 0
        """How many characters had come before the present chunk."""
        self._checked = 0
        self._is_whole_taken = False

    def add(self, chunk: str) -> None:
        """Append a chunk without the part that overlaps with what has come before."""
        overlap = _overlap(self.text, chunk)
        self.shown = len(self.text)
        self.text += chunk[overlap:]

    def take(self, *, is_final: bool) -> str:
        """The sentences that are complete now and were not taken before; all of the rest if the stream has ended.

        A reasoning trace is taken whole, with the sentence behind it: a part of it, or one alone, would be read
        as the answer.
        """
        from evidencerails.text.claimable import is_reasoning_alone

        rest = self.text[self._checked :]
        end = len(rest) if is_final else _complete_until(rest)
        if not is_final and (trace := _OPEN_REASONING.search(rest, 0, end)):
            end = trace.start()
        if not is_final and is_reasoning_alone(rest[:end]):
            end = 0
        self._checked += end
        return rest[:end]

    def whole_once(self) -> str:
        """The whole answer, the first time; then nothing: the call after the last chunk may hold no new text."""
        if self._is_whole_taken:
            return ""
        self._is_whole_taken = True
        return self.text


def _overlap(before: str, chunk: str) -> int:
    """Length of the longest beginning of `chunk` that `before` ends with."""
    first = max(0, len(before) - len(chunk))
    tail = before[first:]
    for start in range(len(tail)):
        if chunk.startswith(tail[start:]):
            return len(tail) - start
    return 0


def _complete_until(text: str) -> int:
    """Where the last complete sentence ends."""
    from evidencerails.text.sentences import split_sentences

    spans = split_sentences(text)
    if not spans:
        return 0
    return len(text) if _is_ended(text) else spans[-1].start


def _is_ended(text: str) -> bool:
    """True if the text ends with a whole sentence, so that what follows begins another: not behind `Dr.` or `3.`"""
    from evidencerails.text.sentences import split_sentences

    if text[-1] == "\n":
        return True
    stripped = text.rstrip()
    if not _STOPPED.search(stripped) or (stripped == text and _MAY_BE_DECIMAL.search(text)):
        return False
    return split_sentences(f"{stripped} {_NEXT}")[-1].text == _NEXT
