"""A guard as a step of a LangChain chain: `chain | guard.as_runnable()`.

No part of an answer leaves this step before all of it has been checked: a stream is collected, checked and then
streamed on. What LangChain itself reports about earlier steps (callbacks, tracers, `astream_events`, LangGraph's stream
mode `messages`) comes straight from the model, unchecked.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from typing import Any, Literal, TypeAlias, get_args

from langchain_core.callbacks import AsyncCallbackManagerForChainRun, CallbackManagerForChainRun
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    BaseMessageChunk,
    convert_to_messages,
    message_chunk_to_message,
)
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import AddableDict, Runnable, RunnableConfig
from langchain_core.runnables.base import RunnableLambda, coerce_to_runnable
from pydantic import BaseModel
from pydantic_core import to_json

from evidencerails.adapters.streaming import pieces_of
from evidencerails.adapters.wording import (
    DEFAULT_MESSAGES,
    UNKNOWN_MESSAGE,
    UNVERIFIED_MESSAGE,
    additions_of,
    base_text,
    bot_message,
    withheld_text,
    written_into,
)
from evidencerails.errors import InputError, ResponseBlockedError, SettingsError, reason_of, traceback_summary
from evidencerails.exchange import (
    Exchange,
    Message,
    TokenLogprob,
    as_messages,
    as_passages,
    as_tool_calls,
    as_tools,
    content_text,
)
from evidencerails.guard import Guard
from evidencerails.report import Report

log = logging.getLogger("evidencerails")

On: TypeAlias = Literal["annotate", "raise", "return"]
RESPONSE_KEYS = ("response", "answer", "output")
EVIDENCE_KEYS = ("evidence", "context", "documents", "source_documents")
HISTORY_KEYS = ("chat_history", "history")
QUESTION_KEYS = ("question", "input", "query", "messages", "prompt")
RAW_KEYS = ("raw", "parsed", "parsing_error")
"""What `with_structured_output(..., include_raw=True)` gives."""
REPORT_KEY = "hallucination_report"


class GuardRunnable(Runnable[Any, Any]):
    """Checks what the chain before it answers.

    Its input is a string, an `AIMessage`, or a mapping with the answer under one of `RESPONSE_KEYS` and, where there is
    any, evidence under one of `EVIDENCE_KEYS`, the question under one of `QUESTION_KEYS` and earlier messages under one
    of `HISTORY_KEYS`; the first key that is there counts. Its output has the shape of its input.

    The answer may be structured, too: a pydantic object, a dataclass or a list of them, a mapping with none of those
    keys, or what `include_raw=True` gives. Its fields are checked as those of an answer in JSON, and the object itself
    goes on. It has no room for a warning or for another text: what is blocked or repaired raises
    `ResponseBlockedError`, and a warning is logged.

    Args:
        guard: the guard, or the settings of one.
        on: `annotate` writes the policy's decision into the answer: marks, a warning below, another text if it blocks.
            `raise` does the same, but raises `ResponseBlockedError` if it blocks. Both raise if the policy says
            `raise`. `return` changes nothing and never raises for a verdict: a text or message becomes its `Report`.
        evidence: passages in any shape that `Guard.check` takes; or a function, a coroutine function or a runnable
            that gets the input of this step and gives them. It comes before evidence in a mapping. If it fails, or its
            passages cannot be read, the answer is unverified.
        response_key: where a mapping holds the answer, if under another key.
        report_key: where a mapping gets its `Report`; a message has it as plain data in `response_metadata`.
        tools: what the model of the chain was bound to, for the check `tools`; in any shape that `Guard.check` takes.
        messages: other texts for `wording.DEFAULT_MESSAGES`, by their names there.

    Raises:
        SettingsError: an argument has no such value.
    """

    def __init__(
        self,
        guard: Guard | Mapping[str, Any] | str | None = None,
        *,
        on: On = "annotate",
        evidence: Any = None,
        response_key: str | None = None,
        report_key: str = REPORT_KEY,
        messages: Mapping[str, str] | None = None,
        tools: Sequence[Any] | None = None,
    ) -> None:
        if on not in get_args(On):
            raise SettingsError(f"on must be one of {', '.join(get_args(On))}, got {on!r}")
        if unknown := set(messages or ()) - set(DEFAULT_MESSAGES):
            raise SettingsError(f"messages has {sorted(unknown)}; expected some of {', '.join(DEFAULT_MESSAGES)}")
        self.guard = guard if isinstance(guard, Guard) else Guard(guard)
        self.on = on
        self.response_key = response_key
        self.report_key = report_key
        self._tools = as_tools(tools)
        self._evidence = coerce_to_runnable(evidence) if callable(evidence) or isinstance(evidence, Runnable) else None
        self._passages = None if self._evidence is not None else evidence
        self._messages = {name: [text] for name, text in (messages or {}).items()}

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Check one answer. `ResponseBlockedError`: see `on`. `InputError`: the input has none of the shapes this step
        reads."""
        _refuse(kwargs)
        return self._call_with_config(self._checked, input, config)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """`invoke` for code with an event loop, which stays free meanwhile."""
        _refuse(kwargs)
        return await self._acall_with_config(self._achecked, input, config)

    def stream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        """Check the answer, then stream what `invoke` gives word by word; of a mapping the answer comes last.

        `transform`, which a chain calls, collects its input first and comes here.
        """
        yield from self._pieces(self._subject(input), self.invoke(input, config, **kwargs))

    async def astream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Any]:
        for piece in self._pieces(self._subject(input), await self.ainvoke(input, config, **kwargs)):
            yield piece

    def _checked(self, value: Any, run_manager: CallbackManagerForChainRun, config: RunnableConfig) -> Any:
        subject = self._subject(value)
        try:
            found = self._evidence.invoke(value, config) if self._evidence else self._given(subject)
            passages = as_passages(found)
        except Exception as error:  # boundary to the user's retriever: what it breaks on is a reason, no verdict
            return self._outcome(subject, self._without_evidence(subject, error))
        return self._outcome(subject, self.guard.check_sync(subject.text, evidence=passages, **subject.rest()))

    async def _achecked(self, value: Any, run_manager: AsyncCallbackManagerForChainRun, config: RunnableConfig) -> Any:
        subject = self._subject(value)
        try:
            found = await self._evidence.ainvoke(value, config) if self._evidence else self._given(subject)
            passages = as_passages(found)
        except Exception as error:  # boundary to the user's retriever: what it breaks on is a reason, no verdict
            return self._outcome(subject, self._without_evidence(subject, error))
        return self._outcome(subject, await self.guard.check(subject.text, evidence=passages, **subject.rest()))

    def _given(self, subject: _Subject) -> Any:
        return subject.evidence if self._passages is None else self._passages

    def _without_evidence(self, subject: _Subject, error: Exception) -> Report:
        if isinstance(error, InputError):
            reason = f"bad_evidence: {error}"
        elif isinstance(self._evidence, RunnableLambda) and not hasattr(self._evidence, "func"):
            reason = "evidence_failed: a coroutine function gives it, so call the chain with `ainvoke`"
        else:
            log.error("evidencerails: the evidence of a chain could not be fetched: %s", traceback_summary(error))
            reason = f"evidence_failed: {reason_of(error)}"
        return self.guard.unverified_report(self.guard.config.checks, reason, Exchange(response=subject.text))

    def _subject(self, value: Any) -> _Subject:
        key = (self.response_key or _response_key(value)) if isinstance(value, Mapping) else None
        if key is None:
            return _Subject(whole=value, answer=_answer(value), tools=self._tools)
        if key not in value:
            raise InputError(f"the mapping has no key {key!r}; its keys: {', '.join(map(repr, value))}")
        return _Subject(
            whole=value,
            answer=_answer(value[key]),
            key=key,
            evidence=_first(value, EVIDENCE_KEYS),
            prompt=_prompt(value),
            tools=self._tools,
        )

    def _outcome(self, subject: _Subject, report: Report) -> Any:
        if self.on == "return":
            return report if subject.key is None else {**subject.whole, self.report_key: report}
        is_structured = isinstance(subject.answer, _Structured)
        has_no_place = is_structured and (report.is_blocked or report.answer is not None)
        if report.decision == "raise" or has_no_place or (report.is_blocked and self.on == "raise"):
            raise ResponseBlockedError(report)
        answer = self._answered(subject, report)
        return answer if subject.key is None else {**subject.whole, subject.key: answer, self.report_key: report}

    def _answered(self, subject: _Subject, report: Report) -> Any:
        """The answer as the decision leaves it, in the type it came in."""
        if isinstance(subject.answer, _Structured):
            if report.decision != "allow":
                log.warning("evidencerails: a structured answer goes on with the decision %s", report.decision)
            return subject.answer.value
        text = self._decided(subject.text, report)
        if isinstance(subject.answer, str):
            return text
        config = self.guard.config
        plain = report.plain(redaction=config.redaction, expose_evidence=config.expose.evidence)
        if report.is_blocked:  # a new message: tool calls and reasoning of the blocked one must not go on
            return AIMessage(text, id=subject.answer.id, response_metadata={REPORT_KEY: plain})
        metadata = {**subject.answer.response_metadata, REPORT_KEY: plain}
        content = subject.answer.content if text == subject.text else _with_text(subject.answer.content, text)
        return subject.answer.model_copy(update={"content": content, "response_metadata": metadata})

    def _decided(self, text: str, report: Report) -> str:
        if report.is_blocked:
            name = UNVERIFIED_MESSAGE if report.status == "unverified" else UNKNOWN_MESSAGE
            return withheld_text(report, self._messages) or bot_message(name, self._messages)
        additions = additions_of(report, self._messages)
        return written_into(base_text(text, report), additions, self.guard.config.annotation.format)

    def _pieces(self, subject: _Subject, output: Any) -> Iterator[Any]:
        if subject.key is None or self.on == "return":
            yield from _streamed(output)
            return
        yield AddableDict({key: value for key, value in output.items() if key != subject.key})
        for piece in _streamed(output[subject.key]):
            yield AddableDict({subject.key: piece})


