"""What is checked: the values every check reads, and how users' shapes become them."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticSerializationError
from typing_extensions import Self

from evidencerails.errors import InputError

Role = Literal["system", "user", "assistant", "tool"]
Stakes = Literal["low", "medium", "high"]

_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "bot": "assistant",
    "tool": "tool",
    "function": "tool",
}
NO_RESPONSE = "response is missing; only tool_calls can be checked without one"
_TEXT_KEYS = ("text", "content", "page_content", "body", "snippet")
_ID_KEYS = ("id", "doc_id", "document_id", "passage_id")
_SOURCE_KEYS = ("source", "url", "title", "file", "path")
_NO_METADATA = frozenset({*_TEXT_KEYS, "id", "source", "metadata"})
_ARGUMENT_KEYS = ("arguments", "args", "input", "parameters")
_SCHEMA_KEYS = ("parameters", "input_schema", "inputSchema")
_OTHER_BLOCKS = frozenset({"text", "thinking", "redacted_thinking", "reasoning", "server_tool_use"})
"""Blocks of a message's content that ask for no call of ours."""
MAX_FIELD_CHARACTERS = 1_000
"""A longer field of evidence is a text, and no metadata."""
MAX_FIELD_ITEMS = 50
MAX_ARGUMENT_CHARACTERS = 1_000_000
"""Longer arguments in JSON are not read: no tool takes them."""


class Value(BaseModel):
    """Base of all values: immutable, compared by content, unknown fields refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def model_dump_json(self, *, indent: int | None = None, **options: Any) -> str:
        """As pydantic's. A lone surrogate, which pydantic cannot write, becomes its JSON escape."""
        try:
            return super().model_dump_json(indent=indent, **options)
        except PydanticSerializationError as error:
            if "surrogates not allowed" not in str(error):
                raise
            options.pop("ensure_ascii", None)
            separators = (",", ":") if indent is None else None
            return json.dumps(self.model_dump(mode="json", **options), indent=indent, separators=separators)

    @classmethod
    def model_validate_json(cls, json_data: str | bytes | bytearray, **options: Any) -> Self:
        """As pydantic's; reads the escape of a lone surrogate too."""
        try:
            return super().model_validate_json(json_data, **options)
        except ValidationError as error:
            if error.errors()[0]["type"] != "json_invalid":
                raise
            try:
                data = json.loads(json_data)
            except ValueError:
                raise error from None
            return cls.model_validate(data, **options)


class Span(Value):
    """A part of a text by character offsets: `whole[start:end] == text` always holds."""

    start: int = Field(ge=0)
    end: int = Field(ge=0)
    text: str

    @model_validator(mode="after")
    def _length_matches(self) -> Span:
        if self.end - self.start != len(self.text):
            raise ValueError(f"span {self.start}:{self.end} does not fit its text of {len(self.text)} characters")
        return self

    @classmethod
    def of(cls, whole: str, start: int, end: int) -> Span:
        """The span `whole[start:end]`."""
        return cls.model_construct(start=start, end=end, text=whole[start:end])


class Passage(Value):
    """One piece of evidence; `id` is what citations name, `source` where it came from."""

    id: str
    text: str
    source: str | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)

    def __hash__(self) -> int:
        return hash((self.id, self.text, self.source))  # metadata is a dict, which has no hash


class Sample(Value):
    """Another response of the same model to the same prompt."""

    text: str


class ToolCall(Value):
    """One call a model wants to make; `arguments` is the parsed JSON object."""

    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    id: str | None = None
    arguments_error: str = ""
    """Why the arguments that the model wrote cannot be read; empty if they can."""


class Message(Value):
    """One message of the prompt."""

    role: Role
    content: str


class TokenLogprob(Value):
    """Natural-log probability (<= 0) of one token of the response, in order."""

    token: str
    logprob: float = Field(le=0.0)


class Labels(Value):
    """Who asked for a check: what distinguishes records."""

    flow: str | None = None
    agent: str | None = None
    model: str | None = None
    session: str | None = None


