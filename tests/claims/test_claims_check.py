"""The check `claims` through `Guard`, offline, with the embedded model."""

import pytest
from made import Make

EVIDENCE = (
    "The Eiffel Tower was built in 1889 by Gustave Eiffel's company. It is located in Paris. It is 330 metres tall. "
    "Some visitors climb the stairs."
)
BOTH = ("grounding", "claims")


async def test_each_wrong_claim_has_its_label_span_evidence_and_error(guard: Make) -> None:
    text = "The Eiffel Tower, built in 1887 by Gustave Eiffel, is located in Lyon."
    report = await guard().check(text, evidence=EVIDENCE)
    assert report.status == "hallucinated" and report.decision == "block"
    assert [(c.span.text, c.label, c.error_types) for c in report.claims] == [
        ("built in 1887 by Gustave Eiffel", "contradicted", ("temporal",)),
        ("is located in Lyon.", "contradicted", ("entity",)),
    ]
    assert all(EVIDENCE[q.span.start : q.span.end] == q.span.text for c in report.claims for q in c.evidence)
    assert [f.span for f in report.findings] == [c.span for c in report.claims]
    assert report.checks["claims"].details["error_types"] == {"temporal": 1, "entity": 1}


async def test_a_true_claim_beside_a_wrong_one_stays_supported(guard: Make) -> None:
    text = "The Eiffel Tower is 330 metres tall and was opened by the king of Norway."
    report = await guard().check(text, evidence=EVIDENCE)
    assert [(c.span.text, c.label != "supported") for c in report.claims] == [
        ("The Eiffel Tower is 330 metres tall", False),
        ("was opened by the king of Norway.", True),
    ]


async def test_one_bad_claim_among_many_is_never_averaged_away(guard: Make) -> None:
    good = "The Eiffel Tower is located in Paris. It is 330 metres tall. The Eiffel Tower was built in 1889. "
    report = await guard().check(good * 3 + "The Eiffel Tower was painted by Picasso.", evidence=EVIDENCE)
    assert report.status == "hallucinated"
    assert report.metrics["unsupported_claim_rate"] == pytest.approx(0.1)
    assert report.hallucination_score is not None and report.hallucination_score >= 0.5
    assert report.risk_level != "low"


async def test_metrics_count_every_class(guard: Make) -> None:
    text = "The Eiffel Tower is located in Paris. The Eiffel Tower is located in Lyon."
    prompt = [{"role": "user", "content": content} for content in "ab"]
    report = await guard().check(text, evidence=EVIDENCE, prompt=prompt)
    metrics = report.metrics
    assert (metrics["claims"], metrics["claims_supported"], metrics["claims_contradicted"]) == (2, 1, 1)
    assert (metrics["unsupported_claim_rate"], metrics["groundedness"], metrics["unverified_claims"]) == (0.5, 0.5, 0)
    assert metrics["severity_weighted_faithfulness"] == pytest.approx(1 - 0.8 / 2)  # a contradiction: severity high
    details = report.checks["claims"].details
    assert details["turns"] == 2
    assert details["labels"] == {"supported": 1, "contradicted": 1}
    assert [item["claims"] for item in details["contradicted_evidence"]] == [1]


@pytest.mark.parametrize(
    ("text", "kwargs", "status", "reason"),
    [
        ("Hello! How can I help you?", {"evidence": EVIDENCE}, "grounded", "no_claims"),
        ("The Eiffel Tower is in Paris.", {}, "unverified", "no_evidence"),
        ("La tour Eiffel se trouve à Lyon depuis longtemps.", {"evidence": EVIDENCE}, "unverified", "language: fr"),
    ],
)
async def test_what_cannot_be_checked_says_why(
    guard: Make, text: str, kwargs: dict[str, str], status: str, reason: str
) -> None:
    report = await guard().check(text, **kwargs)  # type: ignore[arg-type]
    assert report.status == status
    assert reason in report.reason


