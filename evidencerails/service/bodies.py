"""What requests hold, with the examples that OpenAPI shows, and how they become exchanges.

The JSON of a caller is valid UTF-8, not too deep, and holds nothing that only Python would accept.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any, NoReturn, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    field_validator,
)
from pydantic_core import PydanticCustomError

from evidencerails.errors import InputError
from evidencerails.exchange import (
    NO_RESPONSE,
    Exchange,
    Labels,
    Role,
    Stakes,
    as_messages,
    as_passages,
    as_tool_calls,
    as_tools,
)
from evidencerails.service.problems import Problem, first_problem

EXAMPLE: dict[str, Any] = {
    "response": "Refunds take 30 days.",
    "evidence": [{"id": "policy-7", "text": "Refunds are paid within 5 business days.", "source": "policy.md"}],
    "prompt": "How long does a refund take?",
}
BATCH_EXAMPLE: dict[str, Any] = {
    "items": [
        {"id": "a", "response": "Refunds take 30 days.", "evidence": "Refunds are paid within 5 business days."},
        {"id": "b", "response": "Returns are free.", "evidence": "Returns are free within 30 days."},
    ]
}
_MESSAGE = f"a message with `role` ({', '.join(get_args(Role))}) and `content`"
_ITEMS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "evidence": (as_passages, "text, or an object with `text`"),
    "prompt": (as_messages, f"text, or {_MESSAGE}"),
    "tool_calls": (as_tool_calls, "an object with `name` and `arguments`, or a call as OpenAI or LangChain write it"),
    "tools": (as_tools, "an object with `name` and `parameters`"),
    "logprobs": (
        lambda item: Exchange.of("", logprobs=[item]),
        "an object with `token`, a text, and `logprob`, a number up to 0",
    ),
}
"""How an item of a field is read, and what it must be."""
_WHOLE = {
    "evidence": "expected text, an object with `text`, or a list of these",
    "prompt": f"expected text, or a list of which each item is text or {_MESSAGE}",
}


class CheckBody(BaseModel):
    """The arguments of `Guard.check`."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [EXAMPLE]})

    response: str | None = Field(
        default=None, description="The answer to check; may be missing where there are `tool_calls`."
    )
    evidence: str | dict[str, Any] | list[str | dict[str, Any]] | None = Field(
        default=None,
        description="What the answer must agree with: text, or passages with `text` and optional `id`, `source`.",
    )
    prompt: str | list[str | dict[str, Any]] | None = Field(
        default=None, description="What was asked: text, or messages with `role` and `content`."
    )
    samples: list[str] | None = Field(default=None, description="Other answers of the same model to the same prompt.")
    tool_calls: list[dict[str, Any]] | None = Field(default=None, description="Calls the model wants to make.")
    tools: list[dict[str, Any]] | None = Field(default=None, description="Tools the model was offered.")
    schema_: dict[str, Any] | None = Field(
        default=None, alias="schema", description="JSON Schema that the answer must satisfy."
    )
    logprobs: list[dict[str, Any]] | None = Field(
        default=None, description="`token` and `logprob` of each token of the answer."
    )

    stakes: Stakes | None = Field(default=None, description="What depends on the answer: low, medium or high.")
    labels: Labels = Field(default=Labels(), description="Who asked; for history and monitoring.")

    @field_validator(*_WHOLE, mode="wrap")
    @classmethod
    def _in_words(cls, value: Any, read: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
        """One sentence in place of a line for each kind of value that a field takes."""
        try:
            return read(value)
        except ValidationError:
            raise PydanticCustomError("shape", _WHOLE[str(info.field_name)]) from None

    def exchange(self, max_items: int) -> Exchange:
        """The exchange to check; 422 if a part has a shape that cannot be read or too many items."""
        for name in ("evidence", "prompt", "samples", "tool_calls", "tools"):
            value = getattr(self, name)
            if isinstance(value, list) and len(value) > max_items:
                raise Problem(422, "too_many_items", f"{name} has {len(value)} items; at most {max_items}")
        if self.response is None and self.tool_calls is None:
            raise Problem(422, "invalid", NO_RESPONSE)
        try:
            given = {name: getattr(self, name) for name in ("evidence", "prompt", "samples", "stakes", "labels")}
            lists = {name: getattr(self, name) or () for name in ("tool_calls", "tools", "logprobs")}
            return Exchange.of(self.response or "", response_schema=self.schema_, **given, **lists)
        except InputError:  # without its words, which may quote the request
            raise Problem(422, "unreadable", self._first_unreadable()) from None

    def _first_unreadable(self) -> str:
        """Place of the first item that cannot be read, and what was expected there."""
        for name, (read, expected) in _ITEMS.items():
            if (value := getattr(self, name)) is None:
                continue
            items = (
                {f"{name}[{n}]": item for n, item in enumerate(value, 1)} if isinstance(value, list) else {name: value}
            )
            for place, item in items.items():
                try:
                    read(item)
                except InputError:
                    return f"{place}: expected {expected}"
        return "the request has a shape that cannot be read; see /openapi.json"


class BatchItem(CheckBody):
    """One item of a batch."""

    id: str | int | None = Field(default=None, description="Copied into the result; its place from 1 if missing.")

    @classmethod
    def of(cls, item: Any) -> BatchItem:
        """The item of a request; 422 names the field that cannot be read, without its value."""
        try:
            return cls.model_validate(item)
        except ValidationError as error:
            message = first_problem(error.errors()).replace("the body:", "the item:", 1)
            raise Problem(422, "invalid", message) from None


class BatchBody(BaseModel):
    """Several checks in one request; each item is read on its own, so that a bad one costs the others nothing."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [BATCH_EXAMPLE]})

    items: list[Annotated[BatchItem, WrapValidator(lambda item, _: item)]] = Field(min_length=1)
    """As they were sent: OpenAPI shows what an item is, and `BatchItem.of` reads it."""


MAX_DEPTH = 64
"""Deepest nesting of a request's JSON."""


def parsed(body: bytes) -> Any:
    """The value of a JSON body, or a `Problem` with status 400. The `items` of a batch may hold half characters: each
    is refused by itself."""
    try:
        text = body.decode("utf-8")
        value = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_without_duplicates)
        if _is_deeper(value, MAX_DEPTH):
            raise RecursionError
        if "\\u" in text:
            refuse_half_characters({**value, "items": None} if isinstance(value, dict) else value)
    except UnicodeDecodeError as error:
        raise Problem(400, "not_utf8", f"the body is not UTF-8 (byte {error.start})") from None
    except json.JSONDecodeError as error:
        raise Problem(400, "not_json", f"the body is not JSON: {error.msg} at character {error.pos}") from None
    except RecursionError:
        raise Problem(400, "too_deep", f"the body is nested more than {MAX_DEPTH} levels deep") from None
    except ValueError as error:  # a number with thousands of digits
        raise Problem(400, "not_json", f"the body holds a number that cannot be read: {error}") from None
    return value


def refuse_half_characters(value: Any) -> None:
    """Refuse a value with a text or key that holds half a character, as is left of an emoji that was cut in two."""
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        half = f"\\u{ord(error.object[error.start]):04x}"
        raise Problem(400, "not_utf8", f"a text holds half a character ({half} without its other half)") from None


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; with a key given twice, what stands before this service may have read the other value."""
    if len(found := dict(pairs)) != len(pairs):
        raise Problem(400, "not_json", "an object of the body has a key twice")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise Problem(400, "not_json", f"the body holds {name}, which JSON does not have")


def _is_deeper(value: Any, levels: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels < 0 or any(_is_deeper(item, levels - 1) for item in inner if isinstance(item, (dict, list)))
