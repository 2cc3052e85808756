"""Constrained decoding: the schema of a response goes to the model that writes it.

Where a provider masks tokens by a schema, the form is right by construction; the check after it then costs nothing and
finds what the provider let through (a cut-off answer, a keyword it ignores).
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from evidencerails.errors import SettingsError
from evidencerails.llm.failures import refused_parameter
from evidencerails.llm.wrapped import WrappedModel, main_model
from evidencerails.settings.structure import StructureSettings

if TYPE_CHECKING:
    from nemoguardrails.types import ChatMessage, LLMResponse, LLMResponseChunk

log = logging.getLogger("evidencerails")

Provider = Literal["response_format", "structured_outputs", "guided_json", "nvext", "ollama"]
ANSWER_TASKS = frozenset({"general", "generate_bot_message", None})
"""NeMo's tasks whose completion is the answer itself; passthrough calls have none."""


def provider_parameters(schema: Mapping[str, Any], provider: Provider = "response_format") -> dict[str, Any]:
    """The request fields that make a provider keep to a JSON Schema.

    `response_format`: OpenAI, Azure, vLLM, current NIM and most servers that speak OpenAI's API; `structured_outputs`:
    vLLM from 0.12; `guided_json`: vLLM before; `nvext`: older NIM; `ollama`: Ollama's own API. With the OpenAI client
    the last four go into `extra_body`.

    Raises:
        SettingsError: the provider is unknown.
    """
    plain = {key: value for key, value in schema.items() if key != "$schema"}
    if provider == "response_format":
        named = {"name": "response", "strict": is_strict(plain), "schema": plain}
        return {"response_format": {"type": "json_schema", "json_schema": named}}
    fields: dict[str, dict[str, Any]] = {
        "structured_outputs": {"structured_outputs": {"json": plain}},
        "guided_json": {"guided_json": plain},
        "nvext": {"nvext": {"guided_json": plain}},
        "ollama": {"format": plain},
    }
    if provider not in fields:
        raise SettingsError(f"unknown provider parameter {provider!r}; available: response_format, {', '.join(fields)}")
    return fields[provider]


def is_strict(schema: Any) -> bool:
    """True if every object lists all its properties as required and allows no others, as OpenAI's strict mode asks."""
    if isinstance(schema, list):
        return all(map(is_strict, schema))
    if not isinstance(schema, Mapping):
        return True
    if schema.get("type") == "object" or "properties" in schema:
        properties = schema.get("properties") or {}
        is_closed = schema.get("additionalProperties") is False
        if not is_closed or set(schema.get("required") or ()) != set(properties):
            return False
    return all(is_strict(child) for key, child in schema.items() if key not in ("enum", "const", "default", "examples"))


def install(app: Any, settings: StructureSettings) -> None:
    """Wrap the main model of an `LLMRails`, if it has one, from `init(app)`. `SettingsError`: the settings have no
    schema, or one that cannot be used."""
    from evidencerails.checks.structure.schema import SchemaProblem
    from evidencerails.checks.structure.violations import load_rules

    rules = load_rules(settings)
    try:
        schema = rules.root_schema if rules else {}
    except SchemaProblem as problem:
        raise SettingsError(f"structure: {problem}") from None
    if not schema:
        raise SettingsError(
            "structure.constrain is set, but there is no structure.schema, schema_file or model to send"
        )
    model = main_model(app)
    if model is not None and not isinstance(model, ConstrainedModel):
        app.llm = ConstrainedModel(model, provider_parameters(schema, settings.constrain))  # type: ignore[arg-type]


class ConstrainedModel(WrappedModel):
    """An `LLMModel` that adds the schema to the calls that write an answer; everything else passes.

    A provider that refuses the parameter is asked again without it, and from then on never with it; the log says so.
    """

    def __init__(self, model: Any, parameters: Mapping[str, Any]) -> None:
        super().__init__(model)
        self._parameters = dict(parameters)

    async def generate_async(
        self, prompt: str | list[ChatMessage], *, stop: list[str] | None = None, **kwargs: Any
    ) -> LLMResponse:
        """The inner model's response, written under the schema if it is the answer."""
        added = self._added(kwargs)
        try:
            return await self.wrapped_model.generate_async(prompt, stop=stop, **{**kwargs, **added})
        except Exception as error:  # boundary to the provider; raised again unless it refuses the schema
            if not added or refused_parameter(error, tuple(added)) is None:
                raise
            self._give_up(error)
            return await self.wrapped_model.generate_async(prompt, stop=stop, **kwargs)

    async def stream_async(
        self, prompt: str | list[ChatMessage], *, stop: list[str] | None = None, **kwargs: Any
    ) -> AsyncIterator[LLMResponseChunk]:
        """The inner model's chunks, written under the schema if they are the answer."""
        added, has_begun = self._added(kwargs), False
        try:
            async for chunk in self.wrapped_model.stream_async(prompt, stop=stop, **{**kwargs, **added}):
                has_begun = True
                yield chunk
        except Exception as error:  # boundary to the provider; raised again unless it refuses the schema
            if has_begun or not added or refused_parameter(error, tuple(added)) is None:
                raise
            self._give_up(error)
            async for chunk in self.wrapped_model.stream_async(prompt, stop=stop, **kwargs):
                yield chunk

    def _added(self, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        from nemoguardrails.context import llm_call_info_var

        info = llm_call_info_var.get()
        is_answer = info is None or info.task in ANSWER_TASKS
        return {name: value for name, value in self._parameters.items() if name not in kwargs} if is_answer else {}

    def _give_up(self, error: Exception) -> None:
        log.warning(
            "evidencerails: model %s refuses %s (%s): answers are written without the schema from now on",
            self.model_name,
            ", ".join(self._parameters),
            type(error).__name__,
        )
        self._parameters = {}
