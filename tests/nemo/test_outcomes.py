"""What a user of an app sees: blocked, warned, annotated, raised, informed that nothing could be verified."""

import json
from typing import Any

import pytest
from nemo_apps import (
    ALWAYS,
    BLOCKED,
    CLEAN,
    EMBEDDINGS,
    EVIDENCE,
    PLANTED,
    WARNING,
    App,
    checked,
    is_sampling,
    script,
    shown,
    user,
)
from nemoguardrails.actions.rail_outcome import RailDecision, RailOutcome

from evidencerails.adapters.nemo_outcome import Verdict, not_run
from evidencerails.adapters.wording import DEFAULT_MESSAGES, PRONE_MESSAGE, UNVERIFIED_MESSAGE
from evidencerails.testing import ReplayServer

RULES = "custom_data: {{evidencerails: {{activation: always, policies: [{{when: {{kind: {kind}}}, then: {then}}}]}}}}\n"
UNVERIFIED = "custom_data: {{evidencerails: {{activation: always, on_unverified: {then}}}}}\n"


async def _answer(app: Any, context: dict[str, Any] | None = None) -> Any:
    return await app.generate_async(messages=user({"evidence": EVIDENCE} if context is None else context))


FOUND, NOTHING = {"evidence": EVIDENCE}, {"no": "evidence"}
MARKED = f"{PLANTED} [?1]\n\n[?1] unsupported claim (contradicted, temporal)"
PRONE, UNVERIFIED_NOTE = DEFAULT_MESSAGES[PRONE_MESSAGE], DEFAULT_MESSAGES[UNVERIFIED_MESSAGE]


@pytest.mark.parametrize(
    ("rules", "then", "context", "expected"),
    [
        (RULES, "allow", FOUND, PLANTED),
        (RULES, "annotate", FOUND, MARKED),
        (RULES, "warn", FOUND, f"{PLANTED}\n\n{PRONE}"),
        (RULES, "block", FOUND, BLOCKED),
        (UNVERIFIED, "allow", NOTHING, PLANTED),
        (UNVERIFIED, "warn", NOTHING, f"{PLANTED}\n\n{UNVERIFIED_NOTE}"),
        (UNVERIFIED, "block", NOTHING, UNVERIFIED_NOTE),
    ],
)
async def test_policy_decides_what_becomes_of_the_answer(
    app: App, server: ReplayServer, rules: str, then: str, context: dict[str, Any], expected: str
) -> None:
    settings = rules.format(kind="unsupported_claim", then=then)
    assert await shown(app(settings), server, PLANTED, context=context) == [expected]


async def test_decision_raise_raises_without_rails_exceptions(app: App, server: ReplayServer) -> None:
    script(server, PLANTED)
    message = await _answer(app(RULES.format(kind="unsupported_claim", then="raise")))
    assert message["role"] == "exception"
    exception = message["content"]
    assert exception["type"] == "GroundingRailException"
    assert exception["message"] == "Hallucination detected. The previous answer may not be accurate"
    assert 0.5 < exception["score"] <= 1.0
    assert exception["kinds"] == ["unsupported_claim"]
    assert [span["text"] for span in exception["spans"]] == [PLANTED]
    assert "mayor Ana Ruiz" not in json.dumps(exception)
    unverified = await _answer(app(UNVERIFIED.format(then="raise")), {"no": "evidence"})
    assert unverified["content"]["message"] == "The answer could not be verified"


async def test_exception_carries_evidence_only_if_exposed(app: App, server: ReplayServer) -> None:
    script(server, PLANTED)
    yaml = """
    enable_rails_exceptions: true
    custom_data: {evidencerails: {activation: always, expose: {evidence: true}}}
    """
    exception = (await _answer(app(yaml)))["content"]
    (quote,) = exception["evidence"]
    assert quote["span"]["text"] in EVIDENCE


async def test_two_rails_append_one_warning(app: App, server: ReplayServer) -> None:
    rails = app(RULES.format(kind="unsupported_claim", then="warn"), flows="check grounding, hallucination warning")
    assert (await shown(rails, server, PLANTED))[0].count(WARNING) == 1


async def test_no_rail_checks_the_warning_of_another(app: App, server: ReplayServer) -> None:
    """ "This answer could not be verified" was a claim to the next rail, which made a clean answer hallucinated."""
    script(server, CLEAN, samples="")
    rails = app(UNVERIFIED.format(then="warn"), flows="self check hallucination, check claims, check grounding")
    text, report = await checked(rails, {"evidence": EVIDENCE})
    assert {name: check["status"] for name, check in report["checks"].items()} == {
        "consistency": "unverified",
        "claims": "grounded",
        "grounding": "grounded",
    }
    assert [claim["text"] for claim in report["claims"]] == [CLEAN]
    assert text.startswith(f"{CLEAN}\n\nThis answer could not be verified.")


async def test_marks_and_warnings_of_several_rails_stand_together(app: App, server: ReplayServer) -> None:
    script(server, PLANTED, samples="")
    yaml = RULES.format(kind="unsupported_claim", then="annotate")
    rails = app(yaml, flows="self check hallucination, check grounding, check claims")
    text, report = await checked(rails, {"evidence": EVIDENCE})
    marked, notes, warning = text.split("\n\n")
    assert f"{marked}\n\n{notes}" == MARKED
    assert warning.startswith("This answer could not be verified.")
    assert [claim["text"] for claim in report["claims"]] == [PLANTED]


