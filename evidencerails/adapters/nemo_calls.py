"""Which LLM call of a NeMo turn wrote the answer, and with which prompt.

NeMo logs every LLM call of a turn in `explain_info_var`, in all modes. Three things make the log less simple than it
looks: one `ExplainInfo` serves all turns of an async context, and turns that run at the same time share it; a prompt of
several messages is logged as one text (`[cyan]User[/]` before each); and a call that is still streaming stands in the
log without its completion.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from evidencerails.errors import InputError
from evidencerails.exchange import LlmReply, Message, Role, as_messages, content_text
from evidencerails.llm.base import ClientAround, LlmClient

if TYPE_CHECKING:
    from nemoguardrails.logging.explain import LLMCallInfo

_NEVER_ANSWERS = re.compile(
    r"self_check|llama_guard|patronus|evidencerails|_check_|^generate_(user_intent|next_steps|value)(_from|$)"
)
"""Tasks whose completion is a verdict, an intent or a value, not an answer."""
_LOGGED_ROLES: dict[str, Role]
_LOGGED_ROLES = {"User": "user", "Bot": "assistant", "Tool": "tool", "System": "system", "Developer": "system"}
_ROLE_LINE = re.compile(rf"^\[cyan\]({'|'.join(_LOGGED_ROLES)})\[/\]\n", re.MULTILINE)
_SIMILAR_FROM = 75.0
"""rapidfuzz's partial ratio above which an answer counts as the completion, changed by a parser or an earlier rail."""


class AnswerCall(NamedTuple):
    id: str
    task: str | None
    prompt: tuple[Message, ...]
    completion: str | None
    """None while it is streaming."""


def logged_calls() -> list[LLMCallInfo]:
    """The LLM calls NeMo logged in this async context, oldest first; those of earlier turns may be among them."""
    from nemoguardrails.context import explain_info_var

    explain_info = explain_info_var.get()
    return list(explain_info.llm_calls) if explain_info else []


def find_answer_call(
    calls: Sequence[LLMCallInfo],
    answer: str,
    *,
    is_chunk: bool = False,
    known_prompts: Iterable[Any] = (),
    user_message: str = "",
) -> AnswerCall | None:
    """The latest logged call that wrote `answer`, or that is writing it (a chunk of it); None if no call did.

    `known_prompts` are prompts in full structure, as NeMo keeps some: where one is the logged text, it is taken, since
    the text by itself does not distinguish a role line from user input that imitates one.
    """
    writers = [call for call in reversed(calls) if not _NEVER_ANSWERS.search(call.task or "")]
    # A short chunk may well stand in an earlier turn's answer too, so the call that is running goes first.
    signs = (_may_be_writing, _contains) if is_chunk else (_contains, _resembles)
    for is_writer in signs:
        for call in writers:
            if is_writer(call, answer, user_message):
                prompt = _prompt_of(call.prompt or "", known_prompts)
                return AnswerCall(call.id or "", call.task, prompt, call.completion)
    return None


def _contains(call: LLMCallInfo, answer: str, _user_message: str) -> bool:
    return bool(answer.strip()) and _squeezed(answer) in _squeezed(call.completion or "")


def _may_be_writing(call: LLMCallInfo, _answer: str, user_message: str) -> bool:
    is_running = call.completion is None and call.finished_at == 0
    return is_running and _squeezed(user_message) in _squeezed(call.prompt or "")


def _resembles(call: LLMCallInfo, answer: str, _user_message: str) -> bool:
    from rapidfuzz import fuzz

    long_enough = len(answer) >= 20 and bool(call.completion)
    return long_enough and fuzz.partial_ratio(answer, call.completion or "") >= _SIMILAR_FROM


def _squeezed(text: str) -> str:
    """Text without white space, quotes and backslashes: what NeMo's output parsers add or take away."""
    return re.sub(r"[\s\"'\\]+", "", text)


