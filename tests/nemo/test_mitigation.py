"""Repair, abstention, stakes and marks in real turns of NeMo: the conversation gets the corrected text."""

import json
from typing import Any

import pytest
from nemo_apps import BLOCKED, CLEAN, EVIDENCE, PLANTED, App, app_2, checked, is_sampling, streamed, user

import evidencerails
from evidencerails.testing import ReplayRequest, ReplayServer

REGENERATE = """
rails: {{output: {{parallel: {parallel}, flows: [{flows}]}}}}
custom_data:
  evidencerails:
    activation: always
    {more}
    policies: [{{when: {{kind: [unsupported_claim, inconsistent_samples]}}, then: {then}}}]
"""


def settings(
    then: str, *, flows: str = "check grounding", more: str = "expose: {evidence: false}", parallel: str = "false"
) -> str:
    return REGENERATE.format(then=then, flows=flows, more=more, parallel=parallel)


def is_rewriting(request: ReplayRequest) -> bool:
    return "You correct single sentences" in request.prompt_text


def script(server: ReplayServer, answer: str, *corrections: str) -> None:
    """Let the model answer so, and correct the flagged sentence so."""
    server.reset()
    for text in corrections:
        reply = json.dumps({"sentences": [{"number": 1, "text": text}]})
        server.reply(reply, when=is_rewriting, times=1)
    server.reply(CLEAN, when=is_sampling)
    server.default(answer)


async def answer_of(app: Any, context: dict[str, Any] | None = None) -> Any:
    return await app.generate_async(messages=user({"evidence": EVIDENCE, **(context or {})}))


async def test_the_conversation_gets_the_corrected_text(app: App, server: ReplayServer) -> None:
    script(server, f"{PLANTED} It is 480 metres long.", CLEAN)
    text, report = await checked(app(settings("regenerate")), {"evidence": EVIDENCE})
    assert text == f"{CLEAN} It is 480 metres long."
    assert report["decision"] == "regenerate"
    assert report["repair"]["status"] == "repaired"
    assert f"-{PLANTED}\n+{CLEAN}" in report["repair"]["diff"]


async def test_the_next_turn_sees_the_corrected_text(app: App, server: ReplayServer) -> None:
    script(server, PLANTED, CLEAN)
    rails = app(settings("regenerate"))
    first = await answer_of(rails)
    messages = [*user({"evidence": EVIDENCE}), first, {"role": "user", "content": "And how long is it?"}]
    script(server, "It is 480 metres long.")
    await rails.generate_async(messages=messages)
    assert PLANTED not in server.requests[0].prompt_text and CLEAN in server.requests[0].prompt_text


async def test_a_later_rail_checks_the_repaired_text(app: App, server: ReplayServer) -> None:
    script(server, PLANTED, CLEAN)
    rails = app(settings("regenerate", flows="check grounding, check claims"))
    assert (await answer_of(rails))["content"] == CLEAN
    assert sum(map(is_rewriting, server.requests)) == 1, "the second rail found nothing to repair"


async def test_two_parallel_repairs_do_not_fit_together(app: App, server: ReplayServer) -> None:
    script(server, PLANTED, CLEAN, CLEAN)
    rails = app(settings("regenerate", flows="check grounding, check claims", parallel="true"))
    assert (await answer_of(rails))["content"] == BLOCKED


async def test_streaming_carries_the_repair_through_evidencerails_stream(app: App, server: ReplayServer) -> None:
    script(server, PLANTED, CLEAN)
    rails = app(settings("regenerate"))
    assert await streamed(evidencerails.stream(rails, messages=user({"evidence": EVIDENCE}))) == CLEAN


async def test_abstaining_says_why_and_holds_no_word_of_the_answer(app: App, server: ReplayServer) -> None:
    script(server, PLANTED)
    content = (await answer_of(app(settings("abstain"))))["content"]
    assert content.startswith("I can't answer that reliably from the sources I have.")
    assert "What would help: " in content
    assert "1999" not in content


async def test_the_app_may_word_its_abstention(app: App, server: ReplayServer) -> None:
    script(server, PLANTED)
    colang = 'define bot inform answer abstained\n  "Da muss ich passen."\n'
    content = (await answer_of(app(settings("abstain"), colang)))["content"]
    assert content.startswith("Da muss ich passen. ")


async def test_a_template_in_an_answer_is_never_rendered(app: App, server: ReplayServer) -> None:
    rest = "Is {{ 7 * 7 }} what you meant?"
    script(server, f"{PLANTED} {rest}", CLEAN)
    assert (await answer_of(app(settings("regenerate"))))["content"] == f"{CLEAN} {rest}"


@pytest.mark.parametrize(("stakes", "level"), [(None, "medium"), ("low", "low"), ("nonsense", "high")])
async def test_stakes_of_a_flow_move_the_severity(
    app: App, server: ReplayServer, stakes: str | None, level: str
) -> None:
    """The claim is absent: medium by itself, low or high by the stakes."""
    script(server, "The bridge was painted green by volunteers from Sweden.", "")
    rails = app("custom_data: {evidencerails: {activation: always, severity: {protocol: {}}}}\n")
    _, report = await checked(rails, {"evidence": EVIDENCE, **({"stakes": stakes} if stakes else {})})
    assert report["decided_by"].startswith(f"severity.protocol.{level}")


async def test_marks_in_the_form_of_the_settings(app: App, server: ReplayServer) -> None:
    script(server, PLANTED)
    content = (await answer_of(app(settings("annotate", more="annotation: {format: html}"))))["content"]
    assert f'<mark title="unsupported claim (contradicted, temporal)">{PLANTED}</mark><sup>[1]</sup>' in content


@pytest.mark.slow
@pytest.mark.parametrize(("then", "expected"), [("regenerate", CLEAN), ("abstain", "I can't answer that reliably")])
async def test_colang_2_gets_repair_and_abstention(server: ReplayServer, then: str, expected: str) -> None:
    policy = f"policies: [{{when: {{kind: unsupported_claim}}, then: {then}}}]"
    more = f"custom_data: {{evidencerails: {{activation: always, {policy}}}}}\n"
    rails = app_2(server, more, output="check grounding")
    script(server, PLANTED, CLEAN)
    message = await rails.generate_async(messages=user({"evidence": EVIDENCE}))
    assert message["content"].startswith(expected)
