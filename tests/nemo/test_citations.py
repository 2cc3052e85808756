"""The flow `check citations`: every mode, flag, exception and policies by violation, Colang 1.0 and 2.x."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from nemo_apps import BLOCKED, EMBEDDINGS, EVIDENCE, QUESTION, WARNING, app_yaml_2, colang_2, make_app, user
from nemo_modes import MODES, Mode, Turn

from evidencerails.testing import ReplayServer

App = Callable[..., Any]
CLEAN = "The Harbour Bridge of Porto Lindo was opened in 1962 [1]."
MADE_UP = "The Harbour Bridge of Porto Lindo was opened in 1962 [8]."
WRONG = "The Harbour Bridge of Porto Lindo was opened in 1999 [1]."
BARE = "The Harbour Bridge of Porto Lindo was opened in 1962."
FLAG = {"evidence": EVIDENCE, "check_citations": True}
FLAG_FLOW = """
define subflow set flags
  $check_citations = True
"""


@pytest.mark.parametrize("activation", ["flag", "always"])
@pytest.mark.parametrize("mode", list(MODES))
async def test_a_made_up_source_is_caught_and_a_real_one_passes(
    app: App, server: ReplayServer, mode: str, activation: str
) -> None:
    row = MODES[mode]
    rails = _app(app, row, activation)
    for answer, is_caught in ((MADE_UP, True), (CLEAN, False)):
        _script(server, row, answer)
        context: dict[str, Any] = {"evidence": EVIDENCE}
        if activation == "flag" and row.flags_by_context:
            context["check_citations"] = True
        seen = await row.ask(rails, Turn(answer, QUESTION, context))
        assert seen.is_caught is is_caught, (answer, seen)
        assert is_caught or seen.text == answer
    assert not server.unmatched


def _app(app: App, row: Mode, activation: str) -> Any:
    always = "custom_data: {evidencerails: {activation: always}}\n" if activation == "always" else ""
    yaml = row.yaml.format(flow="check citations", flag_flows="[set flags]" if activation == "flag" else "[]") + always
    colang = FLAG_FLOW if "set flags" in row.colang else row.colang
    flag = "$check_citations = True" if activation == "flag" else "$no_flag = True"
    return app(yaml, colang.replace("{flag}", flag), more_models=EMBEDDINGS if row.more_models else "")


def _script(server: ReplayServer, row: Mode, answer: str) -> None:
    server.reset()
    server.reply("  ask about the bridge", when="This is how the user talks")
    server.default((row.answers or "{}").format(answer))


async def test_without_the_flag_nothing_is_checked(app: App, server: ReplayServer) -> None:
    server.default(MADE_UP)
    message = await app(flows="check citations").generate_async(messages=user({"evidence": EVIDENCE}))
    assert message["content"] == MADE_UP


@pytest.mark.parametrize(("answer", "violation"), [(WRONG, "non_entailing"), (BARE, "missing_citation")])
async def test_other_violations_warn_and_stand_in_the_report(
    app: App, server: ReplayServer, answer: str, violation: str
) -> None:
    server.default(answer)
    response = await app(flows="check citations").generate_async(
        messages=user(FLAG), options={"output_vars": ["hallucination_report"]}
    )
    said = response.response[0]["content"]
    assert said.startswith(answer) and WARNING in said
    report = response.output_data["hallucination_report"]
    assert [(f["kind"], f["violation"]) for f in report["findings"]] == [("citation_violation", violation)]


POLICIES = """
custom_data:
  evidencerails:
    policies:
      - {when: {kind: citation_violation, violation: non_entailing}, then: raise}
"""


async def test_a_policy_may_raise_the_rail_s_own_exception(app: App, server: ReplayServer) -> None:
    server.default(WRONG)
    message = await app(POLICIES, flows="check citations").generate_async(messages=user(FLAG))
    assert message["role"] == "exception"
    assert message["content"]["type"] == "CitationRailException"
    assert message["content"]["kinds"] == ["citation_violation"]
    assert message["content"]["spans"][0]["text"] in WRONG
    assert all("text" not in quote["span"] for quote in message["content"]["evidence"])


async def test_numbers_of_a_labelled_context_are_its_own(app: App, server: ReplayServer) -> None:
    """Retrieval hands NeMo one text in which the passages are numbered."""
    chunks = f"[1] The museum costs 6 euros.\n[2] {EVIDENCE}"
    for answer, is_kept in ((CLEAN.replace("[1]", "[2]"), True), (CLEAN, False)):
        server.reset()
        server.default(answer)
        messages = user({"relevant_chunks": chunks, "check_citations": True})
        message = await app(flows="check citations").generate_async(messages=messages)
        assert (message["content"] == answer) is is_kept


async def test_without_evidence_nothing_passes_as_clean(app: App, server: ReplayServer) -> None:
    server.default(CLEAN)
    message = await app(flows="check citations").generate_async(messages=user({"check_citations": True}))
    assert "could not be verified" in message["content"]


@pytest.mark.parametrize("exceptions", [False, True])
async def test_colang_2(server: ReplayServer, exceptions: bool) -> None:
    more = "enable_rails_exceptions: true\n" if exceptions else ""
    yaml = app_yaml_2(server.base_url, more)
    rails = make_app(yaml, colang_2(output="check citations", flags=["check_citations"]))
    for answer, seen in ((MADE_UP, BLOCKED), (CLEAN, CLEAN)):
        server.reset()
        server.default(answer)
        message = await rails.generate_async(messages=user({"evidence": EVIDENCE}))
        events = {event["type"]: event for event in message.get("events", ())}
        if exceptions and answer == MADE_UP:
            assert events["CitationRailException"]["kinds"] == ["citation_violation"]
        else:
            assert message["content"] == seen
            findings = events["HallucinationReport"]["report"]["findings"]
            assert [f["violation"] for f in findings] == (["nonexistent_source"] if answer == MADE_UP else [])
