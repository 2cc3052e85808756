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


async def test_only_the_answer_is_asked_for_with_the_schema_and_not_again_where_that_is_refused(
    server: ReplayServer,
) -> None:
    settings = {"activation": "always", "structure": {"schema": SCHEMA, "constrain": "response_format"}}
    yaml = f"""
models:
  - {{type: main, engine: openai, model: gpt-4o-mini, parameters: {{base_url: "{server.base_url}", api_key: none}}}}
import_paths: [evidencerails/plugin]
rails: {{output: {{flows: [check structure, self check hallucination]}}}}
custom_data: {json.dumps({"evidencerails": settings})}
"""
    rails = LLMRails(RailsConfig.from_content(yaml_content=yaml))
    server.default('{"a": 1}')

    async def constrained() -> list[bool]:
        """Whether each request of a turn had the schema: the answer's, then those for samples and judges."""
        before = len(server.requests)
        message = await rails.generate_async(messages=[{"role": "user", "content": "Give me an a."}])
        assert message["content"] == '{"a": 1}'
        return ["response_format" in request.body for request in server.requests[before:]]

    first, *others = await constrained()
    assert first and others and not any(others)
    server.refuse("response_format")
    refused, *others = await constrained()
    assert refused and others and not any([*others, *await constrained()])


def test_constraining_without_a_schema_is_an_error_at_the_start() -> None:
    yaml = """
models: [{type: main, engine: openai, model: gpt-4o-mini, parameters: {api_key: none}}]
import_paths: [evidencerails/plugin]
custom_data: {evidencerails: {structure: {constrain: response_format}}}
"""
    with pytest.raises(RuntimeError) as caught:
        LLMRails(RailsConfig.from_content(yaml_content=yaml))
    assert "no structure.schema" in str(caught.value.__cause__ or caught.value)
