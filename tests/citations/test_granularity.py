"""Entailment by sentence, passage and document in one report, and what makes a claim a confabulation."""

from typing import Any

import pytest

from evidencerails import Guard
from evidencerails.checks.confabulation import confidence_in, is_confident
from evidencerails.exchange import Exchange, Span, TokenLogprob

EVIDENCE = [
    "The Halden bridge opened in 1932. The Halden bridge is 412 metres long.",
    "Tickets for the museum at the north tower cost 6 euros.",
]
LEVELS = ["sentence", "passage", "document"]
ALL_LEVELS: dict[str, Any] = {"granularity": {"levels": LEVELS}}
GUARD = Guard({"checks": ["grounding"], **ALL_LEVELS})
GOOD = "The Halden bridge opened in 1932. The Halden bridge is 412 metres long."


def relations(report: Any) -> dict[str, list[str]]:
    found = report.checks["grounding"].details["entailment"]
    return {level: [row["relation"] for row in rows] for level, rows in found.items()}


def test_three_levels_stand_in_one_report() -> None:
    report = GUARD.check_sync(GOOD, evidence=EVIDENCE)
    assert relations(report) == {"sentence": ["entailed"] * 2, "passage": ["entailed"], "document": ["entailed"]}
    assert [report.metrics[f"entailment_{level}"] for level in LEVELS] == [1.0, 1.0, 1.0]


def test_one_wrong_sentence_spoils_its_own_levels_only() -> None:
    text = f"{GOOD}\n\nTickets for the museum cost 90 euros."
    report = GUARD.check_sync(text, evidence=EVIDENCE)
    seen = relations(report)
    assert seen["sentence"][:2] == ["entailed", "entailed"] and seen["sentence"][2] != "entailed"
    assert seen["passage"][0] == "entailed" and seen["passage"][1] != "entailed"
    assert seen["document"] != ["entailed"]
    spans = [row["span"] for row in report.checks["grounding"].details["entailment"]["passage"]]
    assert [text[start:end] for start, end in spans] == [GOOD, "Tickets for the museum cost 90 euros."]


def test_an_answer_longer_than_the_model_is_read_in_parts() -> None:
    text = " ".join([GOOD] * 30)
    rows = GUARD.check_sync(text, evidence=EVIDENCE).checks["grounding"].details["entailment"]["document"]
    assert [(row["read_in_parts"], row["relation"]) for row in rows] == [(True, "entailed")]


@pytest.mark.parametrize(
    ("settings", "text", "evidence"), [({}, GOOD, EVIDENCE), (ALL_LEVELS, GOOD, None), (ALL_LEVELS, "Hi!", EVIDENCE)]
)
def test_nothing_is_added_where_nothing_was_asked_or_read(settings: dict[str, Any], text: str, evidence: Any) -> None:
    metrics = Guard({"checks": ["grounding"], **settings}).check_sync(text, evidence=evidence).metrics
    assert not [name for name in metrics if name.startswith("entailment_")]


CONFABULATED = "The Halden bridge was painted by 300 volunteers from Uppsala."


@pytest.mark.parametrize(
    ("text", "category"),
    [
        (CONFABULATED, "confabulatory"),
        ("The Halden bridge was possibly painted by 300 volunteers from Uppsala.", "contextual"),
        ("The Halden bridge may have been painted by 300 volunteers from Uppsala.", "contextual"),
        ("The Halden bridge was painted by 300 volunteers from Uppsala in May 1990.", "confabulatory"),
        ("The Halden bridge was painted by volunteers.", "contextual"),  # not specific
        ("The Halden bridge opened in 1875.", "contextual"),  # the evidence says otherwise
    ],
)
@pytest.mark.parametrize("check", ["grounding", "claims"])
def test_a_confabulation_is_specific_underivable_and_confident(check: str, text: str, category: str) -> None:
    report = Guard({"checks": [check]}).check_sync(text, evidence=EVIDENCE)
    assert {finding.category for finding in report.findings} == {category}


def logprobs(text: str, value: float) -> list[TokenLogprob]:
    return [TokenLogprob(token=word, logprob=value) for word in text.replace(" ", "| ").split("|")]


@pytest.mark.parametrize(("value", "category"), [(-0.01, "confabulatory"), (-3.0, "contextual")])
def test_a_model_that_was_unsure_does_not_confabulate(value: float, category: str) -> None:
    given = {"evidence": EVIDENCE, "logprobs": logprobs(CONFABULATED, value)}
    report = Guard({"checks": ["grounding"]}).check_sync(CONFABULATED, **given)
    assert [finding.category for finding in report.findings] == [category]


def test_log_probabilities_of_another_text_are_not_used() -> None:
    exchange = Exchange(response=CONFABULATED, logprobs=tuple(logprobs("Something else", -9.0)))
    span = Span.of(CONFABULATED, 0, 20)
    assert confidence_in(span, exchange) is None and is_confident(span, exchange)
