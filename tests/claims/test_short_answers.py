"""Answers of 1 to 10 characters are claims like any other, and a yes or no is read with its question."""

import pytest
from made import Make

from evidencerails.text.claimable import is_bare_reply

EVIDENCE = (
    "The Eiffel Tower was built in 1889 by Gustave Eiffel's company. It is located in Paris. It is 330 metres tall. "
    "It has 3 floors. Entry costs 12 euros. It is open daily."
)
PLACE, FLOORS = "Where is the Eiffel Tower?", "How many floors does the Eiffel Tower have?"
IN_PARIS, IN_LYON = "Is the Eiffel Tower in Paris?", "Is the Eiffel Tower in Lyon?"
ANSWERS = [
    ("7", FLOORS, "hallucinated"),
    ("3", FLOORS, "grounded"),
    ("Lyon", PLACE, "hallucinated"),
    ("Paris", PLACE, "grounded"),
    ("In Lyon!!", PLACE, "hallucinated"),
    ("1887.", "When was the Eiffel Tower built?", "hallucinated"),
    ("€5", "What does entry to the Eiffel Tower cost?", "hallucinated"),
    ("412 m", "How tall is the Eiffel Tower?", "hallucinated"),
    ("Yes", IN_PARIS, "grounded"),  # the word itself is not in the evidence, and was taken for a missing name
    ("No", IN_PARIS, "hallucinated"),  # and this one for a claim of which the evidence has every word
    ("Yes.", IN_LYON, "hallucinated"),
    ("No.", IN_LYON, "grounded"),
    ("It is.", IN_PARIS, "grounded"),
    ("It isn't.", IN_PARIS, "hallucinated"),
    ("Yes, it is", IN_LYON, "hallucinated"),
]


@pytest.mark.parametrize(("answer", "question", "status"), ANSWERS)
async def test_an_answer_of_a_few_characters(guard: Make, answer: str, question: str, status: str) -> None:
    report = await guard(checks=("grounding", "claims")).check(answer, evidence=EVIDENCE, prompt=question)
    assert len(answer) <= 10 and len(report.claims) == 1
    assert report.claims[0].span.text == answer
    assert report.status == status, report.reason


@pytest.mark.parametrize("answer", ["Yes.", "No, it is not."])
async def test_a_bare_yes_or_no_to_an_unknown_question_is_not_clean(guard: Make, answer: str) -> None:
    report = await guard(checks=("grounding", "claims")).check(answer, evidence=EVIDENCE)
    assert report.checks["claims"].status == "unverified" and report.decision != "allow"
    assert "no_question" in report.checks["claims"].reason


async def test_beside_other_claims_a_bare_yes_to_an_unknown_question_is_none(guard: Make) -> None:
    report = await guard().check("Yes, it does. The Eiffel Tower is located in Paris.", evidence=EVIDENCE)
    assert [claim.text for claim in report.claims] == ["The Eiffel Tower is located in Paris."]
    assert report.status == "grounded"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Yes", True),
        ("No, it is not.", True),
        ("no they didn’t", True),
        ("She did.", True),
        ("Yes! It does", True),
        ("It is in Lyon.", False),
        ("Nothing", False),
        ("No, in Lyon", False),
        ("1889", False),
        ("", False),
        (".", False),
    ],
)
def test_a_bare_reply_has_no_words_of_its_own(text: str, expected: bool) -> None:
    assert is_bare_reply(text) is expected