EvidenceItem: TypeAlias = "str | Mapping[str, Any] | Passage | Any"
EvidenceInput: TypeAlias = "EvidenceItem | Sequence[EvidenceItem] | None"
PromptInput: TypeAlias = "str | Sequence[Any] | None"


class Completion(Value):
    """One completion of a reply."""

    text: str
    finish_reason: str | None = None
    logprobs: tuple[TokenLogprob, ...] = ()


class LlmReply(Value):
    """What one request brought back; token counts are 0 where the provider does not report them."""

    completions: tuple[Completion, ...]
    prompt_tokens: int = 0
    completion_tokens: int = 0
    model: str | None = None


class Exchange(Value):
    """A response with all that it may be checked against."""

    response: str
    evidence: tuple[Passage, ...] = ()
    evidence_from: str | None = None
    """Which place the evidence came from: `argument`, or one of `evidence.from` in the settings."""
    prompt: tuple[Message, ...] = ()
    samples: tuple[Sample, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    tools: tuple[dict[str, Any], ...] = ()
    response_schema: dict[str, Any] | None = None
    logprobs: tuple[TokenLogprob, ...] = ()
    stakes: Stakes | None = None
    """What depends on the answer; the settings' `severity.stakes` if None."""
    labels: Labels = Labels()
    """Who asked; for records, never read by a check."""
    is_chunk: bool = False
    """True while streaming: the response is one chunk of a longer answer, and spans count from its start."""

    @property
    def user_input(self) -> str:
        """Text of the last user message; empty if there is none."""
        return next((m.content for m in reversed(self.prompt) if m.role == "user"), "")

    @classmethod
    def of(
        cls,
        response: str,
        *,
        evidence: EvidenceInput = None,
        prompt: PromptInput = None,
        samples: Sequence[str | Sample] | None = None,
        **rest: Any,
    ) -> Exchange:
        """Build an exchange from the shapes users have.

        Raises:
            InputError: a part has a shape that cannot be read; the message names it.
        """
        if not isinstance(response, str):
            raise InputError(f"response must be a string, got {type(response).__name__}: {_shown(response)}")
        passages = as_passages(evidence)
        if rest.get("tool_calls") or rest.get("tools"):
            rest.update(tool_calls=as_tool_calls(rest.get("tool_calls")), tools=as_tools(rest.get("tools")))
        if rest.get("logprobs"):
            rest["logprobs"] = _as_logprobs(rest["logprobs"])
        if rest.get("response_schema") is not None:
            rest["response_schema"] = _as_schema(rest["response_schema"])
        try:
            return cls(
                response=response,
                evidence=passages,
                evidence_from=rest.pop("evidence_from", "argument" if passages else None),
                prompt=as_messages(prompt) if prompt is not None else (),
                samples=as_samples(samples) if samples is not None else (),
                **rest,
            )
        except ValidationError as error:
            first = error.errors()[0]
            place = "".join(f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
            raise InputError(f"{place.lstrip('.')}: got {_shown(first['input'])}: {first['msg']}") from None


def as_passages(evidence: EvidenceInput) -> tuple[Passage, ...]:
    """Evidence in any usual shape (string, dict, LangChain document, list of these) as passages; blank ones left out.

    An item without an id is numbered by its place in the list, from 1.

    Raises:
        InputError: an item is neither text nor has a text field.
    """
    if evidence is None:
        return ()
    passages = (_as_passage(item, place) for place, item in enumerate(_flat(evidence), start=1))
    try:
        return tuple(p for p in passages if p.text.strip())
    except RecursionError:
        raise InputError("evidence is nested without end; give a list of texts, passages or documents") from None


def _flat(evidence: Any) -> Iterator[Any]:
    """The items of lists within lists: vector stores answer with one list for each query."""
    if isinstance(evidence, (list, tuple, set, frozenset)):
        for item in evidence:
            yield from _flat(item)
    else:
        yield evidence


def _as_passage(item: Any, place: int) -> Passage:
    if isinstance(item, Passage):
        return item
    if isinstance(item, str):
        return Passage(id=str(place), text=item)
    fields = item if isinstance(item, Mapping) else _attributes(item)
    text = next((found for k in _TEXT_KEYS if (found := _evidence_text(fields.get(k))) is not None), None)
    if text is None:
        keys = f" (its keys: {_shown(list(item))})" if isinstance(item, Mapping) else ""
        raise InputError(  # without its words: this message reaches logs and reports, where evidence must not
            f"evidence item {place} is {type(item).__name__} without text{keys}; give a string, a Passage, "
            f"a document, or a mapping with one of {', '.join(_TEXT_KEYS)}"
        )
    given = fields.get("metadata")
    metadata = {str(k): v for k, v in fields.items() if k not in _NO_METADATA and _is_plain(v)}
    metadata |= {str(k): v for k, v in given.items()} if isinstance(given, Mapping) else {}
    return Passage(
        id=_first_text(_ID_KEYS, fields, metadata) or str(place),
        text=text,
        source=_first_text(_SOURCE_KEYS, fields, metadata),
        metadata=metadata,
    )


def _is_plain(value: Any) -> bool:
    """True for what describes a passage: short texts, numbers, dates, and lists of them."""
    if isinstance(value, (list, tuple)):
        return len(value) <= MAX_FIELD_ITEMS and all(isinstance(one, (str, int)) and _is_plain(one) for one in value)
    if isinstance(value, str):
        return len(value) <= MAX_FIELD_CHARACTERS
    return isinstance(value, (int, float, datetime.date))


def _evidence_text(value: Any) -> str | None:
    """A text, or the text parts of a message's content; None for anything else."""
    if isinstance(value, str):
        return value
    return (content_text(value) or None) if isinstance(value, (list, tuple)) else None


def _attributes(item: Any) -> dict[str, Any]:
    names = (*_TEXT_KEYS, *_ID_KEYS, *_SOURCE_KEYS, "metadata")
    try:
        return {name: getattr(item, name) for name in names if hasattr(item, name)}
    except Exception as error:  # boundary to the user's own class, whose properties may do anything
        raise InputError(f"evidence of type {type(item).__name__} cannot be read: {type(error).__name__}") from error


def _first_text(keys: Sequence[str], *places: Mapping[str, Any]) -> str | None:
    found = (place.get(key) for place in places for key in keys)
    return next((str(value) for value in found if isinstance(value, (str, int)) and str(value).strip()), None)


def as_messages(prompt: PromptInput) -> tuple[Message, ...]:
    """A prompt in any usual shape (string, OpenAI-style dicts, LangChain or NeMo messages) as messages.

    Raises:
        InputError: an item is not a message.
    """
    if prompt is None or prompt == "":
        return ()
    if isinstance(prompt, str):
        return (Message(role="user", content=prompt),)
    if isinstance(prompt, Mapping) or not isinstance(prompt, Sequence):
        prompt = [prompt]
    messages = (_as_message(item, place) for place, item in enumerate(prompt, start=1))
    return tuple(m for m in messages if m is not None)


def _as_message(item: Any, place: int) -> Message | None:
    if isinstance(item, Message):
        return item
    if isinstance(item, str):
        return Message(role="user", content=item)
    if isinstance(item, Mapping):
        role, content = item.get("role") or item.get("type"), item.get("content")
    else:
        role, content = getattr(item, "role", None) or getattr(item, "type", None), getattr(item, "content", None)
    role_name = str(getattr(role, "value", role)).lower()
    if role_name in ("context", "event", "exception"):  # NeMo's own message kinds: no part of the prompt
        return None
    if role_name not in _ROLES:
        raise InputError(f"prompt message {place} has role {role!r}; expected one of {', '.join(_ROLES)}")
    return Message(role=_ROLES[role_name], content=content_text(content))


def content_text(content: Any) -> str:
    """Text of a message's content, which may be a string, a list of parts, or nothing."""
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence):
        parts = (p if isinstance(p, str) else p.get("text", "") if isinstance(p, Mapping) else "" for p in content)
        return "\n".join(part for part in parts if isinstance(part, str) and part)
    return ""


def as_samples(samples: Sequence[str | Sample] | None) -> tuple[Sample, ...]:
    """Strings or samples as samples; a blank one stays: it was given, and nothing can be compared with it."""
    if samples is not None and (isinstance(samples, (str, Mapping)) or not isinstance(samples, Iterable)):
        raise InputError(f"samples must be a list of strings, got {type(samples).__name__}: {_shown(samples)}")
    out = []
    for place, item in enumerate(samples or (), start=1):
        if not isinstance(item, (str, Sample)):
            raise InputError(f"sample {place} must be a string, got {type(item).__name__}: {_shown(item)}")
        out.append(item if isinstance(item, Sample) else Sample(text=item))
    return tuple(out)


def as_tool_calls(calls: Any) -> tuple[ToolCall, ...]:
    """Tool calls in any usual shape as values.

    Takes `{name, arguments}`, OpenAI's `{id, function: {name, arguments}}` with arguments in JSON, LangChain's
    `{name, args, id}`, Anthropic's `{type: "tool_use", name, input}`, objects with these attributes, an assistant's
    message, with calls or without, or a list of any of them, the other blocks of Anthropic's `content` left out.
    Arguments that are no JSON object are kept as `arguments_error`: the model wrote them, so they are something to
    find, not wrong usage.

    Raises:
        InputError: an item is no tool call.
    """
    if calls is None:
        return ()
    found: list[ToolCall] = []
    for place, item in enumerate(calls if isinstance(calls, (list, tuple)) else [calls], start=1):
        kind = str(_get(item, "type"))
        if kind in _OTHER_BLOCKS or kind.endswith("_tool_result"):
            continue
        inner = _calls_of_message(item)
        found += as_tool_calls(inner) if inner is not None else [_as_tool_call(item, place)]
    return tuple(found)


def _calls_of_message(item: Any) -> list[Any] | None:
    """The calls of a message; None if the item is no message.

    Where it has none as `tool_calls`, those that providers write elsewhere count: Anthropic's blocks, OpenAI's former
    `function_call`.
    """
    calls = _get(item, "tool_calls")
    if not isinstance(calls, (list, tuple)):
        if _get(item, "role") != "assistant" or any(_get(item, key) is not None for key in _ARGUMENT_KEYS):
            return None
        calls = ()
    content = _get(item, "content")
    blocks = content if isinstance(content, (list, tuple)) else ()
    elsewhere = [block for block in blocks if _get(block, "type") == "tool_use"]
    elsewhere += [_get(holder, "function_call") for holder in (item, _get(item, "additional_kwargs"))]
    found = [*calls, *(_get(item, "invalid_tool_calls") or ())]
    return found or [call for call in elsewhere if call]


def _as_tool_call(item: Any, place: int) -> ToolCall:
    if isinstance(item, ToolCall):
        return item
    function = _get(item, "function")
    body = item if function is None or isinstance(function, str) else function
    name = _get(body, "name")
    given = next((value for key in _ARGUMENT_KEYS if (value := _get(body, key)) is not None), None)
    if name is None:
        raise InputError(
            f"tool_calls[{place}].name: got {_shown(item)}: Field required; give {{name, arguments}}, or a call or "
            "an assistant's message as OpenAI, Anthropic or LangChain write it"
        )
    arguments, problem = _arguments(given)
    call_id = _get(item, "id") or _get(item, "tool_call_id") or _get(item, "call_id")
    return ToolCall(
        name=name if isinstance(name, str) else "",
        arguments=arguments,
        arguments_error=problem,
        id=str(call_id) if call_id else None,
    )


def _arguments(given: Any) -> tuple[dict[str, Any], str]:
    """The arguments as an object, or what is wrong with them."""
    if given is None or given == "":
        return {}, ""
    if isinstance(given, (str, bytes)):
        if len(given) > MAX_ARGUMENT_CHARACTERS:
            return {}, f"over {MAX_ARGUMENT_CHARACTERS} characters"
        try:
            given = json.loads(given)
        except RecursionError:
            return {}, "not JSON that can be read: nested too deeply"
        except ValueError as error:
            return {}, f"not JSON: {error}"
    if hasattr(given, "model_dump"):
        given = given.model_dump()
    if not isinstance(given, Mapping):
        return {}, f"a JSON {_json_type(given)}, not an object"
    if not all(isinstance(key, str) for key in given):
        return {}, "an object with keys that are no text"
    return dict(given), ""


def as_tools(tools: Any) -> tuple[dict[str, Any], ...]:
    """Tools in any usual shape as `{name, parameters}`; `parameters` is their JSON Schema, absent if they have none.

    Takes that form, OpenAI's `{type: "function", function: {...}}`, Anthropic's `{name, input_schema}`, LangChain
    tools, pydantic classes, and functions that LangChain can read.

    Raises:
        InputError: an item is no tool.
    """
    if tools is None:
        return ()
    if isinstance(tools, (str, bytes)) or not isinstance(tools, (Mapping, Sequence)):
        raise InputError(f"tools: got {_shown(tools)}: give a list of {{name, parameters}}")
    items = [tools] if isinstance(tools, Mapping) else tools
    return tuple(_as_tool(item, place) for place, item in enumerate(items, start=1))


def _as_tool(item: Any, place: int) -> dict[str, Any]:
    if not isinstance(item, Mapping):
        item = _from_langchain(item, place)
    body = item.get("function") if isinstance(item.get("function"), Mapping) else item
    name = body.get("name")
    if not isinstance(name, str) or not name:
        keys = ", ".join(map(str, body))
        raise InputError(f"tools[{place}].name: got {_shown(name)} (keys: {keys}); give {{name, parameters}}")
    schema = next((body[key] for key in _SCHEMA_KEYS if body.get(key) is not None), None)
    return {"name": name} if schema is None else {"name": name, "parameters": schema}


def _from_langchain(item: Any, place: int) -> Mapping[str, Any]:
    from langchain_core.utils.function_calling import convert_to_openai_tool

    try:
        tool: Mapping[str, Any] = convert_to_openai_tool(item)
    except Exception as error:  # boundary to LangChain, which raises whatever it likes for what it cannot read
        raise InputError(
            f"tools[{place}]: got {_shown(item)}: give {{name, parameters}} or a LangChain tool; reading it as one "
            f"gave {type(error).__name__}"
        ) from error
    return tool


def _as_logprobs(logprobs: Any) -> list[Any]:
    """The `{token, logprob}` of each of OpenAI's items, which are dicts or objects, alone or as `{content: [...]}`.

    Raises:
        InputError: an item has no token, or no log probability.
    """
    wanted = "give a list of {token, logprob}, such as OpenAI's choices[0].logprobs.content"
    has_content = "content" in logprobs if isinstance(logprobs, Mapping) else hasattr(logprobs, "content")
    items = (_get(logprobs, "content") or ()) if has_content else logprobs
    if isinstance(items, (str, bytes, Mapping)) or not isinstance(items, Iterable):
        raise InputError(f"logprobs: got {_shown(logprobs)}: {wanted}")
    found = [{key: _get(item, key) for key in TokenLogprob.model_fields} for item in items]
    for place, (item, token) in enumerate(zip(items, found, strict=True), start=1):
        if None in token.values():
            raise InputError(f"logprobs[{place}]: got {_shown(item)}: {wanted}")
    return found


def _as_schema(schema: Any) -> Mapping[str, Any]:
    """A JSON Schema as it is, or that of a pydantic model. `InputError`: it is neither."""
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        try:
            return schema.model_json_schema()
        except Exception as error:  # pydantic has many reasons, and user code takes part
            raise InputError(f"response_schema: {schema.__name__} has no JSON Schema: {error}") from error
    if not isinstance(schema, Mapping):
        raise InputError(
            f"response_schema: got {_shown(schema)}: give a JSON Schema, which is an object, or the class of a "
            "pydantic model"
        )
    return schema


def _get(item: Any, key: str) -> Any:
    return item.get(key) if isinstance(item, Mapping) else getattr(item, key, None)


def _shown(value: Any, limit: int = 80) -> str:
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _json_type(value: Any) -> str:
    names = {"list": "list", "str": "text", "int": "number", "float": "number", "bool": "boolean", "NoneType": "null"}
    return names.get(type(value).__name__, type(value).__name__)
