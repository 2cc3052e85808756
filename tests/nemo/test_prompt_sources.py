"""The prompt that samples are drawn with: each place it may come from, and a config of NeMo's own made better."""

import textwrap
from typing import Any

import pytest
from nemo_apps import ALWAYS, BLOCKED, CLEAN, MODEL, PLANTED, QUESTION, App, is_sampling, make_app, script, shown, user

from evidencerails.adapters.nemo import run_rail
from evidencerails.testing import ReplayServer

RAIL = "rails: {output: {flows: [self check hallucination]}}\n"
FIRST = "Tell me about bridges."
HISTORY = [
    {"type": "UtteranceUserActionFinished", "final_transcript": FIRST},
    {"type": "UserMessage", "text": FIRST},
    {"type": "StartUtteranceBotAction", "script": "There are many."},
    {"type": "UtteranceBotActionFinished", "final_script": "There are many."},
    {"type": "UtteranceUserActionFinished", "final_transcript": QUESTION},
]


def _sampled(server: ReplayServer) -> list[str]:
    """The prompts of the requests for samples, as one text each."""
    return [request.prompt_text for request in server.requests if is_sampling(request)]


async def test_the_logged_call(app: App, server: ReplayServer) -> None:
    """What NeMo sent, with the instructions that it adds: no caller knows those."""
    script(server, PLANTED)
    rails = app(ALWAYS + RAIL + "instructions: [{type: general, content: You answer in one sentence.}]\n")
    await rails.generate_async(messages=user())
    (prompt,) = _sampled(server)
    assert "You answer in one sentence." in prompt and QUESTION in prompt


async def test_the_messages_of_the_request(app: App, server: ReplayServer) -> None:
    """A ready answer: no call of a model is logged."""
    script(server, PLANTED)
    messages = [
        {"role": "user", "content": FIRST},
        {"role": "assistant", "content": "There are many."},
        {"role": "user", "content": QUESTION},
        {"role": "assistant", "content": PLANTED},
    ]
    await app(ALWAYS + RAIL).generate_async(messages=messages, options={"rails": ["output"]})
    assert _sampled(server) == [f"{FIRST}\nThere are many.\n{QUESTION}"]


@pytest.mark.parametrize(
    ("context", "events", "expected"),
    [
        ({"_last_bot_prompt": "Answer the question: when?"}, [*HISTORY, {"type": "BotMessage", "uid": "1"}],
         "Answer the question: when?"),
        ({}, [*HISTORY, {"type": "BotMessage", "uid": "2"}], f"{FIRST}\nThere are many.\n{QUESTION}"),
        ({"_last_bot_prompt": 5, "user_message": QUESTION}, [], QUESTION),
    ],
    ids=["_last_bot_prompt", "event history", "user message, beside a prompt that is none"],
)  # fmt: skip
async def test_what_a_turn_without_a_request_offers(
    app: App, server: ReplayServer, context: dict[str, Any], events: list[Any], expected: str
) -> None:
    script(server, PLANTED)
    rails = app(ALWAYS + RAIL)
    given = {"context": {"bot_message": PLANTED, **context}, "events": events, "llm": rails.llm}
    result = await run_rail(
        "self check hallucination", flag=None, llm_task_manager=rails.runtime.llm_task_manager, **given
    )
    assert result.return_value.status == "hallucinated"
    assert _sampled(server) == [expected]


UPSTREAM = """
rails:
  output:
    flows: [self check hallucination]
prompts:
  - task: self_check_hallucination
    content: |-
      You are given a task to identify if the hypothesis is in agreement with the context below.
      You will only use the contents of the context and not rely on external knowledge.
      Answer with yes/no. "context": {{ paragraph }} "hypothesis": {{ statement }} "agreement":
"""


@pytest.mark.parametrize("is_imported", [False, True])
async def test_a_config_for_nemos_own_rail_gets_better_by_the_import_alone(
    server: ReplayServer, is_imported: bool
) -> None:
    model = MODEL.format(base_url=server.base_url, more_models="")
    rails = make_app((model if is_imported else model.replace("import_paths:", "# ")) + textwrap.dedent(UPSTREAM))
    seen = await shown(rails, server, PLANTED, CLEAN, context={"check_hallucination": True})
    assert seen == [BLOCKED if is_imported else PLANTED, CLEAN]
    assert bool(_sampled(server)) is is_imported