def _prompt_of(logged: str, known_prompts: Iterable[Any]) -> tuple[Message, ...]:
    for known in known_prompts:
        if isinstance(known, (str, list, tuple)) and known and _squeezed(_as_logged(known)) == _squeezed(logged):
            return readable_messages(known)
    return logged_messages(logged)


def _as_logged(prompt: Any) -> str:
    """A prompt as NeMo's `_log_prompt` writes it: parts of a message that are no string are left out."""
    if isinstance(prompt, str):
        return prompt
    names = {"system": "System", "developer": "Developer", "tool": "Tool", "assistant": "Bot", "ai": "Bot"}
    rows = [m for m in prompt if isinstance(m, Mapping)]
    texts = (m.get("content") if isinstance(m.get("content"), str) else "" for m in rows)
    roles = (names.get(str(m.get("role") or m.get("type")), "User") for m in rows)
    return "\n".join(f"[cyan]{role}[/]\n{text}" for role, text in zip(roles, texts, strict=True))


def logged_messages(logged: str) -> tuple[Message, ...]:
    """The messages of a logged prompt; a text without role lines (completion mode) is one user message."""
    pieces = _ROLE_LINE.split(logged)
    if len(pieces) == 1:
        return as_messages(logged.strip())
    pairs = zip(pieces[1::2], pieces[2::2], strict=True)
    return tuple(Message(role=_LOGGED_ROLES[name], content=text.rstrip("\n")) for name, text in pairs)


def readable_messages(prompt: Any) -> tuple[Message, ...]:
    """The messages of a prompt, skipping what is none: a source that is only one of several must not stop the check."""
    items = [prompt] if isinstance(prompt, (str, Mapping)) or not isinstance(prompt, Sequence) else prompt
    found: list[Message] = []
    for item in items:
        try:
            found.extend(as_messages([item]))
        except InputError:
            continue
    return tuple(message for message in found if message.content.strip())


def messages_of_events(events: Sequence[Mapping[str, Any]]) -> tuple[Message, ...]:
    """The conversation in a history of Colang 1.0 events; each user message counts once."""
    found: list[Message] = []
    for event in events:
        if event.get("type") == "UtteranceUserActionFinished":
            found.append(Message(role="user", content=content_text(event.get("final_transcript"))))
        elif event.get("type") == "StartUtteranceBotAction":
            found.append(Message(role="assistant", content=content_text(event.get("script"))))
    return tuple(message for message in found if message.content.strip())


def answer_parser(task: str | None, parse_task_output: Callable[..., str]) -> Callable[[str], str]:
    """What NeMo does to a completion of this task before a user sees it, so that samples compare with the answer."""
    from nemoguardrails.llm.completion_parsing import get_multiline_response, strip_quotes

    def parse(completion: str) -> str:
        text = completion if task is None else parse_task_output(task, output=completion)
        if task == "generate_intent_steps_message":
            text = "\n".join([line for line in text.split("\n") if line.strip()][2:]) or text
        if task in ("generate_bot_message", "generate_intent_steps_message"):
            return str(strip_quotes(get_multiline_response(text)) or "")
        return text.strip().strip('"') if task == "general" else text

    return parse


class ParsingClient(ClientAround):
    """An LLM client whose completions pass through NeMo's parser of the task that wrote the answer.

    In single-call mode a completion holds the user's intent, the bot's intent and the message; compared whole, no two
    samples would agree with an answer.
    """

    def __init__(self, client: LlmClient, parse: Callable[[str], str]) -> None:
        super().__init__(client)
        self._parse = parse

    async def complete(self, messages: Sequence[Message], **options: Any) -> LlmReply:
        """Ask the model once and parse what comes. `LlmError`: the provider failed."""
        reply = await super().complete(messages, **options)
        parsed = tuple(c.model_copy(update={"text": self._parse(c.text)}) for c in reply.completions)
        return reply.model_copy(update={"completions": parsed})