RIGHT, WRONG = "The Eiffel Tower is 330 metres tall.", "The Eiffel Tower is located in Lyon."


@pytest.mark.parametrize(
    ("text", "status", "reason", "found"),
    [
        (RIGHT, "grounded", "all claims supported", []),
        (f"{RIGHT} {WRONG}", "hallucinated", "1 contradicted", [("claims", "unsupported_claim", WRONG)]),
    ],
)
async def test_two_checks_of_the_same_claims_have_one_verdict_and_one_finding(
    guard: Make, text: str, status: str, reason: str, found: list[tuple[str, str, str]]
) -> None:
    # `grounding (grounded), claims (hallucinated)` stood beside one wrong sentence
    report = await guard(checks=BOTH).check(text, evidence=EVIDENCE)
    assert {name: check.status for name, check in report.checks.items()} == {"grounding": status, "claims": status}
    assert (report.status, report.reason, len(report.claims)) == (status, reason, text.count("."))
    assert [(f.check, f.kind, f.span.text) for f in report.findings if f.span] == found
    assert (report.decision == "allow") == (status == "grounded")


async def test_beside_grounding_its_other_findings_stay(guard: Make) -> None:
    text = "All of the visitors liked the museum. None of the visitors liked the museum."
    report = await guard(checks=BOTH).check(text, evidence="The river is long. A boat sails on it every day.")
    kinds = {finding.kind: finding.check for finding in report.findings}
    assert kinds.get("intrinsic_contradiction") == "grounding"
    assert report.checks["grounding"].status == "hallucinated"


async def test_where_claims_cannot_verify_grounding_speaks(guard: Make) -> None:
    made = guard(checks=BOTH, classifier="llm", model=False)
    report = await made.check("The Eiffel Tower is located in Lyon.", evidence=EVIDENCE)
    assert report.checks["claims"].status == "unverified" and "no_model" in report.checks["claims"].reason
    assert report.status == "hallucinated"
    assert {finding.check for finding in report.findings} == {"grounding"}


async def test_a_wrong_field_of_a_json_answer_is_found_and_null_is_no_claim(guard: Make) -> None:
    """JSON in a fence had been taken for code, and said to make no claim."""
    evidence = "The Halden Bridge opened in 1932 and is 412 metres long."
    for year, status in ((1932, "grounded"), (1951, "hallucinated")):
        answer = f'```json\n{{"name": "Halden Bridge", "architect": null, "opened": {year}}}\n```'
        report = await guard().check(answer, evidence=evidence)
        assert report.status == status
        assert report.claims[1].span.text == f'"opened": {year}'


@pytest.mark.parametrize("check", ["grounding", "claims"])
@pytest.mark.parametrize(
    ("label", "wrong"),
    [
        ("## Eiffel Tower, Rome", ["Eiffel Tower, Rome"]),
        ("### 2. Completed in 1925", ["Completed in 1925"]),
        ("## The Eiffel Tower dominates Rome", ["The Eiffel Tower dominates Rome"]),
        ("![Eiffel Tower, Rome](a.png)", ["Eiffel Tower, Rome"]),
        ("*Figure 1: Eiffel Tower, Rome*", ["Eiffel Tower, Rome*"]),
        ("## Eiffel Tower, Paris", []),
        ("## Pros and cons for visitors", []),
    ],
)
async def test_a_label_without_a_verb_counts_only_where_the_evidence_contradicts_it(
    label: str, wrong: list[str], check: str, guard: Make
) -> None:
    text = f"{label}\n\nThe Eiffel Tower is in Paris."
    evidence = "The Eiffel Tower is in Paris. It was completed in 1889."
    report = await guard(checks=(check,)).check(text, evidence=evidence)
    assert [claim.span.text for claim in report.claims if claim.label == "contradicted"] == wrong
    assert report.claims[-1].label == "supported" and len(report.claims) == 1 + len(wrong)
