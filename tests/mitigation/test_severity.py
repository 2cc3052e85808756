"""Severity by hand, and what the levels lead to."""

import json
from pathlib import Path
from typing import Any

import pytest
from made import Make
from mitigation_tools import EVIDENCE, RESPONSE, finding

from evidencerails import Guard, GuardConfig
from evidencerails.mitigation.severity import LEVEL_PARTS, severity_of
from evidencerails.policy import rule_for
from evidencerails.report import FindingKind, Severity


def test_severity_worked_out_by_hand() -> None:
    # .3 * .75 (propagation of a high one) + .2 * .4 (contradicted) + .5 * .75 (consequence of a high one)
    found = severity_of(finding(label="contradicted"), "medium", feeds_tools=False)
    assert found == (pytest.approx(0.68), "high")


@pytest.mark.parametrize("kind", FindingKind.__args__)  # type: ignore[attr-defined]
@pytest.mark.parametrize("level", LEVEL_PARTS)
@pytest.mark.parametrize("category", ["contextual", "confabulatory"])
def test_at_medium_stakes_a_level_stays_itself(kind: str, level: Severity, category: str) -> None:
    found = severity_of(finding(severity=level, kind=kind, category=category), "medium", feeds_tools=False)
    assert found.level == level


@pytest.mark.parametrize(
    ("stakes", "levels"),
    [("low", ["low", "low", "medium", "high"]), ("high", ["medium", "high", "critical", "critical"])],
)
def test_stakes_move_a_level_by_about_one(stakes: str, levels: list[str]) -> None:
    found = [severity_of(finding(severity=level), stakes, feeds_tools=False).level for level in LEVEL_PARTS]  # type: ignore[arg-type]
    assert found == levels


def test_confabulations_score_highest_and_tools_spread_a_claim() -> None:
    def score(*, feeds_tools: bool = False, **fields: Any) -> float:
        return severity_of(finding(**fields), "medium", feeds_tools=feeds_tools).score

    assert score(category="confabulatory") > score() > score(label="contradicted")
    assert score(feeds_tools=True) == pytest.approx(score() + 0.3 * 0.2)


@pytest.mark.parametrize(
    ("level", "feeds_tools", "threshold"), [("low", False, 0.3), ("medium", True, 0.6), ("high", True, 0.8)]
)
def test_thresholds_belong_to_the_lower_level(level: Severity, feeds_tools: bool, threshold: float) -> None:
    confabulated = finding(severity=level, category="confabulatory")
    assert severity_of(confabulated, "medium", feeds_tools=feeds_tools) == (threshold, level)


@pytest.mark.parametrize(
    ("level", "decision"), [("critical", "escalate"), ("high", "block"), ("medium", "regenerate"), ("low", "allow")]
)
def test_the_protocol_decides_what_no_rule_does(level: str, decision: str) -> None:
    config = GuardConfig.load({"severity": {"protocol": {}}})
    assert rule_for(finding(severity=level), config) == (decision, f"severity.protocol.{level}")
    ruled = GuardConfig.load({"severity": {"protocol": {}}, "policies": [{"when": {}, "then": "warn"}]})
    assert rule_for(finding(severity=level), ruled).decision == "warn"


def test_a_quarantined_claim_that_is_upheld_leaves_with_a_warning() -> None:
    config = GuardConfig.load({"severity": {"protocol": {}}})
    assert rule_for(finding(severity="high", verification="upheld"), config).decision == "warn"
    assert rule_for(finding(severity="high", verification="refuted"), config).decision == "block"


def test_a_rule_may_ask_for_a_severity() -> None:
    config = GuardConfig.load({"policies": [{"when": {"min_severity": 0.7}, "then": "raise"}]})
    assert rule_for(finding(severity_score=0.71), config).decision == "raise"
    assert rule_for(finding(severity_score=0.69), config).decision == "warn"
    assert rule_for(finding(), config).decision == "warn", "a finding without a severity meets no such rule"


async def test_findings_of_a_real_check_carry_their_severity(guard: Make) -> None:
    plain = Guard({"checks": ["grounding"]})
    high = await plain.check(RESPONSE, evidence=EVIDENCE, stakes="high")
    medium = await plain.check(RESPONSE, evidence=EVIDENCE)
    assert (medium.findings[0].severity, high.findings[0].severity) == ("high", "critical")
    assert medium.stakes == "medium" and high.stakes == "high"


async def test_low_ones_go_into_the_regression_set(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "regression.jsonl"
    guard = Guard({"checks": ["grounding"], "severity": {"stakes": "low", "regression_set": str(file)}})
    beyond = "The museum at the bridge sells 12 kinds of tea."
    for _ in range(2):
        report = await guard.check(f"It opened in 1932. {beyond}", evidence=EVIDENCE)
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [row["response"] for row in rows] == [f"It opened in 1932. {beyond}"] * 2
    assert rows[0]["findings"][0]["severity_score"] == report.findings[0].severity_score
    assert rows[0]["evidence"][0]["text"] == EVIDENCE


async def test_a_regression_set_that_cannot_be_written_costs_no_answer(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    settings = {"stakes": "low", "regression_set": str(tmp_path / "file" / "set.jsonl")}
    guard = Guard({"checks": ["grounding"], "severity": settings})
    report = await guard.check("The museum at the bridge sells 12 kinds of tea.", evidence=EVIDENCE)
    assert report.status == "hallucinated"
