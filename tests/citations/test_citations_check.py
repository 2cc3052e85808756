"""The check `citations` through `Guard`, offline, with the embedded model: one row for each thing that can happen."""

import json
from typing import Any

import pytest
from made import Make

from evidencerails import Guard

OPENED = "The Halden bridge opened in 1932"
PAINTED = "The bridge was painted by volunteers"
CLAIM = {"claim_text": f"{OPENED}.", "citations": ["1"]}
TICKETS = "Tickets cost 6 euros."
Seen = list[tuple[str, str]]


def violations(report: Any) -> Seen:
    return [(finding.violation, finding.span.text) for finding in report.findings]


GROUNDED = [
    f"{OPENED} [1].",
    f"{OPENED}.[1]",
    f"{OPENED}. [1]",
    f"[1] {OPENED}.",
    "According to [1], the Halden bridge opened in 1932.",
    f"{OPENED}. Source: [1]",
    f"{OPENED} [1]. Children under 12 enter the museum for free [2].",
    f"{OPENED} [1] and was closed for repairs from 1998 to 2001 [repairs].",
    f"{OPENED} [1], and tickets for the museum cost 6 euros [2].",
    f"{OPENED} [1]; children under 12 enter the museum for free [2].",
    "The bridge was closed for repairs from 1998 to 2001 (Ortiz, 2019).",
    "The bridge was closed for repairs from 1998 to 2001 (https://www.halden.example/repairs/).",
    "The bridge was [closed for repairs](https://halden.example/repairs) from 1998 to 2001.",
    'The mayor called the work "a triumph of patience over rust" [repairs].',
    'The mayor called the work "a triumph ... over rust" [3].',
    f"{OPENED} [^1].\n\n[^1]: Passage 1",
    "The bridge was closed for repairs from 1998 to 2001 [7].\n\nReferences:\n[7] Ortiz (2019), Repairs",
    "| Bridge | Opened | Source |\n|---|---|---|\n| Halden | 1932 | [1] |",
    f"- {OPENED} [1].\n- It carries two railway tracks [1].",
    f"{OPENED} [1].\n\n```python\nprint(years[0], years[9])\n```",
    f"Hello! {OPENED} [1]. Do you want to know more?",
]


@pytest.mark.parametrize("text", GROUNDED)
def test_citations_that_hold(guard: Make, evidence: list[Any], text: str) -> None:
    report = guard().check_sync(text, evidence=evidence)
    assert (report.status, violations(report)) == ("grounded", [])
    assert report.decision == "allow"
    assert report.metrics["attribution_precision"] == report.metrics["citation_coverage"] == 1.0


WRONG: list[tuple[str, Seen]] = [
    (f"{OPENED}.", [("missing_citation", f"{OPENED}.")]),
    (f"{OPENED} [1]. Children under 12 enter the museum for free.",
     [("uncited_claim", "Children under 12 enter the museum for free.")]),
    (f"{OPENED} [4].", [("nonexistent_source", "[4]")]),
    (f"{OPENED} (Novak, 2011).", [("nonexistent_source", "(Novak, 2011)")]),
    (f"{OPENED} [^1].\n\n[^1]: https://made-up.example/a", [("nonexistent_source", "[^1]")]),
    (f"{OPENED} [the page](https://made-up.example/a).",
     [("nonexistent_source", "[the page](https://made-up.example/a)")]),
    (f"{OPENED} [1].\n\nReferences:\n[1] Novak, P. (2011). Bridges.", [("nonexistent_source", "[1]")]),
    ("The Halden bridge opened in 1875 [1].", [("non_entailing", "The Halden bridge opened in 1875 [1].")]),
    (f"{OPENED} [2].", [("non_entailing", f"{OPENED} [2].")]),
    ("The bridge was painted by volunteers [repairs].",
     [("non_entailing", "The bridge was painted by volunteers [repairs].")]),
    (f"{OPENED} [1][2].", [("non_entailing", "[2]")]),
    (f"{OPENED} [1, 2].", [("non_entailing", "[1, 2]")]),
    (f"{OPENED} [1-3].", [("non_entailing", "[1-3]")]),
    ('The mayor called the work "a triumph of steel over rust" [3].', [("misquoted", "a triumph of steel over rust")]),
    ('The museum says "children under 15 enter for free" [2].', [("misquoted", "children under 15 enter for free")]),
    ("| Bridge | Opened | Source |\n|---|---|---|\n| Halden | 1932 | [9] |", [("nonexistent_source", "[9]")]),
    (f"```\n{OPENED} [9].\n```", [("nonexistent_source", "[9]")]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), WRONG, ids=[text for text, _ in WRONG])
