"""What can go wrong with an answer, its evidence or its length: each with the outcome it must have."""

import json
import time
from typing import Any

import pytest
from made import Make

from evidencerails import Exchange

pytestmark = pytest.mark.slow

OPENED = "The Halden bridge opened in 1932"


@pytest.mark.parametrize("text", ["   \n", "Hello! How can I help you?", "I'm sorry, I don't know that."])
@pytest.mark.parametrize("level", ["soft", "strict"])
def test_an_answer_without_claims_owes_no_citation(guard: Make, evidence: list[Any], text: str, level: str) -> None:
    report = guard(level).check_sync(text, evidence=evidence)
    assert (report.status, report.reason, report.findings) == ("grounded", "no_claims", ())


@pytest.mark.parametrize("text", [f"{OPENED} [1].", f"{OPENED}."])
@pytest.mark.parametrize("given", [None, [" "]])
def test_without_evidence_nothing_is_known(guard: Make, text: str, given: Any) -> None:
    report = guard().check_sync(text, evidence=given)
    assert report.status == "unverified" and report.reason.startswith("no_evidence")
    assert report.decision == "warn" and report.hallucination_score is None


def test_without_evidence_a_missing_citation_is_still_missing(guard: Make) -> None:
    assert [f.violation for f in guard("required").check_sync(f"{OPENED}.").findings] == ["missing_citation"]
    assert guard("required").check_sync(f"{OPENED} [1].").status == "unverified"
    assert guard("soft").check_sync(f"{OPENED} [1].").status == "unverified"


FRENCH = "Le pont de Halden a été ouvert en 1932 et il mesure quatre cents mètres de long [{n}]."


def test_another_language_is_looked_up_but_not_read(guard: Make, evidence: list[Any]) -> None:
    report = guard().check_sync(FRENCH.format(n=1), evidence=evidence)
    assert (report.status, report.reason) == ("unverified", "language: fr")
    assert "attribution_precision" not in report.metrics
    report = guard().check_sync(FRENCH.format(n=9), evidence=evidence)
    assert [finding.violation for finding in report.findings] == ["nonexistent_source"]


def test_a_cited_passage_in_another_language_is_no_support_and_no_violation(guard: Make) -> None:
    evidence = ["It is 412 metres long.", FRENCH.format(n=1)]
    report = guard().check_sync(f"{OPENED} [2].", evidence=evidence)
    assert report.status == "unverified" and "language: fr" in report.reason and not report.findings


LONG = {
    "thousands of citations": f"{OPENED} [1]. " * 1_500,
    "nested brackets": "[" * 5_000 + "1" + "]" * 5_000,
    "open quotations": '"a b c d ' * 5_000,
    "long range": f"{OPENED} [1-{'9' * 9}].",
    "huge number": f"{OPENED} [{'9' * 4_000}].",
    "footnotes": "\n".join(f"[^{n}]: x" for n in range(5_000)),
    "deep JSON": '{"citations": ' + "[" * 3_000 + "]" * 3_000 + "}",
    "wide JSON": json.dumps({"answer": f"{OPENED}.", "citations": [1] * 5_000}),
    "control characters": f"{OPENED} [1].\x00\u202e [1]",
    "lone surrogate": f"{OPENED} [1]. \ud800",
}


@pytest.mark.parametrize("name", LONG)
def test_hostile_answers_end_in_time(guard: Make, evidence: list[Any], name: str) -> None:
    started = time.process_time()
    report = guard("required").check_sync(LONG[name], evidence=evidence)
    assert time.process_time() - started < 10
    assert "check_failed" not in report.reason


@pytest.mark.parametrize(
    "answer",
    [
        '{"answer": "The Halden bridge opened in 1932 [9].", "citations": [1]',
        '{"answer": 5, "citations": [1]}',
        '{"citations": ["9"]}',
        "[1, 2, 3]",
        '{"answer": "", "citations": {"a": {"b": []}}}',
        '{"answer": "The Halden bridge opened in 1932.", "citations": true}',
        '{"answer": "The Halden bridge opened in 1932.", "citations": [null, {}, {"source_id": null}, ""]}',
    ],
)
def test_odd_json_is_never_a_crash_and_never_supported(guard: Make, evidence: list[Any], answer: str) -> None:
    report = guard("required").check_sync(answer, evidence=evidence)
    assert "check_failed" not in report.reason
    if "opened" in answer:
        assert report.status == "hallucinated"


def test_instructions_in_names_are_only_names(guard: Make) -> None:
    evidence = [{"id": "{{ 7*7 }}", "text": f"{OPENED}.", "source": "(.*)+$", "metadata": {"title": "[1](x)"}}]
    assert guard().check_sync(f"{OPENED} [1].", evidence=evidence).status == "grounded"
    report = guard().check_sync(f"{OPENED} (source: {{{{ 6*6 }}}}).", evidence=evidence)
    assert [f.violation for f in report.findings] == ["nonexistent_source"]


def test_a_report_for_outside_quotes_no_evidence(guard: Make) -> None:
    secret = "The Halden bridge opened in 1932 under the code name Walrus."
    text = f'It says "opened under the code name Otter" [1]. {OPENED} [2].'
    report = guard().check_sync(text, evidence=[secret, "Nothing."])
    assert report.findings
    assert "Walrus" not in json.dumps(report.plain(expose_evidence=False))


async def test_the_end_of_a_chunk_may_still_get_its_citation(guard: Make, evidence: list[Any]) -> None:
    async def check(text: str) -> Any:
        return await guard().check_exchange(Exchange.of(text, evidence=evidence, is_chunk=True))

    assert (await check(f"{OPENED} [1]. It is 412 metres long.")).status == "grounded"
    found = (await check("It is 412 metres long. Children enter for free [2].")).findings
    assert [finding.violation for finding in found] == ["uncited_claim"]
