"""The input rail `check answerability`: what cannot be answered costs no generation."""

from typing import Any

import pytest
from nemo_apps import ALWAYS, CLEAN, EVIDENCE, QUESTION, WARNING, App, app_2, said_2, user

from evidencerails.testing import ReplayServer

RAILS = "rails: {input: {flows: [check answerability]}}\n"
ELSEWHERE = "How do I bake bread?"
ABSTAINED = "I can't answer that reliably from the sources I have. None of the sources says anything"


async def ask(app: Any, text: str, context: dict[str, Any] | None = None) -> Any:
    return await app.generate_async(messages=user(context or {"evidence": EVIDENCE}, text))


@pytest.mark.parametrize(
    ("question", "settings", "is_answered"),
    [
        (QUESTION, "", True),
        ("Hello there!", "", True),
        (ELSEWHERE, "custom_data: {evidencerails: {activation: shadow}}\n", True),
        (ELSEWHERE, "", False),
    ],
    ids=["answerable", "small talk", "shadow", "about something else"],
)
async def test_only_what_the_evidence_may_answer_is_generated(
    app: App, server: ReplayServer, question: str, settings: str, is_answered: bool
) -> None:
    server.default(CLEAN)
    content = (await ask(app(RAILS + settings), question))["content"]
    assert content == CLEAN if is_answered else content.startswith(ABSTAINED)
    assert bool(server.requests) is is_answered


@pytest.mark.parametrize(
    ("before", "is_answered"), [("Tell me about the Harbour Bridge.", True), ("Who was Marie Curie?", False)]
)
async def test_a_question_is_read_with_the_turn_before(
    app: App, server: ReplayServer, before: str, is_answered: bool
) -> None:
    server.default(CLEAN)
    turns = [{"role": "user", "content": before}, {"role": "assistant", "content": "Gladly."}]
    asked = {"role": "user", "content": "When was it opened?"}
    context = {"role": "context", "content": {"evidence": EVIDENCE}}
    content = (await app(RAILS).generate_async(messages=[context, *turns, asked]))["content"]
    assert (content == CLEAN) is is_answered


async def test_an_exception_where_the_app_wants_them(app: App, server: ReplayServer) -> None:
    message = await ask(app(RAILS + "enable_rails_exceptions: true\n"), ELSEWHERE)
    assert (message["role"], message["content"]["type"]) == ("exception", "AnswerabilityRailException")
    assert message["content"]["message"].startswith(ABSTAINED)


@pytest.mark.parametrize(("then", "is_answered"), [("warn", True), ("block", False)])
async def test_evidence_that_cannot_be_read(app: App, server: ReplayServer, then: str, is_answered: bool) -> None:
    server.default(CLEAN)
    unverified = RAILS + f"custom_data: {{evidencerails: {{on_unverified: {then}}}}}\n"
    content = (await ask(app(unverified), QUESTION, {"evidence": [5]}))["content"]
    assert (content == CLEAN) is is_answered


async def test_the_flag_turns_it_off_for_one_turn(app: App, server: ReplayServer) -> None:
    server.default(CLEAN)
    history = user({"evidence": EVIDENCE, "check_answerability": False}, ELSEWHERE)
    history.append(await app(RAILS).generate_async(messages=history))
    assert history[-1]["content"] == CLEAN
    history.append({"role": "user", "content": ELSEWHERE})
    assert (await app(RAILS).generate_async(messages=history))["content"].startswith(ABSTAINED)


async def test_colang_2_one_turn_off_and_the_abstention_is_not_checked(server: ReplayServer) -> None:
    rails = app_2(server, ALWAYS, input="check answerability", output="check grounding")
    server.default(CLEAN)
    context = {"evidence": EVIDENCE, "check_answerability": False}
    said, reports = await said_2(rails, context, (ELSEWHERE, ELSEWHERE, QUESTION))
    assert (said[0], said[2]) == (CLEAN, CLEAN) and said[1].startswith(ABSTAINED) and WARNING not in said[1]
    assert (reports, len(server.requests)) == (["grounded"] * 2, 2)