def test_citations_that_do_not_hold(guard: Make, evidence: list[Any], text: str, expected: Seen) -> None:
    report = guard().check_sync(text, evidence=evidence)
    assert violations(report) == expected
    assert report.status == "hallucinated"
    assert report.decision == ("block" if expected[0][0] == "nonexistent_source" else "warn")
    assert all(f.kind == "citation_violation" and f.check == "citations" for f in report.findings)
    assert all(text[f.span.start : f.span.end] == f.span.text for f in report.findings if f.span)


@pytest.mark.parametrize("name", ["Source: Naps and memory", "https://x.example/naps", "Smith, 2019"])
def test_a_source_is_known_by_the_fields_beside_its_text(guard: Make, name: str) -> None:
    fields = {"title": "Naps and memory", "url": "https://x.example/naps", "author": "Smith", "year": 2019}
    report = guard().check_sync(f"Naps help memory ({name}).", evidence=[{**fields, "content": "Naps help memory."}])
    assert (report.status, violations(report)) == ("grounded", [])


@pytest.mark.parametrize(
    ("mark", "reason"),
    [
        ("[1, 2, 99]", "'99' is none of the 3 sources"),
        ("[1, 98, 99]", "'98', '99' are none of the 3 sources"),
        (
            "[1, 9].\n\nReferences:\n[1] Novak, P. (2011). Bridges.\n[9] Ortiz (2019), Repairs",
            "'1' is none of the 3 sources",
        ),
    ],
)
def test_only_what_does_not_exist_is_named(guard: Make, evidence: list[Any], mark: str, reason: str) -> None:
    report = guard("required").check_sync(f"{OPENED} {mark}.", evidence=evidence)
    assert [finding.reason[: len(reason)] for finding in report.findings] == [reason]


async def test_a_cited_sentence_in_another_script_is_unverified(guard: Make) -> None:
    evidence = [f"{OPENED} and was closed for repairs from 1998 to 2001."]
    report = await guard().check(f"{evidence[0][:-1]} [1]. 这座桥建于一九五零年 [1]。", evidence=evidence)
    assert report.status == "unverified" and "language: zh (part of the answer)" in report.reason
    assert violations(report) == []


FLOOR = "Floor {} is closed."


@pytest.mark.parametrize(
    ("marks", "sources", "status", "precision"),
    [
        ("[1]", 8, "grounded", 1.0),
        ("[1, 2]", 8, "hallucinated", 0.0),
        ("[1-7]", 8, "hallucinated", 0.0),
        ("[1][2][3][4][5][6][7][8]", 8, "hallucinated", 0.0),
        ("[1-30]", 30, "unverified", None),
    ],
)
def test_padding_of_any_length_is_found_and_lowers_the_precision(
    guard: Make, marks: str, sources: int, status: str, precision: float | None
) -> None:
    evidence = [f"{OPENED}.", *(FLOOR.format(number) for number in range(2, sources + 1))]
    report = guard().check_sync(f"{OPENED} {marks}.", evidence=evidence)
    assert report.status == status, report.reason
    assert report.metrics.get("attribution_precision") == precision


