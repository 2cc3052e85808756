"""No answer above a score leaves without a decision; what was not measured counts nothing and is named."""

from typing import Any

import pytest
from mitigation_tools import EVIDENCE, REPAIRED, RESPONSE, rewrites

from evidencerails import Guard, GuardConfig, Report
from evidencerails.errors import SettingsError
from evidencerails.mitigation.quality_gate import pass_gate
from evidencerails.testing import ReplayServer


async def check(response: str, **gate: Any) -> Report:
    settings = {"checks": ["grounding"], "policies": [{"when": {}, "then": "allow"}], "quality_gate": gate}
    return await Guard(settings).check(response, evidence=EVIDENCE)


async def test_a_policy_that_allows_does_not_pass_the_gate() -> None:
    report = await check(RESPONSE, max_hallucination_score=0.5)
    assert (report.decision, report.decided_by) == ("block", "quality_gate: hallucination_score")
    assert report.gate is not None and report.gate.passed is False
    assert report.gate.scores == {"hallucination_score": report.hallucination_score}


async def test_what_else_becomes_of_an_answer() -> None:
    passed = await check(REPAIRED, max_hallucination_score=0.5)
    assert (passed.decision, passed.gate and passed.gate.passed) == ("allow", True)
    assert (await check(RESPONSE)).gate is None, "without a limit there is no gate"
    assert (await check(RESPONSE, max_hallucination_score=0.5, then="warn")).decision == "warn"


async def test_unmeasured_parts_of_the_composite_are_named() -> None:
    report = await check(REPAIRED, max_composite_score=0.9)
    assert report.gate.missing == ("attribution_precision", "self_consistency")
    assert report.gate.scores == {"composite_score": report.metrics["composite_score"]}


async def test_an_answer_without_a_score_neither_passes_nor_fails() -> None:
    guard = Guard({"checks": ["grounding"], "on_unverified": "block", "quality_gate": {"max_hallucination_score": 0.1}})
    report = await guard.check(RESPONSE)
    assert (report.gate.passed, report.gate.missing) == (None, ("hallucination_score",))
    assert (report.decision, report.decided_by) == ("block", "on_unverified")


@pytest.mark.parametrize(("score", "passed"), [(0.5, True), (0.500001, False)])
def test_the_limit_itself_passes(score: float, passed: bool) -> None:
    settings = GuardConfig.load({"quality_gate": {"max_hallucination_score": 0.5}}).quality_gate
    gate, ruling = pass_gate(Report(status="grounded", hallucination_score=score), settings)
    assert gate is not None and gate.passed is passed
    assert (ruling == []) is passed


def test_a_gate_that_allows_is_none() -> None:
    with pytest.raises(SettingsError, match="a gate that allows is none"):
        GuardConfig.load({"quality_gate": {"then": "allow"}})


async def test_a_gate_may_ask_for_a_repair(server: ReplayServer) -> None:
    """No finding asks for it, since the policies allow them all: then all of them are written again."""
    server.say(rewrites("It opened in 1932."))
    settings = {
        "checks": ["grounding"],
        "llm": {"model": "replay", "base_url": server.base_url, "api_key": "none"},
        "policies": [{"when": {}, "then": "allow"}],
        "quality_gate": {"max_hallucination_score": 0.5, "then": "regenerate"},
    }
    report = await Guard(settings).check(RESPONSE, evidence=EVIDENCE)
    assert (report.answer, report.decided_by) == (REPAIRED, "quality_gate: hallucination_score")
