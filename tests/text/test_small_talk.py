"""What claims nothing is left alone; a statement is not, however friendly the words before it."""

import json
from pathlib import Path

import pytest

from evidencerails import Guard
from evidencerails.text.claimable import claim_sentences

HELD_OUT = Path(__file__).resolve().parents[2] / "training" / "passages_held_out.jsonl"


@pytest.mark.parametrize(
    "text",
    [
        "Sure thing!",
        "Happy to help with that one.",
        "Let me check the schedule for you.",
        "I hope that clears things up!",
        "Lovely choice of roses!",
        "Enjoy your stay!",
    ],
)
def test_small_talk_claims_nothing(text: str) -> None:
    assert claim_sentences(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "Good news: the fee was dropped!",
        "Happy to say the fee was dropped.",
        "Sorry, it was cancelled.",
        "Congratulations, you qualify for the discount.",
        "It is safe.",
        "Nobody was hurt.",
        "Dogs are welcome.",
        "Yes, it does.",
    ],
)
def test_a_statement_stays_one(text: str) -> None:
    assert [span.text for span in claim_sentences(text)] == [text]


def test_no_statement_of_the_held_out_rows_is_taken_for_small_talk() -> None:
    """One in a hundred makes no claim for another reason: it says that the documents do not tell something."""
    rows = [json.loads(line) for line in HELD_OUT.read_text(encoding="utf-8").splitlines()]
    texts = [statement[-1] for row in rows for statement in row["statements"]]
    assert sum(not claim_sentences(text) for text in texts) <= 0.015 * len(texts)


def test_an_opener_changes_no_verdict() -> None:
    guard = Guard({"checks": ["grounding"]})
    evidence = ["The museum is closed on Mondays. Entry costs 9 euros."]
    plain = guard.check_sync("Entry costs 9 euros.", evidence=evidence)
    said = "Happy to help with that one! Entry costs 9 euros. Enjoy your visit!"
    friendly = guard.check_sync(said, evidence=evidence)
    assert (plain.status, plain.hallucination_score) == (friendly.status, friendly.hallucination_score)