@pytest.mark.parametrize(
    ("level", "text", "expected"),
    [
        ("soft", f"{OPENED}.", []),
        ("soft", "The Halden bridge opened in 1875 [1].", []),
        ("soft", f"{OPENED} [9].", ["nonexistent_source"]),
        ("required", f"{OPENED}.", ["missing_citation"]),
        ("required", "The Halden bridge opened in 1875 [1].", []),
        ("required", f"{OPENED} [9].", ["nonexistent_source"]),
        ("verified", "The Halden bridge opened in 1875 [1].", ["non_entailing"]),
        ("verified", "According to [1], the bridge is 412 metres long.", []),
        ("strict", "According to [1], the bridge is 412 metres long.", ["non_entailing"]),
        ("strict", "According to [1], the bridge is 412 metres long and carries two railway tracks.", []),
        ("strict", "The bridge is 412 metres long [1].", []),
        ("strict", 'The mayor called the work "a triumph of rust over patience" [3].', ["misquoted"]),
    ],
)
def test_levels(guard: Make, evidence: list[Any], level: str, text: str, expected: list[str]) -> None:
    report = guard(level).check_sync(text, evidence=evidence)
    assert [finding.violation for finding in report.findings] == expected
    if level in ("verified", "strict"):
        assert report.metrics["attribution_precision"] == (0.0 if expected else 1.0)
    assert report.status == ("hallucinated" if expected else "grounded")


def test_a_citation_covers_its_paragraph_where_the_settings_say_so(guard: Make, evidence: list[Any]) -> None:
    text = f"{OPENED}. It carries two railway tracks [1].\n\nChildren under 12 enter the museum for free."
    assert [f.violation for f in guard().check_sync(text, evidence=evidence).findings] == ["uncited_claim"] * 2
    found = guard(scope="paragraph").check_sync(text, evidence=evidence).findings
    assert [f.span.text for f in found if f.span] == ["Children under 12 enter the museum for free."]


LISTED = f"{OPENED}. Tickets for the museum cost 6 euros.\n\nSources:\n- https://halden.example/repairs\n- [2]\n- [1]"


def test_a_list_of_sources_may_stand_for_the_whole_answer(guard: Make, evidence: list[Any]) -> None:
    assert [f.violation for f in guard().check_sync(LISTED, evidence=evidence).findings] == ["uncited_claim"] * 2
    found = guard(scope="answer").check_sync(LISTED, evidence=evidence).findings
    assert [f.violation for f in found] == []
    made_up = LISTED.replace("repairs", "opening")
    found = guard(scope="answer").check_sync(made_up, evidence=evidence).findings
    assert [(f.violation, f.span.text) for f in found if f.span] == [
        ("nonexistent_source", "https://halden.example/opening")
    ]


@pytest.mark.parametrize("heading", ["Sources:", "## Notes", "**References**"])
def test_a_claim_below_the_heading_of_a_list_stays_a_claim(guard: Make, evidence: list[Any], heading: str) -> None:
    text = f"{OPENED} [1].\n\n{heading}\nThe bridge was built by volunteers from Uppsala."
    assert [f.violation for f in guard().check_sync(text, evidence=evidence).findings] == ["uncited_claim"]


def test_the_report_names_the_passage_that_should_have_been_cited(guard: Make, evidence: list[Any]) -> None:
    text = f"{OPENED} [1]. The bridge was closed for repairs from 1998 to 2001."
    details = guard().check_sync(text, evidence=evidence).checks["citations"].details
    assert [item["passage"] for item in details["suggested"]] == ["repairs"]


def test_attribution_precision_is_the_product_of_its_parts(guard: Make, evidence: list[Any]) -> None:
    text = (
        f"{OPENED} [1]. The bridge is 412 metres long [9]. The bridge was painted by volunteers [3]. "
        'The mayor called the work "a triumph of steel over rust" [3]. Tickets for the museum cost 6 euros [2].'
    )
    metrics = guard().check_sync(text, evidence=evidence).metrics
    # Of five claims four name a source that exists, three of those quote rightly, two of those are entailed.
    assert metrics["attribution_existence"] == pytest.approx(4 / 5)
    assert metrics["attribution_accuracy"] == pytest.approx(3 / 4)
    assert metrics["attribution_entailment"] == pytest.approx(2 / 3)
    assert metrics["attribution_precision"] == pytest.approx(2 / 5)
    assert metrics["composite_score"] == pytest.approx(1 - 2 / 5)


