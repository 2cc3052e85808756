import io
from typing import Any

import pytest

from evidencerails.cli.common import console
from evidencerails.cli.render import marked_answer, print_report
from evidencerails.exchange import Span
from evidencerails.report import Claim, Quote, Report
from evidencerails.report_page import pieces_of
from evidencerails.text.visible import visible

ANSWER = "Iron melts at 900 degrees. Iron is a metal."


def report_on(answer: str, evidence: str = "Iron melts at 1538 degrees.", label: str = "contradicted") -> Report:
    end = answer.index(". ") + 1 if ". " in answer else len(answer)
    quote = Quote(passage_id="1", source="table.txt", span=Span.of(evidence, 0, len(evidence)), score=0.9)
    claim = Claim(text=answer[:end], span=Span.of(answer, 0, end), label=label, score=0.97, evidence=(quote,))
    return Report(status="hallucinated", reason="contradicted", decision="block", claims=(claim,))


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\rb", "a\\x0db"),
        ("\x9b2J", "\\x9b2J"),
        ("abc\u202egnp.exe", "abc\\u202egnp.exe"),
        ("zero\u200bwidth\ufeff", "zero\\u200bwidth\\ufeff"),
        ("tag \U000e0041", "tag \\U000e0041"),
        ("[bold]markup[/bold] :smile:", "[bold]markup[/bold] :smile:"),
        ("naïve 東京 🙂\ttab\nline", "naïve 東京 🙂\ttab\nline"),
    ],
)
def test_hostile_characters_are_spelled_out_and_others_stay(hostile: str, shown: str) -> None:
    assert visible(hostile) == shown


@pytest.mark.parametrize(
    ("answer", "evidence", "marked"),
    [
        (ANSWER, "Iron melts at 1538 degrees.", "Iron melts at ⟦900⟧ degrees. Iron is a metal."),
        (
            "When your space is full, the oldest films are removed so that new ones can be made.",
            "When the space is full, new films are not made.",
            "When your space is full, the ⟦oldest⟧ films are ⟦removed⟧ so that new ⟦ones⟧ can be made.",
        ),
        (ANSWER, "Whales sing.", "⟦Iron melts at 900 degrees.⟧ Iron is a metal."),  # nothing in common
    ],
)
def test_the_content_words_that_the_evidence_lacks_are_marked_in_place(answer: str, evidence: str, marked: str) -> None:
    assert marked_answer(pieces_of(report_on(answer, evidence).plain(), answer)).plain == marked


@pytest.mark.parametrize("hidden", [{"expose_evidence": False}, {"redaction": "hash"}, {"redaction": "drop"}])
def test_a_claim_is_marked_whole_where_the_words_of_its_evidence_are_hidden(hidden: dict[str, Any]) -> None:
    answer = "The bridge was built by engineers from Mars."
    report = report_on(answer, evidence="The bridge was built by engineers from Hull.")
    assert marked_answer(pieces_of(report.plain(), answer)).plain.endswith("from ⟦Mars⟧.")
    assert marked_answer(pieces_of(report.plain(**hidden), answer)).plain == f"⟦{answer}⟧"


def test_the_marks_survive_a_stream_without_unicode() -> None:
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="backslashreplace")
    print_report(report_on(ANSWER), ANSWER, to=console(out, width=120))
    out.flush()
    assert b"at [[900]] degrees" in out.buffer.getvalue()
