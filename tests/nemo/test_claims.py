"""The flow `check claims`: flag, exception, policies by label and error type, Colang 1.0 and 2.x."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from nemo_apps import BLOCKED, CLEAN, EVIDENCE, PLANTED, WARNING, app_yaml_2, colang_2, make_app, user
from nemo_modes import MODES, Turn

from evidencerails.testing import ReplayServer

App = Callable[..., Any]
BEYOND = "The Harbour Bridge of Porto Lindo was painted green by volunteers from Sweden."
FLAG = {"evidence": EVIDENCE, "check_claims": True}
POLICIES = """
custom_data:
  evidencerails:
    policies:
      - {when: {kind: unsupported_claim, error_type: temporal}, then: raise}
      - {when: {kind: unsupported_claim, label: absent}, then: warn}
"""


@pytest.mark.parametrize(("answer", "seen"), [(PLANTED, BLOCKED), (CLEAN, CLEAN)])
async def test_a_wrong_claim_is_blocked_and_a_true_one_passes(
    app: App, server: ReplayServer, answer: str, seen: str
) -> None:
    server.default(answer)
    message = await app(flows="check claims").generate_async(messages=user(FLAG))
    assert message["content"] == seen


async def test_without_the_flag_nothing_is_checked(app: App, server: ReplayServer) -> None:
    server.default(PLANTED)
    message = await app(flows="check claims").generate_async(messages=user({"evidence": EVIDENCE}))
    assert message["content"] == PLANTED


@pytest.mark.parametrize("mode", ["parallel", "output rails only", "check_async", "stream_async", "rails exceptions"])
async def test_other_modes_catch_it_too(app: App, server: ReplayServer, mode: str) -> None:
    row = MODES[mode]
    rails = app(row.yaml.format(flow="check claims", flag_flows="[]"))
    for answer, is_caught in ((PLANTED, True), (CLEAN, False)):
        server.reset()
        server.default(answer)
        seen = await row.ask(rails, Turn(answer, user()[0]["content"], dict(FLAG)))
        assert seen.is_caught is is_caught, seen


async def test_policies_by_error_type_and_label(app: App, server: ReplayServer) -> None:
    rails = app(POLICIES, flows="check claims")
    server.default(PLANTED)
    message = await rails.generate_async(messages=user(FLAG))
    assert message["role"] == "exception"
    assert message["content"]["type"] == "ClaimsRailException"
    assert message["content"]["spans"][0]["text"] == PLANTED
    assert message["content"]["kinds"] == ["unsupported_claim"]
    server.reset()
    server.default(BEYOND)
    message = await rails.generate_async(messages=user(FLAG))
    assert message["content"].startswith(BEYOND) and WARNING in message["content"]


async def test_the_report_holds_labels_and_error_types(app: App, server: ReplayServer) -> None:
    server.default(PLANTED)
    response = await app(flows="check claims").generate_async(
        messages=user(FLAG), options={"output_vars": ["hallucination_report"]}
    )
    report = response.output_data["hallucination_report"]
    assert [(claim["label"], claim["error_types"]) for claim in report["claims"]] == [("contradicted", ["temporal"])]


CLASSIFY = "custom_data: {evidencerails: {claims: {classifier: llm}, llm: {cache: {backend: 'off'}}}}\n"


@pytest.mark.parametrize(
    ("label", "quote", "seen"),
    [
        ("contradicted", "was opened in 1962", BLOCKED),
        ("supported", "was opened in 1962 by mayor Ana Ruiz", CLEAN),
        ("supported", "was opened by the king", "could not be verified"),
        ("not supported", "was opened in 1962", "could not be verified"),
    ],
)
async def test_the_app_s_own_model_classifies_where_the_settings_say_so(
    app: App, server: ReplayServer, label: str, quote: str, seen: str
) -> None:
    verdict = {"claim": 1, "facts": "", "quote": quote, "comparison": "", "label": label, "error_types": []}
    server.reply(json.dumps({"verdicts": [verdict]}), when="Take five steps")
    server.default(CLEAN)
    message = await app(CLASSIFY, flows="check claims").generate_async(messages=user(FLAG))
    assert seen in message["content"]


@pytest.mark.parametrize("exceptions", [False, True])
async def test_colang_2(server: ReplayServer, exceptions: bool) -> None:
    more = "enable_rails_exceptions: true\n" if exceptions else ""
    yaml = app_yaml_2(server.base_url, more)
    rails = make_app(yaml, colang_2(output="check claims", flags=["check_claims"]))
    server.default(PLANTED)
    message = await rails.generate_async(messages=user({"evidence": EVIDENCE}))
    events = {event["type"]: event for event in message.get("events", ())}
    if exceptions:
        assert events["ClaimsRailException"]["kinds"] == ["unsupported_claim"]
    else:
        assert message["content"] == BLOCKED
        assert events["HallucinationReport"]["report"]["claims"][0]["error_types"] == ["temporal"]