def test_what_was_not_measured_has_no_metric(guard: Make, evidence: list[Any]) -> None:
    assert "attribution_precision" not in guard("required").check_sync(f"{OPENED} [1].", evidence=evidence).metrics
    assert "attribution_precision" not in guard().check_sync(f"{OPENED}.", evidence=evidence).metrics


def test_quotes_of_a_finding_are_verbatim_in_the_evidence(guard: Make) -> None:
    labelled = f"[1] Tickets cost 6 euros.\n[2] {OPENED}. It is 412 metres long."
    report = guard().check_sync("The Halden bridge opened in 1875 [2].", evidence=labelled)
    (quote,) = report.findings[0].evidence
    assert quote.passage_id == "1" and labelled[quote.span.start : quote.span.end] == quote.span.text == f"{OPENED}."


def test_the_score_is_that_of_the_claims_not_of_the_missing_mark(guard: Make, evidence: list[Any]) -> None:
    texts = (f"{OPENED}.", "The Halden bridge was built by the king of Norway.")
    bare, made_up = (guard().check_sync(text, evidence=evidence).hallucination_score or 0.0 for text in texts)
    assert 0.0 < bare < 0.3 < 0.6 < made_up


JSON_ANSWERS: list[tuple[Any, Seen]] = [
    ({"answer": f"{OPENED}.", "citations": [{"source_id": "1", "source_text": f"{OPENED}."}]}, []),
    ({"answer": f"{OPENED} [1].", "citations": [1]}, []),
    ({"claims": [CLAIM, {"claim_text": TICKETS, "citations": [2]}]}, []),
    ({"statement": f"{OPENED}.", "claim_type": "fact", "source_refs": ["1"], "confidence": 0.9, "caveats": []}, []),
    ({"answer": f"{OPENED}.", "citations": [{"source_id": "9"}]}, [("nonexistent_source", "9")]),
    ({"answer": f"{OPENED}.", "citations": []}, [("missing_citation", f"{OPENED}.")]),
    ({"claims": [CLAIM, {"claim_text": TICKETS, "source_ref": None}]}, [("uncited_claim", TICKETS)]),
    (
        {"answer": f"{OPENED}.", "citations": [{"source_id": "1", "source_text": "It opened in the year 1932."}]},
        [("misquoted", "1")],
    ),
    ({"answer": f"{PAINTED}.", "citations": [1]}, [("non_entailing", f"{PAINTED}.")]),
    ({"answer": 'The mayor said "steel is what wins in the end".', "citations": ["repairs"]}, None),
]


FENCE = "```json\n{}\n```"


@pytest.mark.parametrize(
    ("answer", "expected", "shape"), [*((*row, "{}") for row in JSON_ANSWERS), (*JSON_ANSWERS[4], FENCE)]
)
def test_answers_in_json(guard: Make, evidence: list[Any], answer: Any, expected: Seen | None, shape: str) -> None:
    text = shape.format(json.dumps(answer, indent=1))
    report = guard().check_sync(text, evidence=evidence)
    if expected is None:  # an escaped string: the span is all of it
        assert [(f.violation, f.span.text) for f in report.findings if f.span] == [
            ("misquoted", json.dumps(answer["answer"])[1:-1])
        ]
    else:
        assert violations(report) == expected


def test_beside_other_checks_each_claim_stands_once(evidence: list[Any]) -> None:
    guard = Guard({"checks": ["grounding", "claims", "citations"]})
    report = guard.check_sync(f"{OPENED} [2].", evidence=evidence)
    assert [claim.label for claim in report.claims] == ["supported"]
    assert [finding.violation for finding in report.findings] == ["non_entailing"]
    assert {name: check.status for name, check in report.checks.items()} == {
        "grounding": "grounded",
        "claims": "grounded",
        "citations": "hallucinated",
    }
