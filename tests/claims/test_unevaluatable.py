"""What nobody could decide is `unevaluatable` offline too: never clean, never an invention."""

import pytest

from evidencerails import Guard

EVIDENCE = "The Halden Bridge opened in 1932. It crosses the river Tista."
FACT = "The Halden Bridge opened in 1932."
TASTE = ["It is a wonderful place to be.", "The view is lovely."]


@pytest.mark.parametrize("checks", [["claims"], ["grounding", "claims"]])
@pytest.mark.parametrize("claim", TASTE)
async def test_a_matter_of_taste_is_unverified(claim: str, checks: list[str]) -> None:
    report = await Guard({"checks": checks}).check(f"{FACT} {claim}", evidence=EVIDENCE)
    assert [c.label for c in report.claims] == ["supported", "unevaluatable"]
    assert (report.status, report.decision, report.hallucination_score) == ("unverified", "warn", None)
    assert report.reason.startswith("claims: unevaluatable_claims: 1 of 2") or "unevaluatable_claims" in report.reason
    assert report.claims[1].score is None and not report.claims[1].error_types
    assert report.metrics["claims_unevaluatable"] == 1
    assert not report.findings


async def test_an_opinion_that_the_evidence_states_is_supported() -> None:
    report = await Guard({"checks": ["claims"]}).check(
        "The film is boring.", evidence="Critics agree: the film is boring."
    )
    assert report.claims[0].label == "supported"


async def test_beside_an_invention_it_excuses_nothing() -> None:
    report = await Guard({"checks": ["claims"]}).check(
        f"{TASTE[0]} The Halden Bridge opened in 1951.", evidence=EVIDENCE
    )
    assert report.status == "hallucinated"
    assert [c.label for c in report.claims] == ["unevaluatable", "contradicted"]


@pytest.mark.parametrize(
    "claim", ["I think the Halden Bridge opened in 1951.", "In my opinion, the mayor of Halden was arrested for fraud."]
)
async def test_a_fact_dressed_as_an_opinion_is_checked(claim: str) -> None:
    report = await Guard({"checks": ["claims"]}).check(claim, evidence=EVIDENCE)
    assert report.status == "hallucinated"
    assert report.claims[0].label in ("contradicted", "absent")
