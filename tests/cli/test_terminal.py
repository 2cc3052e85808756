import io

import pytest

from evidencerails.cli.render import marked_answer, print_report
from evidencerails.cli.terminal import console
from evidencerails.exchange import Span
from evidencerails.report import Claim, Quote, Report
from evidencerails.text.visible import visible

ANSWER = "Iron melts at 900 degrees. Iron is a metal."


def report_on(answer: str, evidence: str = "Iron melts at 1538 degrees.", label: str = "contradicted") -> Report:
    end = answer.index(". ") + 1 if ". " in answer else len(answer)
    quote = Quote(passage_id="1", source="table.txt", span=Span.of(evidence, 0, len(evidence)), score=0.9)
    claim = Claim(text=answer[:end], span=Span.of(answer, 0, end), label=label, score=0.97, evidence=(quote,))
    return Report(status="hallucinated", reason="contradicted", decision="block", claims=(claim,))


def printed(report: Report, answer: str, **options: object) -> str:
    out = io.StringIO()
    print_report(report, answer, to=console(out, width=120), **options)
    return out.getvalue()


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("a\rb", "a\\x0db"),
        ("a\x00b\x08", "a\\x00b\\x08"),
        ("\x9b2J", "\\x9b2J"),
        ("abc\u202egnp.exe", "abc\\u202egnp.exe"),
        ("zero\u200bwidth\ufeff", "zero\\u200bwidth\\ufeff"),
        ("half \ud800 pair", "half \\ud800 pair"),
        ("tag \U000e0041", "tag \\U000e0041"),
        ("[bold]markup[/bold] :smile:", "[bold]markup[/bold] :smile:"),
        ("naïve 東京 🙂\ttab\nline", "naïve 東京 🙂\ttab\nline"),
    ],
)
def test_hostile_characters_are_spelled_out_and_others_stay(hostile: str, shown: str) -> None:
    assert visible(hostile) == shown


def test_the_words_that_the_evidence_lacks_are_marked_in_place() -> None:
    assert marked_answer(report_on(ANSWER), ANSWER).plain == "Iron melts at ⟦900⟧ degrees. Iron is a metal."


def test_a_claim_with_nothing_in_common_is_marked_whole() -> None:
    report = report_on(ANSWER, evidence="Whales sing.")
    assert marked_answer(report, ANSWER).plain == "⟦Iron melts at 900 degrees.⟧ Iron is a metal."


def test_a_report_on_hostile_text_prints_no_control_character() -> None:
    answer = "\x1b[2JIron [red]melts[/red] at \u202e900 degrees.\x07 Iron is a metal."
    text = printed(report_on(answer, evidence="\x1b]8;;http://evil\x07Iron melts at 1538."), answer)
    assert not [c for c in text if (ord(c) < 32 and c != "\n") or c in "\x7f\x9b\u202e"]
    assert "\\x1b[2J" in text and "[red]melts[/red]" in text and "\\u202e" in text and "\\x1b]8;;http://evil" in text


def test_marks_stay_right_behind_escaped_characters() -> None:
    answer = "\x1b\x1b Iron melts at 900 degrees. Yes."
    assert marked_answer(report_on(answer), answer).plain == "\\x1b\\x1b Iron melts at ⟦900⟧ degrees. Yes."


def test_a_redacted_report_shows_neither_answer_nor_evidence() -> None:
    for redaction in ("hash", "drop"):
        text = printed(report_on(ANSWER), ANSWER, redaction=redaction)
        assert "900" not in text and "1538" not in text and "contradicted" in text


def test_the_marks_survive_a_stream_without_unicode() -> None:
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="backslashreplace")
    print_report(report_on(ANSWER), ANSWER, to=console(out, width=120))
    out.flush()
    assert b"at [[900]] degrees" in out.buffer.getvalue()