@dataclass(frozen=True, kw_only=True)
class _Structured:
    value: Any
    text: str
    """The object as JSON, or the text of the message that could not be parsed."""
    message: AIMessage | None = None


@dataclass(frozen=True, kw_only=True)
class _Subject:
    whole: Any
    answer: str | AIMessage | _Structured
    key: str | None = None
    """Where the mapping holds the answer; None if the input is the answer."""
    evidence: Any = None
    prompt: tuple[Message, ...] = ()
    tools: tuple[dict[str, Any], ...] = ()

    @property
    def text(self) -> str:
        if isinstance(self.answer, _Structured):
            return self.answer.text
        return self.answer if isinstance(self.answer, str) else content_text(self.answer.content)

    def rest(self) -> dict[str, Any]:
        """What `Guard.check` gets besides text and evidence."""
        message = self.answer.message if isinstance(self.answer, _Structured) else self.answer
        if not isinstance(message, AIMessage):
            return {"prompt": self.prompt}
        calls = as_tool_calls(message)
        return {"prompt": self.prompt, "tool_calls": calls, "tools": self.tools, "logprobs": _logprobs(message)}


def _refuse(kwargs: Mapping[str, Any]) -> None:
    if kwargs:
        raise InputError(f"a guard takes {', '.join(sorted(kwargs))} when it is made, not at a call")


