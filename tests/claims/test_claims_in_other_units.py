"""Values in other units and spellings, through the engine: equal ones are supported, others are a number's error."""

import pytest

from evidencerails import Guard

EQUAL = [
    ("The bridge is 1,500 metres long.", "The bridge is 1.5 km long."),
    ("The wall is 3 feet high.", "The wall is 0.91 metres high."),
    ("The trial took two weeks.", "The trial took 14 days."),
    ("The box holds a dozen eggs.", "The box holds twelve eggs."),
    ("Half the members voted for it.", "50 percent of the members voted for it."),
    ("The oven must reach 180 °C.", "The oven must reach 356 °F."),
]
OTHER = [
    ("The bridge is 1,600 metres long.", "The bridge is 1.5 km long."),
    ("The wall is 5 feet high.", "The wall is 0.91 metres high."),
    ("The trial took three weeks.", "The trial took 14 days."),
    ("The box holds two dozen eggs.", "The box holds twelve eggs."),
    ("40 % of the members voted for it.", "Half of the members voted for it."),
    ("The oven must reach 180 °F.", "The oven must reach 180 °C."),
]


@pytest.mark.parametrize(("claim", "evidence"), EQUAL)
async def test_an_equal_value_is_supported(claim: str, evidence: str) -> None:
    report = await Guard({"checks": ["claims"]}).check(claim, evidence=evidence)
    assert (report.status, report.claims[0].label, report.claims[0].text) == ("grounded", "supported", claim)


@pytest.mark.parametrize(("claim", "evidence"), OTHER)
async def test_another_value_is_contradicted(claim: str, evidence: str) -> None:
    report = await Guard({"checks": ["claims"]}).check(claim, evidence=evidence)
    assert (report.status, report.claims[0].label) == ("hallucinated", "contradicted")
    assert "number" in report.claims[0].error_types
    assert (await Guard({"checks": ["grounding"]}).check(claim, evidence=evidence)).status == "hallucinated"


async def test_equal_values_of_a_wrong_claim_are_no_error_of_number() -> None:
    claim, evidence = "The bridge in Lyon is 1,500 metres long.", "The bridge in Oslo is 1.5 km long."
    report = await Guard({"checks": ["claims"]}).check(claim, evidence=evidence)
    assert report.status == "hallucinated"
    assert report.claims[0].error_types == ("entity",)
