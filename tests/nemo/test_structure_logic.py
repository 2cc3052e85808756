"""The flows `check structure` and `check logic`: streams, the schema of a turn, the judge of a chain."""

import json
import logging
from typing import Any

import pytest
from nemo_apps import ALWAYS, BLOCKED, STREAMED, App, is_blocked, new_app, script, streamed, user

from evidencerails.testing import ReplayServer

FITS = '{"city": "Porto Lindo", "bridges": 3}'
BREAKS = '{"city": "Porto Lindo", "bridges": "three"}'
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "bridges": {"type": "integer", "minimum": 0}},
    "required": ["city", "bridges"],
    "additionalProperties": False,
}
CHECKED = f"custom_data: {{evidencerails: {{activation: always, structure: {{schema: {json.dumps(SCHEMA)}}}}}}}\n"
BLOCK_LOGIC = (
    "custom_data: {evidencerails: {activation: always, policies: [{when: {kind: logic_error}, then: block}]}}\n"
)
STREAM = "rails: {output: {flows: [FLOW], " + STREAMED + "}}\n"


async def _said(rails: Any, context: dict[str, Any] | None = None) -> str:
    message = await rails.generate_async(messages=user(context))
    return json.dumps(message["content"]) if message["role"] == "exception" else str(message["content"])


# ---- structure


@pytest.mark.parametrize("schema", [SCHEMA, json.dumps(SCHEMA)])
async def test_the_schema_of_one_turn_comes_in_a_context_variable(app: App, server: ReplayServer, schema: Any) -> None:
    rails = app(ALWAYS, flows="check structure")
    for answer, seen in ((BREAKS, BLOCKED), (FITS, FITS)):
        script(server, answer)
        assert await _said(rails, {"response_schema": schema}) == seen
    assert await _said(rails) == FITS  # no schema, and none was promised: nothing is appended
    by_flag = app(flows="check structure")
    assert "could not be verified" in await _said(
        by_flag, {"check_structure": True}
    )  # no silent pass of what was asked


async def test_a_schema_variable_of_another_shape_leaves_the_answer_unverified(app: App, server: ReplayServer) -> None:
    server.default(FITS)
    rails = app(ALWAYS, flows="check structure")
    for schema in ("no json", "[1]", 7):
        assert "could not be verified" in await _said(rails, {"response_schema": schema})


def test_a_rail_without_schema_is_named_in_the_log(server: ReplayServer, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "evidencerails"):
        new_app(server, flows="check structure")
    assert any("check structure has no schema" in record.getMessage() for record in caplog.records)


async def test_a_stream_is_judged_at_its_end_and_whole(app: App, server: ReplayServer) -> None:
    """Nothing can be said of the first half of a JSON text, so its user has read all but the last chunk by then."""
    rails = app(STREAM.replace("FLOW", "check structure") + CHECKED)
    rows = ", ".join(f'"bridge number {n} of the town"' for n in range(30))
    for last, is_cut in (("7", False), ('"seven"', True)):
        script(server, f'{{"city": "Porto Lindo", "bridges": {last}}}')
        assert is_blocked(await streamed(rails.stream_async(messages=user()))) is is_cut
    script(server, f'{{"city": [{rows}], "bridges": 7}}')
    text = await streamed(rails.stream_async(messages=user()))
    assert "bridge number 5 of the town" in text and is_blocked(text)


# ---- logic


async def test_orderings_across_the_sentences_of_a_stream_are_found_at_its_end(app: App, server: ReplayServer) -> None:
    rails = app(STREAM.replace("FLOW", "check logic") + BLOCK_LOGIC)
    text = "The Nile is longer than the Amazon. The Amazon is longer than the Rhine. {} is longer than {}."
    for names, is_cut in ((("The Rhine", "the Nile"), True), (("The Nile", "the Rhine"), False)):
        script(server, text.format(*names))
        assert is_blocked(await streamed(rails.stream_async(messages=user()))) is is_cut


JUDGE = """
custom_data: {evidencerails: {activation: always, logic: {audit: judge}, llm: {cache: {backend: "off"}},
  policies: [{when: {violation: invalid_step}, then: block}]}}
"""
CHAIN = "Every member may vote. Ann is a member. Therefore Ann is the chair."


@pytest.mark.parametrize(("valid", "seen"), [("no", BLOCKED), ("yes", CHAIN)])
async def test_the_app_s_own_model_audits_where_the_settings_say_so(
    app: App, server: ReplayServer, valid: str, seen: str
) -> None:
    reply = {"steps": [{"step": 3, "reason": "Membership does not make a chair.", "valid": valid}]}
    server.reply(json.dumps(reply), when="You audit a chain of reasoning")
    server.default(CHAIN)
    assert seen in await _said(app(JUDGE, flows="check logic"))
