"""What requests hold, with the examples that OpenAPI shows, and how they become exchanges."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, WrapValidator

from evidencerails.errors import InputError
from evidencerails.exchange import NO_RESPONSE, Exchange, Labels, Stakes
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
        except InputError as error:
            raise Problem(422, "unreadable", str(error)) from None


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
