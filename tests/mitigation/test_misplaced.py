"""Values are bound to what their sentence says: one that belongs to another fact is misplaced."""

from __future__ import annotations

import pytest

from evidencerails.exchange import Passage
from evidencerails.mitigation.misplaced import made_limits, misplaced_values

PASSAGES = [
    Passage(
        id="1",
        text="The Halden bridge opened in 1932. It is 412 metres long and 18 metres wide. It was designed by Ove "
        "Lund, an engineer from Oslo. Tolls were abolished in 1974 by Mira Stein.",
    ),
    Passage(
        id="2",
        text="The Vik bridge is 300 metres long. It was opened by the king in 1951 and designed by Ida Falk. The Vik "
        "bridge closed on 4 May 1990, the Vik road on 5 June 1991.",
    ),
]


@pytest.mark.parametrize(
    ("text", "old", "misplaced"),
    [
        ("The Halden bridge opened in 1974.", "The Halden bridge opened in 1911.", ["1974"]),
        ("The Halden bridge was designed by Mira Stein.", "The Halden bridge was designed by Tom Brandt.", ["stein"]),
        ("The Vik bridge is 412 metres long.", "The Vik bridge is 250 metres long.", ["412"]),
        ("The Halden bridge is 300 metres long.", "The Halden bridge is 250 metres long.", ["300"]),
        ("The Halden bridge was designed by Ida Falk.", "The Halden bridge was designed by Tom Brandt.", ["falk"]),
        ("The Halden bridge is 1974 metres long.", "The Halden bridge is 300 metres long.", ["1974"]),
        ("Tolls on the Halden bridge were abolished in 1932.", "Tolls were abolished in 1988.", ["1932"]),
        ("The Halden bridge opened in 412.", "The Halden bridge opened in 1911.", ["412"]),
        ("The Halden bridge is 412 long.", "The Halden bridge is 300 metres long.", ["412"]),
        ("The Halden bridge is 412 feet long.", "The Halden bridge is 300 metres long.", ["412"]),
        ("The Halden bridge is 18 km wide.", "The Halden bridge is 30 metres wide.", ["18"]),
    ],
)
def test_a_value_of_another_fact_is_misplaced(text: str, old: str, misplaced: list[str]) -> None:
    assert misplaced_values(text, old, PASSAGES) == misplaced


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("The Halden bridge opened in 1932.", "The Halden bridge opened in 1911."),
        ("It opened in 1932.", "It opened in 1911."),
        ("The Halden bridge is 412 metres long.", "The Halden bridge is 300 metres long."),
        ("The Halden bridge, 412 metres in length, was designed by Ove Lund.", "It was designed by Tom Brandt."),
        ("Ove Lund from Oslo drew the plans of the Halden bridge.", "Tom Brandt drew the plans."),
        ("In 1974 the tolls of the Halden bridge were abolished.", "In 1988 the tolls were abolished."),
        ("The Vik bridge is 300 metres long.", "The Vik bridge is 412 metres long."),
        ("The Vik bridge was opened in 1951.", "The Vik bridge was opened in 1932."),
        ("The Vik bridge closed in May 1990.", "The Vik bridge closed in 1980."),
        ("The evidence does not say who paid.", "Tom Brandt paid."),
        ("The Vik bridge is 0.3 km long.", "The Vik bridge is 250 metres long."),
    ],
)
def test_a_value_in_its_own_place_is_not(text: str, old: str) -> None:
    assert misplaced_values(text, old, PASSAGES) == []


def test_without_evidence_nothing_is_misplaced() -> None:
    assert misplaced_values("It opened in 1974.", "It opened in 1911.", []) == []


LIMITS = [
    Passage(id="1", text="The bridge opened in 1932. It carries more than 40,000 cars a day. It closed before 1990.")
]


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("The bridge opened before 1932.", ["before 1932"]),
        ("It carries under 40,000 cars a day.", ["under 40,000"]),
        ("The bridge opened in 1932.", []),
        ("It carries more than 40,000 cars a day.", []),
        ("The bridge closed before 1990.", []),
    ],
)
def test_a_value_is_no_limit_unless_the_evidence_makes_it_one(text: str, made: list[str]) -> None:
    assert made_limits(text, LIMITS) == made
