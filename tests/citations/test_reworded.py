"""A claim in other words than the passage that it cites: what counts is what the passage entails, and every value."""

from __future__ import annotations

import pytest

from evidencerails.checks.citation.verification import _judged_cited
from evidencerails.checks.evidence_nli import Reading, Seen
from evidencerails.checks.grounding import judged_reading
from evidencerails.config import GroundingSettings
from evidencerails.exchange import Passage
from evidencerails.nli.windows import Window
from evidencerails.report import NliScores
from evidencerails.scoring.verdict import VerdictModel, logit
from evidencerails.scoring.words import words_of

TEXT = "A ticket for the mill costs 40 crowns."
CLAIM = "Visitors pay 40 crowns to enter the mill."


def reading(entailment: float, *, missing: tuple[str, ...] = (), wording: float = 1.0) -> Reading:
    rest = (1.0 - entailment) / 2
    passage = Passage(id="1", text=TEXT)
    nli = NliScores(entailment=entailment, neutral=rest, contradiction=rest)
    seen = Seen(Window(passage, 0, len(TEXT)), nli, 1.0)
    words = {"missing_words": wording, "missing_near": wording, "missing_bigrams": wording}
    values = {"missing_numbers": 1.0} if "number" in missing else {}
    features = {"entailment": logit(entailment), "contradiction": logit(rest), **words, **values}
    return Reading(CLAIM, words_of(CLAIM), features, seen, seen, seen, missing)


def labels(given: Reading) -> tuple[str, str]:
    """By any evidence, and by evidence that the answer cites."""
    model, settings = VerdictModel.load(), GroundingSettings()
    return judged_reading(given, model, settings).label, _judged_cited(given, model, settings).label


def test_a_citation_settles_what_the_wording_leaves_open() -> None:
    by_any, by_cited = labels(reading(0.7))
    assert by_any == "partially_supported", "the example no longer shows the difference: choose a less sure one"
    assert by_cited == "supported"


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(reading(0.7, missing=("number",)), id="a number that the passage lacks"),
        pytest.param(reading(0.45), id="entailment less likely than not"),
        pytest.param(reading(0.1), id="nothing entails it"),
    ],
)
def test_a_citation_supports_nothing_else(given: Reading) -> None:
    by_any, by_cited = labels(given)
    assert by_any == by_cited != "supported"
