"""The curves from drift to probability: rising, drawn to the middle where few samples speak, shipped for all ways."""

import json
from pathlib import Path
from typing import get_args

import pytest

from evidencerails import Guard
from evidencerails.checks.agreement import Vote
from evidencerails.checks.consistency import score_of
from evidencerails.errors import ModelFileError
from evidencerails.measures.drift import DriftModel
from evidencerails.settings.claims import ConsistencySettings

WAYS = get_args(ConsistencySettings.model_fields["agreement"].annotation)
TOWER = "The Eiffel Tower was completed in 1889."


@pytest.mark.parametrize("agreement", WAYS)
def test_more_drift_is_more_likely_wrong_and_more_samples_are_more_certain(agreement: str) -> None:
    model = DriftModel.load()
    for samples in (1, 2, 5, 20):
        values = [model.probability(agreement, drift / 10, samples) for drift in range(11)]
        assert values == sorted(set(values)) and 0.0 < values[0] < 0.5 and values[-1] < 1.0
        assert samples < 5 or values[-1] > 0.5
    assert model.probability(agreement, 0.0, 10) < model.probability(agreement, 0.0, 1)
    assert model.probability(agreement, 1.0, 10) > model.probability(agreement, 1.0, 1)


def test_a_reported_sentence_is_more_likely_wrong_than_not() -> None:
    assert score_of([Vote(0.5, 0.5)] * 2, "judge", DriftModel.load()) >= 0.5
    assert score_of([Vote(0.0, 0.0)] * 2, "judge", DriftModel.load()) < 0.5


def test_where_the_curves_come_from_stands_with_them() -> None:
    model = DriftModel.load()
    assert set(model.curves) == set(WAYS)
    assert model.provenance["command"].startswith("python -m training.consistency")
    held_out = model.provenance["folds_by_biography"]
    for way in WAYS:
        assert held_out[way]["log_loss"] < held_out[way]["log_loss_of_raw_drift"]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", json.dumps({"version": "1"}), json.dumps({"version": "1", "curves": 5})]
)
def test_a_damaged_file_is_an_error_that_names_it(text: str, tmp_path: Path) -> None:
    file = tmp_path / "drift.json"
    file.write_text(text)
    with pytest.raises(ModelFileError, match=r"(?s)drift\.json.*reinstall"):
        DriftModel.load(file)


async def test_the_score_of_a_report_is_the_calibrated_one() -> None:
    guard = Guard({"checks": ["consistency"]})
    report = await guard.check(TOWER, samples=["The Eiffel Tower was completed in 1925."] * 2)
    drift = report.metrics["sample_disagreement"]
    assert report.hallucination_score == DriftModel.load().probability("nli", drift, 2) > 0.5
    assert report.findings[0].score == report.hallucination_score
    assert report.checks["consistency"].details["sentences"][0]["drift"] == round(drift, 4)
    assert f"drift-{DriftModel.load().version}" in report.checks["consistency"].version
