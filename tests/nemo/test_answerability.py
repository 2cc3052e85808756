"""The input rail `check answerability`: what cannot be answered costs no generation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from nemo_apps import CLEAN, EVIDENCE, QUESTION, app_yaml_2, colang_2, make_app, user

from evidencerails.testing import ReplayServer

RAILS = "rails: {input: {flows: [check answerability]}}\n"
ELSEWHERE = "How do I bake bread?"


async def ask(app: Any, text: str, context: dict[str, Any] | None = None) -> Any:
    return await app.generate_async(messages=user(context or {"evidence": EVIDENCE}, text))


async def test_an_answerable_question_is_answered(app: Callable[..., Any], server: ReplayServer) -> None:
    server.default(CLEAN)
    assert (await ask(app(RAILS), QUESTION))["content"] == CLEAN


async def test_another_is_not_even_generated(app: Callable[..., Any], server: ReplayServer) -> None:
    server.default(CLEAN)
    content = (await ask(app(RAILS), ELSEWHERE))["content"]
    assert content.startswith("I can't answer that reliably from the sources I have. None of the sources says anything")
    assert server.requests == []


@pytest.mark.parametrize(
    ("before", "is_answered"), [("Tell me about the Harbour Bridge.", True), ("Who was Marie Curie?", False)]
)
async def test_a_question_is_read_with_the_turn_before(
    app: Callable[..., Any], server: ReplayServer, before: str, is_answered: bool
) -> None:
    server.default(CLEAN)
    turns = [{"role": "user", "content": before}, {"role": "assistant", "content": "Gladly."}]
    asked = {"role": "user", "content": "When was it opened?"}
    context = {"role": "context", "content": {"evidence": EVIDENCE}}
    content = (await app(RAILS).generate_async(messages=[context, *turns, asked]))["content"]
    assert (content == CLEAN) is is_answered


async def test_small_talk_is_answered(app: Callable[..., Any], server: ReplayServer) -> None:
    server.default("Hello! How can I help?")
    assert (await ask(app(RAILS), "Hello there!"))["content"] == "Hello! How can I help?"


async def test_the_flag_turns_it_off(app: Callable[..., Any], server: ReplayServer) -> None:
    server.default("Flour, water, salt and yeast.")
    content = (await ask(app(RAILS), ELSEWHERE, {"evidence": EVIDENCE, "check_answerability": False}))["content"]
    assert content == "Flour, water, salt and yeast."


async def test_shadow_only_records(app: Callable[..., Any], server: ReplayServer) -> None:
    server.default("Flour, water, salt and yeast.")
    shadow = RAILS + "custom_data: {evidencerails: {activation: shadow}}\n"
    assert (await ask(app(shadow), ELSEWHERE))["content"] == "Flour, water, salt and yeast."


async def test_an_exception_where_the_app_wants_them(app: Callable[..., Any], server: ReplayServer) -> None:
    server.default(CLEAN)
    message = await ask(app(RAILS + "enable_rails_exceptions: true\n"), ELSEWHERE)
    assert message["role"] == "exception"
    assert message["content"]["type"] == "AnswerabilityRailException"
    assert "None of the sources" in message["content"]["message"]


@pytest.mark.parametrize(("then", "is_answered"), [("warn", True), ("block", False)])
async def test_evidence_that_cannot_be_read(
    app: Callable[..., Any], server: ReplayServer, then: str, is_answered: bool
) -> None:
    server.default(CLEAN)
    unverified = RAILS + f"custom_data: {{evidencerails: {{on_unverified: {then}}}}}\n"
    content = (await ask(app(unverified), QUESTION, {"evidence": [5]}))["content"]
    assert (content == CLEAN) is is_answered


async def test_colang_2(server: ReplayServer) -> None:
    rails = make_app(app_yaml_2(server.base_url), colang_2(input="check answerability"))
    server.default(CLEAN)
    assert (await ask(rails, QUESTION))["content"] == CLEAN
    server.reset()
    server.default(CLEAN)
    content = (await ask(rails, ELSEWHERE))["content"]
    assert content.startswith("I can't answer that reliably")
    assert server.requests == []
