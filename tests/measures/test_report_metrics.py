"""What the measures add to a report, through the Guard."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from scoring_tools import Row, TableNli

from evidencerails import Guard, Report
from evidencerails.measures.aggregate import composite_metrics
from evidencerails.settings.scoring import CompositeWeights
from evidencerails.testing import ReplayServer

EVIDENCE = "The tower in Paris was finished in 1889 by Eiffel."
TRUE, FALSE = "The tower in Paris was finished in 1889.", "The tower in Paris was finished in 1887."
RESPONSE = f"{TRUE} {FALSE}"
ROWS: Mapping[tuple[str, str], Row] = {(EVIDENCE, TRUE): (0.9, 0.05, 0.05), (EVIDENCE, FALSE): (0.05, 0.05, 0.9)}


def check(settings: Mapping[str, Any], **arguments: Any) -> Report:
    guard = Guard({"checks": ["grounding"], **settings}, nli=TableNli(ROWS))
    report = guard.check_sync(RESPONSE, evidence=EVIDENCE, **arguments)
    guard.close()
    return report


def test_measures_stand_in_metrics_and_details() -> None:
    report = check({"scoring": {"measures": ["nli", "ngram", "logprobs"]}}, samples=[TRUE, TRUE])
    assert report.metrics["measure_nli"] == pytest.approx(0.95)
    assert 0.0 < report.metrics["measure_ngram"] <= 1.0
    assert 0.0 < report.metrics["measures_score"] <= 1.0
    assert "measure_logprobs" not in report.metrics
    bearer = report.checks["grounding"]
    measures = bearer.details["measures"]
    assert measures["missing"] == {"logprobs": "no_logprobs"} and "tower" not in str(measures)
    assert [RESPONSE[entry["start"] : entry["end"]] for entry in measures["claims"]] == [TRUE, FALSE]
    assert [entry["scores"]["nli"] for entry in measures["claims"]] == [pytest.approx(0.1), pytest.approx(0.95)]


def test_milliseconds_of_each_measure_stand_beside_those_of_the_checks() -> None:
    report = check({"scoring": {"measures": ["nli", "logprobs"]}})
    assert set(report.timings_ms) == {"grounding", "measure_nli", "measure_logprobs", "total"}
    assert 0 < report.timings_ms["measure_nli"] < report.timings_ms["total"]
    assert report.plain(redaction="drop")["timings_ms"] == report.timings_ms


def test_measures_decide_nothing() -> None:
    plain, measured = check({}), check({"scoring": {"measures": ["nli"]}})
    assert (plain.status, plain.decision, plain.hallucination_score) == (
        measured.status,
        measured.decision,
        measured.hallucination_score,
    )
    assert not [name for name in plain.metrics if name.startswith("measure")]


def test_a_judge_beside_local_measures_is_asked_about_what_they_leave_unsure(server: ReplayServer) -> None:
    settings = {"llm": {"base_url": server.base_url, "model": "replay"}, "scoring": {"measures": ["nli", "judge"]}}
    report = check(settings)
    assert server.requests == []  # both claims are clear
    assert report.llm.saved_calls == 1
    bearer = report.checks["grounding"]
    assert bearer.details["measures"]["missing"] == {"judge": "decided_locally"}


def test_a_judge_that_was_not_asked_about_the_wrong_claim_gives_no_number_for_the_response(
    server: ReplayServer,
) -> None:
    verdict = {"claim": 1, "reason": "stated", "quote": "finished in 1889", "level": 4}
    server.default(json.dumps({"verdicts": [verdict]}))
    settings = {
        "llm": {"base_url": server.base_url, "model": "replay", "api_key": "none"},
        "scoring": {"measures": ["nli", "judge"], "cascade": {"low": 0.0, "high": 0.5}},
    }
    report = check(settings)  # only the true claim, at .1, lies in the band
    assert "measure_judge" not in report.metrics
    assert report.metrics["measures_score"] == pytest.approx(0.95)
    bearer = report.checks["grounding"]
    assert [claim["scores"]["judge"] for claim in bearer.details["measures"]["claims"]] == [0.0, None]


def test_an_ensemble_of_two_checks_about_the_same_claims_speaks() -> None:
    """`grounding` leaves its claims and its score to `claims`, and the ensemble had found no score of it."""
    ensemble = {"weights": {"grounding": 0.0, "claims": 0.0}, "intercept": 0.0}
    report = check({"checks": ["grounding", "claims"], "calibration": {"ensemble": ensemble}})
    assert report.hallucination_score == pytest.approx(0.5)


def test_claims_are_extracted_where_no_check_made_any() -> None:
    settings = {"checks": ["consistency"], "scoring": {"measures": ["nli"]}}
    report = check(settings, samples=[TRUE, TRUE])
    assert report.metrics["measure_nli"] == pytest.approx(0.95)


def test_risk_thresholds_of_the_settings_hold_for_the_report() -> None:
    assert check({}).risk_level == "high"
    low = check({"scoring": {"risk": {"low": 1.0, "high": 1.0}}})
    assert low.risk_level == ("low" if (low.hallucination_score or 0) < 1 else "high")


def test_composite_score_of_a_report() -> None:
    report = check({})
    faithfulness, groundedness = report.metrics["faithfulness"], report.metrics["groundedness"]
    assert report.metrics["composite_score"] == pytest.approx(1 - (faithfulness + groundedness) / 2)
    assert report.metrics["composite_measured"] == 0.5


@pytest.mark.parametrize(
    ("metrics", "score", "measured"),
    [
        ({}, None, None),
        ({"claims": 3.0}, None, None),
        ({"faithfulness": 1.0}, 0.0, 0.25),
        ({"faithfulness": 0.5, "attribution_precision": 0.0}, 0.75, 0.5),
        ({"pairwise_contradiction_rate": 0.4, "sample_disagreement": 0.9}, 0.4, 0.25),
        ({"sample_disagreement": 0.9}, 0.9, 0.25),
        ({"faithfulness": 0.9, "attribution_precision": 1.0, "groundedness": 0.8, "sample_disagreement": 0.5}, 0.2,
         1.0),
    ],
)  # fmt: skip
def test_composite_metrics(metrics: dict[str, float], score: float | None, measured: float | None) -> None:
    expected = {} if score is None else {"composite_score": score, "composite_measured": measured}
    assert composite_metrics(metrics, CompositeWeights()) == pytest.approx(expected)


def test_measures_join_the_check_that_speaks_about_claims() -> None:
    report = check({"checks": ["grounding", "claims"], "scoring": {"measures": ["nli"]}})
    assert report.metrics["measure_nli"] == pytest.approx(0.95)
    assert [name for name, result in report.checks.items() if "measures" in result.details] == ["claims"]
