"""The schema sent to the model that writes the response: request fields by provider, and the wrapper inside NeMo."""

import json
from typing import Any

import pytest
from nemoguardrails import LLMRails, RailsConfig

from evidencerails.adapters.constrained import is_strict, provider_parameters
from evidencerails.errors import SettingsError
from evidencerails.testing import ReplayServer

SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {"a": {"type": "integer"}},
    "required": ["a"],
    "additionalProperties": False,
}
PLAIN = {key: value for key, value in SCHEMA.items() if key != "$schema"}


AS_SENT = {"name": "response", "strict": True, "schema": PLAIN}


@pytest.mark.parametrize(
    ("provider", "fields"),
    [
        ("response_format", {"response_format": {"type": "json_schema", "json_schema": AS_SENT}}),
        ("structured_outputs", {"structured_outputs": {"json": PLAIN}}),
        ("guided_json", {"guided_json": PLAIN}),
        ("nvext", {"nvext": {"guided_json": PLAIN}}),
        ("ollama", {"format": PLAIN}),
    ],
)
def test_the_fields_of_each_provider(provider: Any, fields: dict[str, Any]) -> None:
    assert provider_parameters(SCHEMA, provider) == fields


def test_an_unknown_provider_is_an_error() -> None:
    with pytest.raises(SettingsError, match="available: response_format"):
        provider_parameters(SCHEMA, "magic")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        (PLAIN, True),
        ({**PLAIN, "additionalProperties": True}, False),
        ({**PLAIN, "required": []}, False),
        ({**PLAIN, "properties": {"a": {"type": "object", "properties": {"b": {}}}}}, False),
        ({"type": "array", "items": PLAIN}, True),
        ({"enum": [{"type": "object"}]}, True),
    ],
)
def test_strict_mode_is_asked_for_only_where_the_schema_allows_it(schema: dict[str, Any], strict: bool) -> None:
    assert is_strict(schema) is strict


def app(server: ReplayServer, flows: str = "check structure") -> LLMRails:
    settings = {"activation": "always", "structure": {"schema": SCHEMA, "constrain": "response_format"}}
    yaml = f"""
models:
  - {{type: main, engine: openai, model: gpt-4o-mini, parameters: {{base_url: "{server.base_url}", api_key: none}}}}
import_paths: [evidencerails/plugin]
rails: {{output: {{flows: [{flows}]}}}}
custom_data: {json.dumps({"evidencerails": settings})}
"""
    return LLMRails(RailsConfig.from_content(yaml_content=yaml))


async def test_a_provider_that_refuses_the_parameter_is_asked_without_it(server: ReplayServer) -> None:
    server.refuse("response_format")
    server.default('{"a": 1}')
    rails = app(server)
    for _ in range(2):
        message = await rails.generate_async(messages=[{"role": "user", "content": "Give me an a."}])
        assert message["content"] == '{"a": 1}'
    sent = ["response_format" in request.body for request in server.requests]
    assert sent == [True, False, False]


async def test_samples_and_judges_are_asked_without_the_schema(server: ReplayServer) -> None:
    server.default('{"a": 1}')
    rails = app(server, "check structure, self check hallucination")
    await rails.generate_async(messages=[{"role": "user", "content": "An a."}])
    sent = ["response_format" in request.body for request in server.requests]
    assert sent[0] is True and len(sent) > 1 and not any(sent[1:])


def test_constraining_without_a_schema_is_an_error_at_the_start() -> None:
    yaml = """
models: [{type: main, engine: openai, model: gpt-4o-mini, parameters: {api_key: none}}]
import_paths: [evidencerails/plugin]
custom_data: {evidencerails: {structure: {constrain: response_format}}}
"""
    with pytest.raises(RuntimeError) as caught:
        LLMRails(RailsConfig.from_content(yaml_content=yaml))
    assert "no structure.schema" in str(caught.value.__cause__ or caught.value)