def _response_key(value: Mapping[str, Any]) -> str | None:
    """Where a mapping holds the answer; None if it is the answer itself: a message, or a structured one."""
    found = [key for key in RESPONSE_KEYS if value.get(key) is not None]
    if len(found) == 1:
        return found[0]
    if set(RAW_KEYS) <= value.keys():
        return "raw" if value["parsed"] is None else "parsed"
    if value and not found and not value.keys() & {*EVIDENCE_KEYS, *HISTORY_KEYS, *QUESTION_KEYS}:
        return None
    problem = f"has several answers ({', '.join(found)})" if found else f"has no answer (its keys: {[*value]})"
    raise InputError(f"the mapping {problem}; expected one of {', '.join(RESPONSE_KEYS)}, or set `response_key`")


def _first(value: Mapping[str, Any], keys: Sequence[str]) -> Any:
    return next((value[key] for key in keys if value.get(key) is not None), None)


def _answer(value: Any) -> str | AIMessage | _Structured:
    if isinstance(value, AIMessageChunk):
        value = message_chunk_to_message(value)
    if isinstance(value, (str, AIMessage)):
        return value
    if isinstance(value, Mapping) and {"role", "content"} <= value.keys():
        return _answer(_as_list([value])[0])
    if isinstance(value, Mapping) and set(RAW_KEYS) <= value.keys():
        read = _answer(value["raw"] if value["parsed"] is None else value["parsed"])
        message = read if isinstance(read, AIMessage) else None
        return _Structured(value=value, text=_Subject(whole=value, answer=read).text, message=message)
    if _is_structured(value) or (isinstance(value, list) and value and all(map(_is_structured, value))):
        try:
            return _Structured(value=value, text=to_json(value, fallback=str).decode())
        except ValueError as error:  # such as an object that holds itself
            raise InputError(f"an answer of type {type(value).__name__} cannot be written as JSON: {error}") from error
    raise InputError(
        f"a guard checks a string, an AIMessage, a structured answer, or a mapping with one under "
        f"{', '.join(RESPONSE_KEYS)}; got {type(value).__name__}"
    )