async def test_a_flow_sets_evidence_and_flag(app: App, server: ReplayServer) -> None:
    colang = f"""
    define user ask about the bridge
      "When was the bridge opened?"

    define flow
      user ask about the bridge
      $relevant_chunks = "{EVIDENCE}"
      $check_grounding = True
      bot tell about the bridge
    """
    rails = app(colang=colang, more_models=EMBEDDINGS)
    for answer, seen in ((PLANTED, BLOCKED), (CLEAN, CLEAN)):
        server.reset()
        server.reply("  ask about the bridge", when="This is how the user talks")
        server.default(answer)
        assert (await rails.generate_async(messages=user()))["content"] == seen


@pytest.mark.parametrize("parallel", ["false", "true"])
async def test_report_of_all_rails_stands_in_the_context(app: App, server: ReplayServer, parallel: str) -> None:
    """In parallel, each flow has its own copy of the context and the last to end would win."""
    flows = f"rails: {{output: {{parallel: {parallel}, flows: [check grounding, self check hallucination]}}}}\n"
    rails = app(RULES.format(kind="[unsupported_claim, inconsistent_samples]", then="warn") + flows)
    for answer, status in ((PLANTED, "hallucinated"), (CLEAN, "grounded")):
        script(server, answer)
        _, report = await checked(rails, {"evidence": EVIDENCE})
        assert report["status"] == status
        assert set(report["checks"]) == {"grounding", "consistency"}
        assert report["llm"]["calls"] == 1
        assert len(json.dumps(report)) <= 32_000
        assert "mayor Ana Ruiz" not in json.dumps(report)


async def test_log_names_the_verdict_and_no_text(
    app: App, server: ReplayServer, caplog: pytest.LogCaptureFixture
) -> None:
    script(server, PLANTED)
    await _answer(app(ALWAYS))
    (line,) = [record.getMessage() for record in caplog.records if record.name == "evidencerails"]
    assert line.startswith("evidencerails: check grounding: hallucinated, decision block (default), score ")
    assert "evidence from variable" in line
    assert "Bridge" not in line


CUSTOM = """
define subflow my check
  $is_hallucination = execute {call}
  if {condition}
    bot refuse
    stop

define bot refuse
  "I had better not say."
"""


@pytest.mark.parametrize(
    ("call", "condition"),
    [
        ("self_check_hallucination", "$is_hallucination"),
        ("check_grounding", "$is_hallucination.is_blocked"),
        ("check_grounding(flag=$check_grounding)", "$is_hallucination"),
        ('check_grounding(flag="$check_grounding")', "$is_hallucination"),
    ],
)
async def test_a_custom_flow_calls_the_action_itself(app: App, server: ReplayServer, call: str, condition: str) -> None:
    """`if $is_hallucination` stood in the documentation before 0.24; NeMo's own outcome is always true in it."""
    rails = app("rails: {output: {flows: [my check]}}\n", CUSTOM.format(call=call, condition=condition))
    context = {"evidence": EVIDENCE, "check_grounding": True}
    assert await shown(rails, server, PLANTED, CLEAN, context=context) == ["I had better not say.", CLEAN]


async def test_own_bot_messages_of_the_app_are_used(app: App, server: ReplayServer) -> None:
    colang = """
    define bot inform answer unknown
      "Blocked, sorry."

    define bot inform answer prone to hallucination
      "Take care."

    define bot inform answer unverified
      "Not verified."
    """
    rules = RULES.format(kind="unsupported_claim", then="warn")
    for yaml, context, expected in (
        (ALWAYS, None, "Blocked, sorry."),
        (ALWAYS, {"no": "evidence"}, f"{PLANTED}\n\nNot verified."),
        (rules, None, f"{PLANTED}\n\nTake care."),
    ):
        assert await shown(app(yaml, colang), server, PLANTED, context=context) == [expected]


async def test_users_own_prompt_judges(app: App, server: ReplayServer) -> None:
    """NeMo appends the prompts of an import path, so a plugin's would beat the user's own of the same task."""
    yaml = """
    custom_data: {evidencerails: {activation: always, consistency: {agreement: judge}}}
    rails: {output: {flows: [self check hallucination]}}
    prompts:
      - task: self_check_hallucination
        content: "MY OWN JUDGE. {{ paragraph }} {{ statement }} yes or no?"
    """
    server.reply("no", when="MY OWN JUDGE.")
    server.reply(CLEAN, when=lambda request: is_sampling(request) and "MY OWN" not in request.prompt_text)
    server.default(PLANTED)
    assert (await _answer(app(yaml)))["content"] == BLOCKED
    assert any("MY OWN JUDGE." in request.prompt_text for request in server.requests)


def test_verdict_is_true_exactly_when_it_blocks() -> None:
    assert Verdict(RailDecision.BLOCK, "x", {})
    assert not Verdict(RailDecision.ALLOW, "x", {})
    assert not not_run("not_activated")
    assert isinstance(not_run("not_activated"), RailOutcome)
    assert not_run("not_activated").status == "skipped"
