"""The flow `check claims`: policies by label and error type, the report, the app's own model."""

import json

import pytest
from nemo_apps import BLOCKED, CLEAN, EVIDENCE, PLANTED, WARNING, App, checked, script, user

from evidencerails.testing import ReplayServer

BEYOND = "The Harbour Bridge of Porto Lindo was painted green by volunteers from Sweden."
FLAG = {"evidence": EVIDENCE, "check_claims": True}
POLICIES = """
custom_data:
  evidencerails:
    policies:
      - {when: {kind: unsupported_claim, error_type: temporal}, then: raise}
      - {when: {kind: unsupported_claim, label: absent}, then: warn}
"""


async def test_policies_by_error_type_and_label(app: App, server: ReplayServer) -> None:
    rails = app(POLICIES, flows="check claims")
    server.default(PLANTED)
    message = await rails.generate_async(messages=user(FLAG))
    assert message["role"] == "exception"
    assert message["content"]["type"] == "ClaimsRailException"
    assert message["content"]["spans"][0]["text"] == PLANTED
    assert message["content"]["kinds"] == ["unsupported_claim"]
    script(server, BEYOND)
    message = await rails.generate_async(messages=user(FLAG))
    assert message["content"].startswith(BEYOND) and WARNING in message["content"]


async def test_the_report_holds_labels_and_error_types(app: App, server: ReplayServer) -> None:
    server.default(PLANTED)
    _, report = await checked(app(flows="check claims"), FLAG)
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
