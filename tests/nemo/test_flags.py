"""Flags in every shape and place: what asks for a check gets one, and what nothing reads is said aloud."""

import logging
from typing import Any

import numpy as np
import pytest
from nemo_apps import BLOCKED, CLEAN, EVIDENCE, PLANTED, App, checked, script, shown, user

from evidencerails.adapters.nemo_rails import is_asked_for, is_set, unread_flags
from evidencerails.testing import ReplayServer

ON = [True, 1, "true", "True ", "YES", "on", "1", "maybe", "ja", ["x"], {"a": 1}, np.zeros(3)]
OFF = [False, None, 0, 0.0, "", " ", "false", "False", "no", "OFF", "0", "none", "null", [], {}]


@pytest.mark.parametrize(("value", "expected"), [*((v, True) for v in ON), *((v, False) for v in OFF)], ids=repr)
def test_what_counts_as_set(value: Any, expected: bool) -> None:
    assert is_set(value) is expected
    assert is_asked_for("check_grounding", {"check_grounding": value}, is_streaming=False) is expected
    assert is_asked_for("$check_grounding", {"check_grounding": value}, is_streaming=True) is expected


@pytest.mark.parametrize(
    ("flag", "is_streaming", "expected"),
    [
        (None, False, True),
        ("check_grounding", False, False),
        ("check_grounding", True, True),
        ("$check_grounding", True, True),
        (True, False, True),
        (False, False, False),
        ("True", False, True),
        ("False", False, False),
    ],
)
def test_flags_that_cannot_be_looked_up(flag: Any, is_streaming: bool, expected: bool) -> None:
    assert is_asked_for(flag, {}, is_streaming=is_streaming) is expected


@pytest.mark.parametrize(
    ("context", "flows", "expected"),
    [
        ({"check_claims": True}, ["check grounding"], {"check_claims": "check claims"}),
        ({"check_claims": False}, ["check grounding"], {}),
        ({"check_claims": True}, ["check claims"], {}),
        ({"check_claims": True}, ["check grounding", "a flow of the app"], {}),
        ({"check_grounding": True}, ["check grounding $mode=strict"], {}),
    ],
)
def test_unread_flags(context: dict[str, Any], flows: list[str], expected: dict[str, str]) -> None:
    assert unread_flags(context, flows) == expected


async def test_a_flag_of_a_rail_that_is_not_there_is_said_once(
    app: App, server: ReplayServer, caplog: pytest.LogCaptureFixture
) -> None:
    rails = app("rails: {output: {flows: [check grounding, check logic]}}\n")
    context = {"evidence": EVIDENCE, "check_hallucination": True}
    assert await shown(rails, server, PLANTED, PLANTED, context=context) == [PLANTED, PLANTED]
    said = [line for line in caplog.messages if "$check_hallucination is set" in line]
    assert said == [
        "evidencerails: $check_hallucination is set, but 'self check hallucination' is not among rails.output.flows: "
        "nothing reads it"
    ]


async def test_a_flag_in_the_settings_is_said_at_the_start(
    app: App, server: ReplayServer, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        rails = app("custom_data: {check_grounding: true, evidencerails: {activation: always}}\n")
    assert "custom_data.check_grounding does nothing" in caplog.text
    assert await shown(rails, server, PLANTED) == [BLOCKED]


OWN_RAIL = """
define subflow own rail
  if {condition}
    bot refuse
    stop

define bot refuse
  "No."
"""


async def test_no_flag_and_no_report_outlasts_its_turn(app: App, server: ReplayServer) -> None:
    swears = OWN_RAIL.replace("{condition}", '"damn" in $bot_message')
    rails = app("rails: {output: {flows: [own rail, check grounding]}}\n", swears)
    asked = user({"evidence": EVIDENCE, "check_grounding": True})
    history: list[Any] = []
    turns = (("damn", "No.", "skipped"), (PLANTED, BLOCKED, "hallucinated"), ("damn", "No.", "skipped"))
    for answer, expected, status in (*turns, (PLANTED, PLANTED, "skipped")):
        script(server, answer)
        history += asked if answer == "damn" or expected == BLOCKED else asked[1:]
        text, report = await checked(rails, messages=history)
        assert (text, report["status"]) == (expected, status)
        history.append({"role": "assistant", "content": text})


@pytest.mark.parametrize("activation", ["per_response", "shadow"])
async def test_a_flow_can_read_the_report_of_a_rail_that_did_not_look(
    app: App, server: ReplayServer, activation: str
) -> None:
    settings = f"custom_data: {{evidencerails: {{activation: {activation}}}}}\n"
    reads = OWN_RAIL.replace("{condition}", '$hallucination_report["status"] == "skipped"')
    rails = app("rails: {output: {flows: [check grounding, own rail]}}\n" + settings, reads)
    script(server, CLEAN)
    assert await checked(rails, {"evidence": EVIDENCE}) == ("No.", {"status": "skipped", "decision": "allow"})
