"""The grounding check with a foreseeable backend: labels, findings, statuses, what is left alone."""

from typing import Any

import pytest
from made import Make

from evidencerails import Guard, Passage, Report

TOWER = "The Eiffel Tower was completed in 1889. It stands in Paris."
GERMAN = "Der Eiffelturm wurde im Jahr 1889 fertiggestellt und steht in Paris, der Hauptstadt von Frankreich."
MAYOR = "The mayor of Lyon is Smith."


async def grounding(guard: Make, response: str, settings: dict[str, Any] | None = None, **arguments: Any) -> Report:
    return await guard({"checks": ["grounding"], **(settings or {})}).check(response, **arguments)


@pytest.mark.parametrize(
    ("response", "labels"),
    [
        ("The Eiffel Tower was completed in 1889.", ["supported"]),
        ("The Eiffel Tower was completed in 1925.", ["contradicted"]),
        ("The pope lives in Rome.", ["absent"]),
        ("Sure! The Eiffel Tower stands in Paris. Hope this helps!", ["supported"]),
        ("It stands in Paris. The mayor of Lyon is Smith.", ["supported", "supported"]),
        ("It stands in Paris. The pope lives in Rome.", ["supported", "absent"]),
    ],
)
async def test_labels(guard: Make, response: str, labels: list[str]) -> None:
    report = await grounding(guard, response, evidence=[TOWER, MAYOR])
    assert [claim.label for claim in report.claims] == labels
    assert report.status == ("grounded" if set(labels) == {"supported"} else "hallucinated")
    for claim in report.claims:
        assert response[claim.span.start : claim.span.end] == claim.span.text
        assert claim.version and claim.method and claim.nli and claim.parts
        assert (claim.score or 0) >= 0.5 if claim.label != "supported" else (claim.score or 0) < 0.5


async def test_a_contradiction_carries_the_sentence_that_decided(guard: Make) -> None:
    passage = Passage(id="tower", text=TOWER, source="guide.pdf")
    report = await grounding(guard, "The Eiffel Tower was completed in 1925.", evidence=[MAYOR, passage])
    (finding,) = report.findings
    assert (finding.kind, finding.label, finding.origin) == ("unsupported_claim", "contradicted", "intrinsic")
    (quote,) = finding.evidence
    assert (quote.passage_id, quote.source) == ("tower", "guide.pdf")
    assert quote.span.text == "The Eiffel Tower was completed in 1889."
    assert passage.text[quote.span.start : quote.span.end] == quote.span.text
    assert report.decision == "block"


@pytest.mark.parametrize(
    ("response", "category"),
    [("The pope lives in Rome.", "confabulatory"), ("Visitors usually enjoy a lovely breakfast there.", "contextual")],
)
async def test_what_is_neutral_is_absent_and_never_clean(guard: Make, response: str, category: str) -> None:
    report = await grounding(guard, response, evidence=[TOWER])
    (finding,) = report.findings
    assert (finding.label, finding.origin, finding.category) == ("absent", "extrinsic", category)
    assert report.decision == "warn" and (report.hallucination_score or 0) > 0.5


@pytest.mark.parametrize(("response", "evidence"), [("I'm sorry, I don't know.", None), ("", TOWER), ("\x00", TOWER)])
async def test_no_claims(guard: Make, response: str, evidence: str | None) -> None:
    report = await grounding(guard, response, evidence=evidence)
    assert (report.status, report.reason, report.decision) == ("grounded", "no_claims", "allow")


async def test_no_evidence_is_unverified(guard: Make) -> None:
    report = await grounding(guard, "The tower is in Lyon.")
    assert (report.status, report.hallucination_score, report.decision) == ("unverified", None, "warn")
    assert "no_evidence" in report.reason
    said = "no_evidence: nothing to check the answer against; pass the sources as `evidence`"
    assert str(report) == f"unverified, decision warn: {said}"


async def test_sentences_that_contradict_each_other(guard: Make) -> None:
    response = "The old tower was built in 1889. It is tall. The old tower was not built in 1889."
    report = await grounding(guard, response)
    (finding,) = report.findings
    assert finding.kind == "intrinsic_contradiction" and finding.span is not None
    assert finding.span.text == "The old tower was not built in 1889."
    assert finding.evidence[0].span.text == "The old tower was built in 1889."
    assert (report.status, report.decision) == ("hallucinated", "warn")
    assert report.hallucination_score is not None


@pytest.mark.parametrize(
    "response",
    [
        "The old tower was built in 1889. The old bridge was built in 1920.",  # about other things
        "The old tower was built in 1889. The old tower was built in 1889.",
        "The tower is tall.",
    ],
)
async def test_sentences_that_do_not_contradict(guard: Make, response: str) -> None:
    report = await grounding(guard, response)
    assert report.findings == () and report.status == "unverified"


