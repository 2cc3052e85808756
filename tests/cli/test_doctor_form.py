"""The doctor proves `check structure` and `check logic` with plants of their own."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_doctor import ALWAYS, IMPORT, MODELS, examined, written

SCHEMA = (
    "custom_data: {evidencerails: {activation: always, structure: {constrain: response_format, "
    "schema: {type: object, required: [a]}}}}\n"
)


@pytest.mark.parametrize(
    ("flow", "settings", "effect"),
    [("check structure", SCHEMA, "blocked"), ("check structure", ALWAYS, "blocked"), ("check logic", ALWAYS, "warned")],
)
def test_both_rails_fire(evidencerails: object, tmp_path: Path, flow: str, settings: str, effect: str) -> None:
    rails = f"rails: {{output: {{flows: [{flow}]}}}}\n"
    folder = written(tmp_path / "app", {"config.yml": MODELS + IMPORT + settings + rails})
    code, rows, _ = examined(evidencerails, folder)  # type: ignore[arg-type]
    assert code == 0
    assert {(row["flow"], row["planted"], row["clean"]) for row in rows} == {(flow, effect, "passed")}
