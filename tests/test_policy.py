"""The decision table: defaults by kind and label, ordered rules, caps, streaming, unverified."""

from typing import Any

import pytest

from evidencerails.config import GuardConfig
from evidencerails.policy import decide, default_decision, severest
from evidencerails.report import Finding


def finding(**fields: Any) -> Finding:
    base: dict[str, Any] = {
        "kind": "unsupported_claim", "category": "contextual", "severity": "medium", "origin": "extrinsic",
        "reason": "r", "check": "grounding", "version": "1", "label": "absent", "score": 0.6,
    }  # fmt: skip
    return Finding(**{**base, **fields})


DEFAULTS = [
    ({"label": "contradicted"}, "block"), ({"label": "absent"}, "warn"), ({"label": "partially_supported"}, "warn"),
    ({"kind": "inconsistent_samples", "label": None}, "block"),
    ({"kind": "factual_fabrication", "label": None}, "block"),
    ({"kind": "tool_call_hallucination", "label": None}, "block"),
    ({"kind": "structure_violation", "label": None}, "block"),
    ({"kind": "citation_violation", "label": None, "violation": "nonexistent_source"}, "block"),
    ({"kind": "citation_violation", "label": None, "violation": "missing"}, "warn"),
    ({"kind": "intrinsic_contradiction", "label": None}, "warn"),
    ({"kind": "prompt_output_divergence", "label": None}, "warn"), ({"kind": "logic_error", "label": None}, "warn"),
]  # fmt: skip


@pytest.mark.parametrize("fields, decision", DEFAULTS)
def test_defaults(fields: dict[str, Any], decision: str) -> None:
    assert default_decision(finding(**fields)) == decision
    ruling = decide([finding(**fields)], "hallucinated", GuardConfig())
    assert ruling == (decision, "default")


CONDITIONS = [
    ({"kind": "unsupported_claim"}, True), ({"kind": "logic_error"}, False),
    ({"kind": ["logic_error", "unsupported_claim"]}, True), ({"label": "absent"}, True),
    ({"label": "contradicted"}, False), ({"category": "contextual"}, True), ({"category": "factual"}, False),
    ({"severity": ["high", "critical"]}, False), ({"severity": ["medium"]}, True), ({"origin": "intrinsic"}, False),
    ({"check": "grounding"}, True), ({"check": "verification"}, False),
    ({"error_type": "number"}, True), ({"error_type": ["entity", "temporal"]}, False),
    ({"min_score": 0.6}, True), ({"min_score": 0.61}, False), ({"max_score": 0.6}, True), ({"max_score": 0.59}, False),
    ({"kind": "unsupported_claim", "label": "contradicted"}, False), ({}, True),
]  # fmt: skip


@pytest.mark.parametrize("when, matches", CONDITIONS)
def test_conditions(when: dict[str, Any], matches: bool) -> None:
    config = GuardConfig.load({"policies": [{"when": when, "then": "raise"}]})
    ruling = decide([finding(error_types=("number",))], "hallucinated", config)
    assert ruling == (("raise", "policies[1]") if matches else ("warn", "default"))


def test_a_score_condition_never_holds_without_a_score() -> None:
    config = GuardConfig.load({"policies": [{"when": {"max_score": 1.0}, "then": "allow"}]})
    assert decide([finding(score=None)], "hallucinated", config).decision == "warn"


def test_first_matching_rule_decides_and_the_severest_finding_wins() -> None:
    config = GuardConfig.load(
        {"policies": [{"when": {"label": "contradicted"}, "then": "annotate"}, {"when": {}, "then": "block"}]}
    )
    assert decide([finding(label="contradicted")], "hallucinated", config) == ("annotate", "policies[1]")
    both = [finding(label="contradicted"), finding()]
    assert decide(both, "hallucinated", config) == ("block", "policies[2]")


@pytest.mark.parametrize("mode", ["allow", "warn", "block", "raise"])
def test_unverified(mode: str) -> None:
    config = GuardConfig.load({"on_unverified": mode})
    assert decide([], "unverified", config, any_unverified=True) == (mode, "on_unverified")


def test_an_unverified_check_beside_a_hallucinated_one_still_counts() -> None:
    config = GuardConfig.load({"on_unverified": "block"})
    assert decide([finding()], "hallucinated", config, any_unverified=True).decision == "block"


def test_without_a_finding_the_status_decides_and_hallucinated_never_passes() -> None:
    assert decide([], "grounded", GuardConfig()) == ("allow", "grounded")
    assert decide([], "hallucinated", GuardConfig()).decision == "block"


def test_a_cap_bounds_from_above_only() -> None:
    assert decide([finding(label="contradicted")], "hallucinated", GuardConfig(), cap="warn").decision == "warn"
    config = GuardConfig.load({"policies": [{"when": {}, "then": "annotate"}]})
    assert decide([finding()], "hallucinated", config, cap="warn").decision == "annotate"


@pytest.mark.parametrize(
    "label, fallback, decision",
    [("absent", "block", "block"), ("absent", "allow", "allow"), ("contradicted", "allow", "block")],
)
def test_streaming_can_only_allow_or_block(label: str, fallback: str, decision: str) -> None:
    config = GuardConfig.load({"streaming_fallback": fallback})
    assert decide([finding(label=label)], "hallucinated", config, is_streaming=True).decision == decision


def test_severest() -> None:
    assert severest(["warn", "raise", "block"]) == "raise"
    assert severest([]) == "allow"


def test_an_unverified_answer_may_be_escalated() -> None:
    config = GuardConfig.load({"on_unverified": "escalate"})
    assert decide([], "unverified", config).decision == "escalate"
    assert decide([], "unverified", config, is_streaming=True).decision == "block"
    assert decide([], "unverified", config, cap="warn").decision == "warn"
    assert decide([], "grounded", config).decision == "allow"
