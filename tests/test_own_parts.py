"""A check, a measure and an NLI backend of the user's own, each in one file and in no other."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evidencerails import Guard
from evidencerails.errors import SettingsError

CHECK = """
from evidencerails.report import CheckResult, Finding

class NoShouting:
    name, version = "no_shouting", "1"

    async def run(self, exchange, context):
        if not exchange.response.isupper():
            return CheckResult(name=self.name, version=self.version, status="grounded", score=0.0)
        finding = Finding(kind="structure_violation", category="structural", severity="high", origin="extrinsic",
                          check=self.name, version=self.version, reason="it shouts")
        return CheckResult(name=self.name, version=self.version, status="hallucinated", score=1.0, findings=(finding,))
"""
MEASURE = """
from evidencerails.measures.base import ClaimScore, result_of

class Digits:
    name, version = "digits", "1"

    async def measure(self, exchange, claims, context):
        return result_of(self, [ClaimScore(score=float(any(c.isdigit() for c in claim.text))) for claim in claims])
"""


class SaysYes:
    """Entails everything."""

    name, version, max_tokens = "says-yes", "1", 512
    languages: tuple[str, ...] = ("*",)

    def scores(self, pairs: Sequence[tuple[str, str]]) -> Any:
        return np.tile(np.array([[0.9, 0.08, 0.02]], np.float32), (len(pairs), 1))

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        return [(place, place + 1) for place in range(len(text))]


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_check.py").write_text(CHECK)
    (tmp_path / "my_measure.py").write_text(MEASURE)
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.usefixtures("written")
@pytest.mark.parametrize(("response", "decision"), [("IT IS RED.", "block"), ("It is red.", "allow")])
def test_a_check_in_one_file_decides(response: str, decision: str) -> None:
    with_own = Guard({"checks": ["my_check:NoShouting"]})
    report = with_own.check_sync(response)
    assert (report.decision, list(report.checks)) == (decision, ["no_shouting"])
    with_own.close()


@pytest.mark.usefixtures("written")
def test_a_measure_in_one_file_is_a_number_of_the_report() -> None:
    guard = Guard({"checks": ["grounding"], "scoring": {"measures": ["my_measure:Digits", "nli"]}})
    report = guard.check_sync("The bridge opened in 1932.", evidence="The bridge opened in 1932.")
    assert report.metrics["measure_digits"] == 1.0 and report.metrics["measure_nli"] < 0.5
    assert report.metrics["measures_score"] < 0.5  # without a weight it counts nothing there
    guard.close()


def test_an_nli_backend_in_one_file_reads_the_evidence() -> None:
    guard = Guard({"checks": ["grounding"]}, nli=SaysYes())
    report = guard.check_sync("Whales sing at night.", evidence="Whales are mammals.")
    assert report.claims[0].label == "supported" and "says-yes" in report.checks["grounding"].version
    guard.close()


@pytest.mark.usefixtures("written")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("my_chek:NoShouting", "cannot import 'my_chek:NoShouting': ModuleNotFoundError"),
        ("my_check:Nobody", "cannot import 'my_check:Nobody': AttributeError"),
        ("my_measure:Digits", "'my_measure:Digits' has no run"),
    ],
)
def test_what_cannot_be_made_is_named_at_the_start(name: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        Guard({"checks": [name]})