def _is_structured(value: Any) -> bool:
    is_object = isinstance(value, BaseModel) and not isinstance(value, BaseMessage)
    return is_object or isinstance(value, Mapping) or (is_dataclass(value) and not isinstance(value, type))


def _prompt(value: Mapping[str, Any]) -> tuple[Message, ...]:
    found = [*_as_list(_first(value, HISTORY_KEYS)), *_as_list(_first(value, QUESTION_KEYS))]
    return as_messages([message_chunk_to_message(m) if isinstance(m, BaseMessageChunk) else m for m in found])


def _as_list(prompt: Any) -> list[BaseMessage]:
    if prompt is None:
        return []
    if isinstance(prompt, PromptValue):
        return prompt.to_messages()
    try:
        return convert_to_messages([prompt] if isinstance(prompt, (str, BaseMessage)) else prompt)
    except (ValueError, TypeError, NotImplementedError) as error:
        raise InputError(
            f"question or history is {type(prompt).__name__}, expected text or messages: {error}"
        ) from error


def _logprobs(message: AIMessage) -> list[TokenLogprob]:
    """The answer's own log probabilities, where the provider was asked for them (OpenAI's shape)."""
    found = message.response_metadata.get("logprobs")
    tokens = (found.get("content") or ()) if isinstance(found, Mapping) else ()
    if not all(isinstance(token, Mapping) and {"token", "logprob"} <= token.keys() for token in tokens):
        return []  # another provider's shape
    return [TokenLogprob(token=token["token"], logprob=min(token["logprob"], 0.0)) for token in tokens]


def _with_text(content: Any, text: str) -> Any:
    """The content with this as its only text; other blocks stay."""
    if isinstance(content, str):
        return text
    others = [part for part in content if isinstance(part, Mapping) and "text" not in part]
    return [*others, {"type": "text", "text": text}]


def _streamed(answer: Any) -> Iterator[Any]:
    """The answer in pieces that add up to it; what is neither text nor message in one."""
    if isinstance(answer, str):
        yield from pieces_of(answer) or [""]
    elif isinstance(answer, AIMessage):
        yield from _message_pieces(answer)
    else:
        yield AddableDict(answer) if isinstance(answer, dict) else answer


def _message_pieces(message: AIMessage) -> Iterator[AIMessageChunk]:
    content = message.content
    if isinstance(content, str):
        for piece in pieces_of(content):
            yield AIMessageChunk(content=piece, id=message.id)
        content = ""
    fields = {name: getattr(message, name) for name in type(message).model_fields if name not in ("content", "type")}
    yield AIMessageChunk(content=content, **fields, chunk_position="last")
