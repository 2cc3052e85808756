"""Conclusions that their form shows to be wrong, and near misses about which the form says nothing."""

import pytest

from evidencerails import Guard
from evidencerails.checks.logic.reasoning import steps_of
from evidencerails.checks.logic.syllogisms import form_faults


def fault(text: str) -> str | None:
    steps = steps_of(text)
    found = form_faults([step.text for step in steps], [n for n, step in enumerate(steps) if step.is_conclusion])
    assert len(found) <= 1
    return next(iter(found.values()), None)


CONTRADICTED = [
    "All men are mortal. Socrates is a man. Therefore Socrates is immortal.",
    "All men are mortal. Socrates is a man. Therefore Socrates is not mortal.",
    "All metals are conductors. Copper is a metal. Thus, copper isn't a conductor.",
    "No reptiles are mammals. All snakes are reptiles. Thus, some snakes are mammals.",
    "Some doctors are smokers. All smokers are ill. Therefore no doctors are ill.",
    "All birds can fly. A penguin is a bird. Hence a penguin cannot fly.",
    "Premise 1: All metals are conductors. Premise 2: Copper is a metal. Conclusion: Copper is not a conductor.",
]
MAY_BE_FALSE = [
    "All cats are animals. All dogs are animals. Therefore all cats are dogs.",  # the middle term
    "All poets are dreamers. Anna is a dreamer. So Anna is a poet.",  # the converse
    "Some cats are pets. Some pets are fish. Therefore some cats are fish.",  # two particulars
]
VALID = [
    "All men are mortal. Socrates is a man. Therefore Socrates is mortal.",
    "All men are mortal. Socrates is a man. Therefore Socrates is not immortal.",
    "No reptiles are mammals. All snakes are reptiles. Thus, no snakes are mammals.",
    "All poets are dreamers. All dreamers are idle people. Therefore some idle people are poets.",
    "Some cats are pets. All pets are loved. Therefore some cats are loved.",
]
NO_FORM = [
    "Most poets are dreamers. Anna is a poet. So Anna is not a dreamer.",
    "All poets are dreamers. Anna is a dreamer. So Anna is tired.",
    "All poets are dreamers. Anna is a dreamer. So Ben is a poet.",
    "All poets, as we know, are dreamers. Anna is a dreamer. So Anna is a poet.",  # a comma inside
    "All tickets are sold. The show is popular. Therefore the show is sold.",  # no middle term
    "All cats are dogs. No cats are dogs. Therefore no cats are dogs.",  # premises disagree
    "Birds are animals. Rex is an animal. So Rex is a bird.",  # a bare plural may mean some
    "All birds are animals. He is an animal. So he is a bird.",
    "All cats are animals. All dogs are animals. Therefore all cats are dogs. This is a fallacy.",  # a lesson
    "All men are mortal. Socrates is a man. Is Socrates therefore not mortal?",
    "The bridge is closed. The bridge is old. Therefore the bridge is not safe.",  # no quantifier
]


@pytest.mark.parametrize(
    ("found", "text"),
    [
        *(("contradicted", text) for text in CONTRADICTED),
        *(("invalid", text) for text in MAY_BE_FALSE),
        *((None, text) for text in (*VALID, *NO_FORM)),
    ],
)
def test_what_the_form_of_a_conclusion_shows(found: str | None, text: str) -> None:
    assert fault(text) == found


def test_a_false_syllogism_is_found_offline_and_says_why() -> None:
    response = "All men are mortal. Socrates is a man. Therefore Socrates is immortal."
    report = Guard({"checks": ["logic"]}).check_sync(response=response)
    (finding,) = report.findings
    assert (report.status, finding.kind, finding.violation) == ("hallucinated", "logic_error", "invalid_step")
    assert finding.span is not None and finding.span.text == "Therefore Socrates is immortal."
    assert finding.reason == "by their form, the steps before it say otherwise"


def test_many_premises_take_bounded_time() -> None:
    premises = "".join(f"All x{n} are x{n + 1}. " for n in range(300))
    assert fault(premises + "Therefore all x0 are x300.") is None
