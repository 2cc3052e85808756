"""Colang 2.x: `import evidencerails.plugin`, the report as an event, and rails that still run after an abort."""

from typing import Any

import pytest
from nemo_apps import (
    ALWAYS,
    BLOCKED,
    CLEAN,
    EVIDENCE,
    PLANTED,
    QUESTION,
    WARNING,
    app_2,
    is_sampling,
    said_2,
    script,
    user,
)

from evidencerails.testing import ReplayServer


async def _ask(app: Any, evidence: str = EVIDENCE) -> dict[str, Any]:
    message: dict[str, Any] = await app.generate_async(messages=user({"evidence": evidence}))
    return message


def _events(message: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [event for event in message.get("events", ()) if event["type"] == name]


async def test_shadow_alters_nothing_and_records_what_it_would_have_done(
    server: ReplayServer, caplog: pytest.LogCaptureFixture
) -> None:
    app = app_2(server, ALWAYS.replace("always", "shadow"), output="check grounding")
    script(server, PLANTED)
    assert (await _ask(app))["content"] == PLANTED
    app.runtime.llm_task_manager.evidencerails_plugin.wait_for_shadow(20)
    (logged,) = [line for line in caplog.messages if "check grounding (shadow, answer not altered)" in line]
    assert "hallucinated, decision block" in logged


@pytest.mark.parametrize("flags", [["hallucination_warning"], []])
async def test_a_warning_is_appended_if_the_flag_asks_for_the_check(server: ReplayServer, flags: list[str]) -> None:
    app = app_2(server, output="hallucination warning", flags=flags)
    script(server, PLANTED)
    message = await _ask(app)
    assert message["content"].startswith(PLANTED) and (WARNING in message["content"]) is bool(flags)
    assert len(_events(message, "HallucinationReport")) == len(flags)
    assert any(is_sampling(request) for request in server.requests) is bool(flags)


async def test_flag_holds_for_one_answer(server: ReplayServer) -> None:
    """Two answers in a turn: the flag that the input rail sets is gone after the first."""
    colang = SAYS.replace("{first}", PLANTED).replace("{second}", PLANTED).replace("  check claims\n", "")
    flags = "\nflow input rails $input_text\n  global $check_grounding\n  $check_grounding = True\n"
    app = app_2(server, WARN.replace("activation: always, ", ""), colang + flags)
    message = await _ask(app)
    assert [event["report"]["status"] for event in _events(message, "HallucinationReport")] == ["hallucinated"]
    assert message["content"].count(PLANTED) == 2 and message["content"].count(WARNING) == 1


SAYS = """
import core
import guardrails
import evidencerails.plugin

flow output rails $output_text
  check grounding
  check claims

flow main
  activate answer

flow answer
  user said something
  bot say "{first}"
  bot say "{second}"
"""
WARN = "custom_data: {evidencerails: {activation: always, policies: [{when: {kind: unsupported_claim}, then: warn}]}}\n"


async def test_answers_without_an_llm_call_keep_their_reports_apart(server: ReplayServer) -> None:
    """Two answers in a turn and the same ones in the next: no rail sees another's warning, no report an older one."""
    colang = SAYS.replace("{first}", PLANTED).replace("{second}", CLEAN)
    app = app_2(server, WARN, colang)
    for evidence, statuses in ((EVIDENCE, ["hallucinated", "grounded"]), ("", ["unverified", "unverified"])):
        reports = [e["report"] for e in _events(await _ask(app, evidence), "HallucinationReport")]
        assert [r["status"] for r in reports] == [status for status in statuses for _rail in range(2)]
        claims = [claim["span"]["text"] for report in reports for claim in report["claims"]]
        assert set(claims) == ({PLANTED, CLEAN} if evidence else set())
        assert all(len(set(report["checks"])) <= 2 for report in reports)


OWN_RAIL = """
import core
import guardrails
import evidencerails.plugin

flow output rails $output_text
  own rail
  check grounding

flow own rail
  global $turn
  if $turn == "first"
    $turn = "later"
    bot say "Sorry."
    abort

flow main
  activate answer

flow answer
  user said something
  bot say "{answer}"
"""


async def test_rails_still_run_after_an_abort_of_the_app_s_rail_and_of_ours(
    server: ReplayServer, caplog: pytest.LogCaptureFixture
) -> None:
    """NeMo #2067: its own rails left `$output_rails_in_progress` up, and no output rail ran any more."""
    with caplog.at_level("INFO"):
        app = app_2(server, ALWAYS, OWN_RAIL.replace("{answer}", PLANTED))
    assert "ready: activation always, flows check grounding" in caplog.text
    context = {"evidence": EVIDENCE, "turn": "first"}
    said = await said_2(app, context, [QUESTION] * 3)
    assert said == (["Sorry.", BLOCKED, BLOCKED], ["hallucinated"] * 2)
