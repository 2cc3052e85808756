"""What NeMo hands to an action, and what can be read from it.

NeMo calls an action in two ways. From a flow it injects the history, the context and registered parameters. From
`stream_async` it calls the first `execute` of a flow directly, with a chunk as `bot_message`, the caller's last context
message, no history and no registered parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

from evidencerails.adapters.nemo_calls import (
    AnswerCall,
    find_answer_call,
    logged_calls,
    messages_of_events,
    readable_messages,
)
from evidencerails.adapters.nemo_plugin import NemoPlugin, plugin_of
from evidencerails.adapters.nemo_stream import CONTEXT_KEY, Stream
from evidencerails.errors import EvidencerailsError
from evidencerails.exchange import Message, content_text

SAME_MESSAGE_FROM = 60.0
"""rapidfuzz's ratio above which two texts are one user message, as it came and as an input rail has left it."""


@dataclass(frozen=True, kw_only=True)
class ActionCall:
    context: Mapping[str, Any] = field(default_factory=dict)
    events: Sequence[Any] | None = None
    """None in a stream."""
    bot_message: Any = None
    llm: Any = None
    llm_task_manager: Any = None

    @classmethod
    def injected(cls, given: Mapping[str, Any]) -> tuple[ActionCall, NemoPlugin]:
        """The call, and the plugin of the app that made it. `EvidencerailsError`: the app has no plugin."""
        names = (one.name for one in fields(cls))
        call = cls(**{name: given[name] for name in names if given.get(name) is not None})
        plugin = plugin_of(call.llm_task_manager)
        if plugin is None:
            raise EvidencerailsError(
                "evidencerails is not set up in this app: its config.py did not run; "
                "add `evidencerails/plugin` to import_paths"
            )
        return call, plugin

    @property
    def is_streaming(self) -> bool:
        """True if NeMo's streaming calls the action, on a chunk."""
        return self.events is None

    @property
    def stream(self) -> Stream | None:
        """The stream that the chunk is part of; None outside of one."""
        return self.context.get(CONTEXT_KEY) if self.is_streaming else None

    @property
    def is_last_chunk(self) -> bool:
        """True if nothing follows the chunk, as far as that is known."""
        return self.stream is None or self.stream.has_ended

    @property
    def answer(self) -> str:
        """The answer, or the chunk of it."""
        text = content_text(self.bot_message if self.bot_message is not None else self.context.get("bot_message"))
        return text.removesuffix(self.stream.error) if self.stream else text

    @property
    def user_message(self) -> str:
        names = ("user_message", "last_user_message")
        return next((text for name in names if (text := content_text(self.context.get(name)))), "")

    @cached_property
    def history(self) -> list[dict[str, Any]]:
        """The events that are plain data: Colang 2.x has objects among them."""
        return [event for event in self.events or () if isinstance(event, dict)]

    @cached_property
    def request(self) -> list[Any]:
        """The caller's messages without the answer under check."""
        from nemoguardrails.context import raw_llm_request

        messages = self.stream.messages if self.stream else raw_llm_request.get()
        items = list(messages) if isinstance(messages, (list, tuple)) else [messages] if messages else []
        last = items[-1] if items and isinstance(items[-1], Mapping) else {}
        items = items[:-1] if last.get("role") == "assistant" else items
        return items if self.stream or self._is_of_this_turn(items) else []

    def _is_of_this_turn(self, request: Sequence[Any]) -> bool:
        """False for the request of an earlier turn: NeMo's event API leaves that in the async context."""
        from rapidfuzz import fuzz

        asked = [message.content for message in readable_messages(request) if message.role == "user"]
        said = [message.content for message in messages_of_events(self.history) if message.role == "user"]
        heard = [text for text in (self.user_message, *said[-1:]) if text]
        return not asked or not heard or any(fuzz.ratio(asked[-1], text) >= SAME_MESSAGE_FROM for text in heard)

    @cached_property
    def answer_call(self) -> AnswerCall | None:
        """The logged LLM call that wrote the answer."""
        known = (self.context.get("_last_bot_prompt"), self.request)
        return find_answer_call(
            logged_calls(),
            self.answer,
            is_chunk=self.is_streaming,
            known_prompts=known,
            user_message=self.user_message,
        )

    @cached_property
    def conversation(self) -> tuple[Message, ...]:
        """What the user and the bot said, without the instructions and examples that NeMo's dialog prompts add."""
        own_words = (Message(role="user", content=self.user_message),) if self.user_message else ()
        logged = self.answer_call.prompt if self.answer_call else ()
        sources = (readable_messages(self.request), messages_of_events(self.history), own_words, logged)
        return next((found for found in sources if any(m.role == "user" for m in found)), ())

    @cached_property
    def written_from(self) -> tuple[Message, ...]:
        """The prompt to draw samples with: the logged call, `_last_bot_prompt`, the request, the history."""
        logged = self.answer_call.prompt if self.answer_call else ()
        sources = (logged, readable_messages(self.context.get("_last_bot_prompt") or ()), self.conversation)
        return next((found for found in sources if any(m.role == "user" for m in found)), ())
