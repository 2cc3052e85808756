"""Values in other units and spellings: equal ones are read as the evidence has them, others are known to be others."""

import pytest

from evidencerails.text.same_values import are_equal, in_units_of
from evidencerails.text.values import values_of

EQUAL = [
    # claim, evidence, the claim as the evidence would word it
    ("It is 1,500 metres long.", "It is 1.5 km long.", "It is 1.5 km long."),
    ("It is 1.5 km long.", "It is 1,500 m long.", "It is 1,500 m long."),
    ("It lasts 1.5 hours.", "It lasts 90 minutes.", "It lasts 90 minutes."),
    ("It lasts 90 minutes.", "It runs for an hour and a half.", "It lasts an hour and a half."),
    ("It took 30 minutes.", "It took half an hour.", "It took half an hour."),
    ("It is 3 feet high.", "It is 0.91 metres high.", "It is 0.91 metres high."),
    ("It is 5 miles long.", "It is 8 km long.", "It is 8 km long."),
    ("It is 8 km long.", "It is 5 miles long.", "It is 5 miles long."),
    ("It weighs 2,500 grams.", "It weighs 2.5 kg.", "It weighs 2.5 kg."),
    ("It took two weeks.", "It took 14 days.", "It took 14 days."),
    ("It runs for 24 months.", "It runs for two years.", "It runs for two years."),
    ("It must reach 180 °C.", "It must reach 356 °F.", "It must reach 356 °F."),
    ("It has 12 eggs.", "It has a dozen eggs.", "It has a dozen eggs."),
    ("It has a dozen eggs.", "It has twelve eggs.", "It has twelve eggs."),
    ("50 % of them voted.", "Half of them voted.", "Half of them voted."),
    ("Half the members voted.", "50 percent of the members voted.", "50 percent of the members voted."),
    ("A quarter of the staff left.", "25% of the staff left.", "25% of the staff left."),
    ("It earned $1.5bn.", "It earned 1,500 million dollars.", "It earned 1,500 million dollars."),
]
OTHER = [
    ("It is 1,600 metres long.", "It is 1.5 km long."),
    ("It lasts 2 hours.", "It lasts 90 minutes."),
    ("It is 5 feet high.", "It is 0.91 metres high."),
    ("It is 8 miles long.", "It is 8 km long."),
    ("It is 1 mile away.", "It is 2 km away."),
    ("It weighs 25,000 grams.", "It weighs 2.5 kg."),
    ("It took three weeks.", "It took 14 days."),
    ("It runs for 36 months.", "It runs for two years."),
    ("It must reach 180 °F.", "It must reach 180 °C."),
    ("40 % of them voted.", "Half of them voted."),
    ("A third of the staff left.", "25% of the staff left."),
    ("A third of them voted.", "Half of them voted."),
    ("Entry costs $12.", "Entry costs 12 euros."),
]
NEITHER = [
    # nothing to reword, and nothing that states another value
    ("It is 1,500 metres long.", "It is 300 metres high."),
    ("It lasts 90 minutes.", "It cost 90 million dollars."),
    ("It lasts 2 hours.", "It lasts at least 90 minutes."),
    ("It lasts more than an hour.", "It lasts 90 minutes."),
    ("Trains leave every 2 hours.", "Trains leave every 30 minutes."),
    ("It is three years old.", "It was built in 14 days over three years."),
    ("3m people live there.", "It is 3 km long."),
    ("He ran half as fast.", "He ran 50 % faster."),
    ("It fell by 7.8 per cent.", "It fell by around 8 per cent."),
    ("The CoV-3 vaccine was sold.", "It came in three sizes."),
    ("A four-year mission ended.", "It had lasted four years."),
    ("It earned $ 1500.", "It earned $1,500."),
    ("It flies 2.4 miles a second.", "It flies 2. 4 miles a second ( 3. 9 km ) ."),
    ("", "It is 3 km long."),
    ("It is 3 km long.", ""),
]


@pytest.mark.parametrize(("claim", "evidence", "wording"), EQUAL)
def test_an_equal_value_is_read_as_the_evidence_has_it(claim: str, evidence: str, wording: str) -> None:
    assert in_units_of(claim, [evidence]) == wording


@pytest.mark.parametrize(("claim", "evidence"), [*OTHER, *NEITHER])
def test_another_value_stays_and_what_cannot_be_compared_is_left_alone(claim: str, evidence: str) -> None:
    assert in_units_of(claim, [evidence]) == claim


def test_a_value_in_the_claims_own_words_stays() -> None:
    claim = "It is 1,500 metres long."
    assert in_units_of(claim, ["It is 1.5 km long.", claim]) == claim


@pytest.mark.parametrize(
    ("claim", "stated", "equal"),
    [
        ("1.8 m", "6 feet", True),  # 1.829 m
        ("2.1 m", "6 feet", False),
        ("1.5 km", "1,540 m", True),  # rounded by the claim
        ("1,540 m", "1.5 km", False),  # the claim knows more than the evidence
        ("about 1,540 m", "1.5 km", True),
        ("100 miles", "160 km", True),  # 160.9 km
        ("100 miles", "170 km", False),
        ("100 kg", "220 lbs", True),
        ("32 °F", "0 °C", True),
        ("98.6 °F", "37 °C", True),
        ("100 °F", "37 °C", False),
        ("180 °C", "350 °F", True),
        ("2 hours", "2 km", False),
    ],
)
def test_rounding(claim: str, stated: str, equal: bool) -> None:
    # NIST SP 811, appendix B: 1 mi = 1.609344 km, 1 ft = 0.3048 m, 1 lb = 0.45359237 kg
    (ours,), (theirs,) = values_of(claim).quantities, values_of(stated).quantities
    assert are_equal(ours, theirs, claim, stated) is equal
