"""A judge whose quote contradicts the claim is not believed; one who infers what no word rule sees is."""

import json

import pytest
from made import Make

from evidencerails import Guard
from evidencerails.testing import ReplayServer

EVIDENCE = (
    "The Halden Bridge opened in 1932 and is 412 metres long. It was designed by Karin Holm, an engineer from Drammen. "
    "The steel came from a mill in Sheffield. Cyclists may use the northern lane on weekdays. The toll was abolished "
    "in 1977. In 2004 the deck was renewed, and the work cost 14 million euros. A small museum beside the bridge tells "
    "the story of its builders. Every June the town holds a regatta under it."
)

LIES = [
    # claim that the evidence does not support, real words that are quoted for it, code of the objection or doubt
    ("The Halden Bridge opened in 1977.", "The toll was abolished in 1977", "quote_says_otherwise"),
    ("The deck cost 412 euros.", "the work cost 14 million euros", "quote_says_otherwise"),
    ("The museum opened in 2004.", "A small museum beside the bridge", "quote_lacks_values"),
    ("The museum opened in 1932.", "A small museum beside the bridge", "quote_lacks_values"),
    ("The museum was built by Lars Moe.", "A small museum beside the bridge", "evidence_lacks_values"),
    ("The bridge is made of wood.", "The Halden Bridge opened in 1932", "quote_lacks_claim"),
    ("Trucks are banned from the bridge.", "Cyclists may use the northern lane", "quote_about_something_else"),
]
HONEST = [
    ("The bridge was opened in 1932.", "opened in 1932"),
    ("Karin Holm drew the plans for the bridge.", "It was designed by Karin Holm"),
    ("Drivers no longer pay to cross.", "The toll was abolished in 1977"),
    ("The renewal of the deck was expensive.", "the work cost 14 million euros"),
    ("There is an exhibition about the people who built it.", "tells the story of its builders"),
    ("Boats race there once a year.", "Every June the town holds a regatta under it"),
]


def quoting(server: ReplayServer, quote: str) -> None:
    steps = {"facts": "a fact", "quote": quote, "comparison": "it agrees", "label": "supported", "error_types": []}
    server.default(json.dumps({"verdicts": [{"claim": 1, **steps}]}))


OVERRULED = ("quote_says_otherwise", "quote_about_something_else")


@pytest.mark.parametrize(("claim", "quote", "code"), [lie for lie in LIES if lie[2] in OVERRULED])
@pytest.mark.parametrize("on_doubt", ["supported", "escalate"])
async def test_a_quote_that_contradicts_the_claim_or_is_about_another_thing_proves_nothing(
    guard: Make, server: ReplayServer, claim: str, quote: str, code: str, on_doubt: str
) -> None:
    quoting(server, quote)
    report = await guard(classifier="llm", judge_over_local_doubt=on_doubt).check(claim, evidence=EVIDENCE)
    assert (report.status, report.decision, report.hallucination_score) == ("unverified", "warn", None)
    assert report.claims[0].label == "unevaluatable"
    assert report.claims[0].reason.startswith(f"{code}: the model said supported")


@pytest.mark.parametrize(("claim", "quote", "code"), [lie for lie in LIES if lie[2] not in OVERRULED])
async def test_beside_a_local_doubt_the_judge_or_a_person_decides(
    guard: Make, server: ReplayServer, claim: str, quote: str, code: str
) -> None:
    """Words that lack a value of the claim may still prove it; no word rule overrules who read them."""
    quoting(server, quote)
    report = await guard(classifier="llm").check(claim, evidence=EVIDENCE)
    assert (report.status, report.decision, report.claims[0].label) == ("grounded", "allow", "supported")
    careful = guard(classifier="llm", judge_over_local_doubt="escalate")
    report = await careful.check(claim, evidence=EVIDENCE)
    assert (report.status, report.claims[0].label) == ("unverified", "unevaluatable")
    assert report.claims[0].reason.startswith(f"local_doubt: {code}: the model said supported")
    assert [(finding.label, finding.span.text) for finding in report.findings if finding.span] == [
        ("unevaluatable", claim)
    ]
    assert report.decided_by.startswith("default, review unavailable")
    assert report.is_blocked


@pytest.mark.parametrize(
    ("claim", "quote"),
    [
        ("Crossing has cost nothing for drivers since the late seventies.", "The toll was abolished in 1977"),
        ("The bridge is older than the museum beside it suggests, at over ninety years.", "opened in 1932"),
        ("An engineer from Norway had a hand in it.", "an engineer from Drammen"),
        ("The steel was made in England.", "The steel came from a mill in Sheffield"),
    ],
)
async def test_an_inference_of_the_judge_clears_what_is_unsure_locally(
    server: ReplayServer, claim: str, quote: str
) -> None:
    quoting(server, quote)
    llm = {"model": "replay", "base_url": server.base_url, "api_key": "none", "max_retries": 0}
    guard = Guard({"checks": ["claims"], "llm": llm, "scoring": {"cascade": {"low": 0.0, "high": 1.0}}})
    report = await guard.check(claim, evidence=EVIDENCE)
    assert (report.status, report.claims[0].label) == ("grounded", "supported")


@pytest.mark.parametrize(("claim", "quote"), HONEST)
async def test_other_words_for_the_same_thing_are_believed(
    guard: Make, server: ReplayServer, claim: str, quote: str
) -> None:
    quoting(server, quote)
    report = await guard(classifier="llm").check(claim, evidence=EVIDENCE)
    assert (report.status, report.claims[0].label) == ("grounded", "supported")
    assert len(server.requests) == 1


async def test_a_sentence_among_many_alike_proves_itself(guard: Make, server: ReplayServer) -> None:
    # The sentences before it, with other years, had made it "contradicted by its own quote".
    sentences = [f"The basin number {n} of the harbour was opened in {1900 + n}." for n in range(10)]
    quoting(server, sentences[6])
    report = await guard(classifier="llm").check(sentences[6], evidence=" ".join(sentences))
    assert report.claims[0].label == "supported"
