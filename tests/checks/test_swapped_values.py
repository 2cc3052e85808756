"""Numbers that change places inside a sentence."""

from __future__ import annotations

import pytest

from evidencerails import Guard
from evidencerails.checks.swapped_values import swaps_values

BATTERY = "Its battery lasts up to 55 minutes in eco mode and 12 minutes in turbo mode."
WARRANTY = "The warranty covers the motor for five years and all other parts for two years."
EXCESS = "An excess of £250 applies to each escape of water claim, and an excess of £100 applies to all other claims."
FARES = "Adults pay 24 euros and children 12 euros."


@pytest.mark.parametrize(
    ("claim", "sentence"),
    [
        ("The battery lasts 12 minutes in eco mode.", BATTERY),
        ("The battery lasts up to 55 minutes in turbo mode and 12 minutes in eco mode.", BATTERY),
        ("The warranty covers the motor for two years and all other parts for five years.", WARRANTY),
        ("An excess of £100 applies to escape of water claims.", EXCESS),
    ],
)
def test_a_number_in_the_place_of_another_is_seen(claim: str, sentence: str) -> None:
    assert swaps_values(claim, sentence)


@pytest.mark.parametrize(
    ("claim", "sentence"),
    [
        ("The battery lasts 55 minutes in eco mode.", BATTERY),
        ("In turbo mode the battery is empty after 12 minutes.", BATTERY),
        ("Parts other than the motor have a warranty of two years.", WARRANTY),
        ("The motor has five years of warranty.", WARRANTY),
        ("£100 is the excess for all other claims.", EXCESS),
        ("You pay 12 euros for children.", FARES),
        ("You pay 12 euros for kids.", FARES),  # the verb belongs to both
        ("Kids pay 12 euros.", FARES),
        ("Children pay 24 euros.", FARES),  # wrong, but not by words alone: "pay" stands beside 24
        ("Adults pay 24 euros.", FARES),
        ("The battery lasts 40 minutes in eco mode.", BATTERY),  # no number of the sentence: others see that
        ("Sales were 36 million, after 41 million.", "Sales fell from 41 million to 36 million."),
        ("It has 24 rooms.", "It has 24 rooms and 12 beds."),
        ("", BATTERY),
        ("Nothing here.", "Nothing there."),
    ],
)
def test_another_wording_is_no_exchange(claim: str, sentence: str) -> None:
    assert not swaps_values(claim, sentence)


def test_the_engine_calls_it_contradicted() -> None:
    guard = Guard({"checks": ["grounding"]})
    swapped = guard.check_sync("The battery lasts up to 12 minutes in eco mode.", evidence=[BATTERY])
    right = guard.check_sync("The battery lasts up to 12 minutes in turbo mode.", evidence=[BATTERY])
    assert (swapped.claims[0].label, swapped.decision) == ("contradicted", "block")
    assert right.status == "grounded"
