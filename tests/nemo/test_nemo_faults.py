"""What fails behind a rail besides the table of test_nemo_bad_input: no model, and a turn that cannot be read."""

from typing import Any

import pytest
from nemo_apps import ALWAYS, EVIDENCE, PLANTED, App, checked, make_app, script, user

from evidencerails.adapters.nemo import run_rail
from evidencerails.testing import ReplayServer

CONSISTENCY = """
custom_data: {evidencerails: {activation: always}}
rails: {output: {flows: [self check hallucination]}}
"""


async def test_app_without_a_model_is_unverified() -> None:
    rails = make_app(f"import_paths: [evidencerails/plugin]\n{CONSISTENCY}")
    ready = [*user(), {"role": "assistant", "content": PLANTED}]
    text, report = await checked(rails, messages=ready, rails=["output"])
    assert report["status"] == "unverified" and "no_model" in report["reason"]
    assert text.startswith(PLANTED) and "could not be verified" in text


async def test_prompt_variable_of_a_wrong_type_is_no_prompt(app: App, server: ReplayServer) -> None:
    script(server, PLANTED)
    _, report = await checked(app(ALWAYS), {"evidence": EVIDENCE, "_last_bot_prompt": 5})
    assert report["status"] == "hallucinated"


@pytest.mark.parametrize(
    ("settings", "context", "status"),
    [
        (ALWAYS, {}, "unverified"),
        ("", {"check_grounding": True}, "unverified"),
        ("", {}, "skipped"),
        ("custom_data: {evidencerails: {activation: shadow}}\n", {}, "skipped"),
    ],
)
async def test_a_history_that_cannot_be_read_breaks_no_turn(
    app: App, settings: str, context: dict[str, Any], status: str
) -> None:
    result = await run_rail(
        "check grounding",
        flag="check_grounding",
        context={"bot_message": PLANTED, **context},
        events=5,
        llm_task_manager=app(settings).runtime.llm_task_manager,
    )
    verdict = result.return_value
    assert (verdict.status, bool(verdict)) == (status, False)
    assert status == "skipped" or verdict.reason.startswith("check_failed: TypeError")