@pytest.mark.parametrize(
    ("prompt", "response", "diverges"),
    [
        ("Summarise this. The contract is dated 2018.", "The contract is dated 2021.", True),
        ("The contract is dated 2018.", "The contract is dated 2018.", False),
        ("Is the contract dated 2018?", "The contract is dated 2021.", False),  # a question states nothing
        ("The contract is dated 2018.", "No, it is not: the contract is dated 2021.", False),  # sets the user right
        ("The contract is dated 2018.", "The weather is nice in 2021.", False),
        ("Write about the contract dated 2018.", "The contract is dated 2021.", False),  # a request
    ],
)
async def test_divergence_from_the_prompt(guard: Make, prompt: str, response: str, diverges: bool) -> None:
    report = await grounding(guard, response, prompt=prompt)
    assert [f.kind for f in report.findings] == (["prompt_output_divergence"] if diverges else [])
    assert report.status == ("hallucinated" if diverges else "unverified")


async def test_what_the_evidence_supports_is_no_divergence(guard: Make) -> None:
    prompt = "The Eiffel Tower was completed in 1925."
    report = await grounding(guard, "The Eiffel Tower was completed in 1889.", prompt=prompt, evidence=TOWER)
    assert (report.status, report.findings) == ("grounded", ())


async def test_both_extra_looks_can_be_turned_off(guard: Make) -> None:
    settings = {"grounding": {"self_contradiction": False, "prompt_divergence": False}}
    response = "The old tower was built in 1889. The old tower was not built in 1889."
    report = await grounding(guard, response, settings, prompt="The old tower was built in 1920.")
    assert report.findings == ()


async def test_thresholds_of_the_settings_count(guard: Make) -> None:
    strict = {"grounding": {"max_unsupported_score": 0.0}}
    report = await grounding(guard, "It stands in Paris.", strict, evidence=TOWER)
    assert report.claims[0].label == "partially_supported"


async def test_coverage_and_metrics(guard: Make) -> None:
    evidence = [f"Filler number {n} talks about nothing in particular at all. " * 20 for n in range(30)] + [TOWER]
    report = await grounding(guard, "It stands in Paris. The pope lives in Rome.", evidence=evidence)
    details = report.checks["grounding"].details
    assert details["windows"] > details["windows_read"] > 0
    assert details["evidence_characters"] == sum(map(len, evidence)) > details["evidence_characters_read"]
    assert report.metrics["claims"] == 2 and report.metrics["unsupported_claim_rate"] == 0.5
    assert report.claims[0].label == "supported"


async def test_reasoning_is_not_checked(guard: Make) -> None:
    report = await grounding(guard, "<think>The pope lives in Rome.</think>It stands in Paris.", evidence=TOWER)
    assert report.status == "grounded" and len(report.claims) == 1


@pytest.mark.parametrize(
    ("response", "evidence", "reason"),
    [
        ("La tour Eiffel a été achevée en 1889 et se trouve à Paris, en France.", TOWER, "language: fr"),
        ("埃菲尔铁塔于一八八九年在巴黎建成，是世界上最著名的建筑之一。", TOWER, "language: zh"),
        ("The Eiffel Tower was completed in the year 1889 in Paris.", GERMAN, "language: de (evidence)"),
    ],
)
async def test_other_languages_are_unverified_and_named(guard: Make, response: str, evidence: str, reason: str) -> None:
    report = await grounding(guard, response, evidence=evidence)
    assert report.status == "unverified" and reason in report.reason


@pytest.mark.parametrize("checks", [("grounding",), ("claims",), ("grounding", "claims")], ids=str)
async def test_one_sentence_in_another_script_is_not_passed_with_the_others(checks: tuple[str, ...]) -> None:
    right, foreign = "The Eiffel Tower was completed in 1889.", "它建于一九五〇年，位于里昂。"
    report = await Guard({"checks": checks}).check(f"{right} {foreign}", evidence=[TOWER])
    assert report.status == "unverified" and "language: zh" in report.reason
    assert [(c.span.text, c.label, c.score is None) for c in report.claims] == [
        (right, "supported", False), (foreign, "unevaluatable", True)]  # fmt: skip
    wrong = await Guard({"checks": checks}).check(
        f"The Eiffel Tower was completed in the year 1950. {foreign}", evidence=[TOWER]
    )
    assert wrong.status == "hallucinated"


async def test_a_passage_in_another_language_is_not_held_against_the_answer(guard: Make) -> None:
    german = "Der Papst lebt seit vielen Jahren in Rom und nicht in Paris, wie alle Menschen in der Stadt wissen."
    absent = await grounding(guard, "The pope lives in Rome with many other people.", evidence=[TOWER, german])
    assert absent.status == "unverified" and "language: de" in absent.reason
    contradicted = await grounding(guard, "The Eiffel Tower was completed in 1925.", evidence=[TOWER, german])
    assert contradicted.status == "hallucinated"


async def test_a_multilingual_backend_reads_everything(guard: Make, word_nli: Any) -> None:
    word_nli.languages = ("*",)
    text = "La tour Eiffel a été achevée en 1889 et se trouve à Paris."
    report = await grounding(guard, text, evidence=text)
    assert report.status == "grounded"


@pytest.mark.parametrize(("date", "status"), [("November 2, 1976", "grounded"), ("June 2, 1976", "hallucinated")])
async def test_a_date_is_read_whole_where_the_evidence_has_its_year_alone_too(
    guard: Make, date: str, status: str
) -> None:
    evidence = "The presidential election of 1976 was held on Tuesday, November 2, 1976."
    report = await grounding(guard, f"The presidential election of 1976 was held on {date}.", evidence=evidence)
    assert report.status == status
