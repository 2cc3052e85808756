"""A check, a measure and an NLI backend of the user's own, each in one file and in no other."""

import importlib
from pathlib import Path

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


BACKEND = '''
import numpy as np

class WordsInCommon:
    """Entailment is the share of a claim's words that the evidence has."""

    name, version, max_tokens, languages = "words-in-common", "7", 512, ("*",)

    def scores(self, pairs):
        shares = [len({*claim.split()} & {*text.split()}) / len(claim.split()) for text, claim in pairs]
        return np.array([(share, 1 - share, 0) for share in shares])

    def token_offsets(self, text):
        return [(at, at + 1) for at in range(len(text))]
'''


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_check.py").write_text(CHECK)
    (tmp_path / "my_measure.py").write_text(MEASURE)
    (tmp_path / "my_backend.py").write_text(BACKEND)
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


@pytest.mark.usefixtures("written")
def test_an_nli_backend_in_one_file_reads_the_evidence() -> None:
    guard = Guard(nli=importlib.import_module("my_backend").WordsInCommon())
    evidence = "Die Brücke wurde 1932 eröffnet."
    right, wrong = (guard.check_sync(text, evidence=evidence) for text in (evidence, "Der Tunnel bleibt geschlossen."))
    assert (right.status, wrong.status) == ("grounded", "hallucinated")
    assert "words-in-common@7" in right.claims[0].version
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
