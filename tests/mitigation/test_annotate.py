"""Marks in plain text, Markdown and HTML: at the right places, outside code, escaped."""

from typing import Any

import mitigation_tools
import pytest

from evidencerails.exchange import Span
from evidencerails.mitigation.annotate import annotated, paragraphs
from evidencerails.report import Finding

TEXT = "It opened in 1911. It is <b>412</b> metres long."


def finding(text: str, whole: str = TEXT, **fields: Any) -> Finding:
    start = whole.index(text)
    given = {"reason": "<i>secret</i>", "span": Span.of(whole, start, start + len(text))}
    return mitigation_tools.finding(**{**given, **fields})


def test_plain() -> None:
    known = finding("It opened in 1911.", label="contradicted", error_types=("temporal", "other"))
    assert annotated(TEXT, [known, finding("412")]) == (
        "It opened in 1911. [?1] It is <b>412 [?2]</b> metres long.\n\n"
        "[?1] unsupported claim (contradicted, temporal)\n[?2] unsupported claim"
    )


def test_markdown_footnotes() -> None:
    marked = annotated(TEXT, [finding("1911", label="contradicted", error_types=("temporal",))], "markdown")
    assert marked.startswith("It opened in 1911[^unsure-1]. ")
    assert marked.endswith("\n\n[^unsure-1]: unsupported claim (contradicted, temporal)")


@pytest.mark.parametrize("code", ["`x = 1911`", "```\nx = 1911\n```", "```python\nx = 1911\ny = 2"])
def test_a_mark_never_breaks_code(code: str) -> None:
    text = f"See {code}"
    marked = annotated(text, [finding("1911", text)], "markdown")
    assert marked.startswith(f"See {code}[^unsure-1]")


def test_html_escapes_answer_and_notes() -> None:
    marked = annotated(TEXT, [finding("1911", label="absent")], "html")
    assert '<mark title="unsupported claim (absent)">1911</mark><sup>[1]</sup>' in marked
    assert "&lt;b&gt;412&lt;/b&gt;" in marked and "<b>" not in marked
    assert "secret" not in marked, "a reason may quote the evidence"


def test_html_spans_that_overlap_share_a_mark() -> None:
    findings = [finding("It opened in 1911."), finding("1911. It is", label="absent")]
    marked = annotated(TEXT, findings, "html")
    assert marked.count("<mark") == marked.count("</mark>") == 1
    assert ">It opened in 1911. It is</mark>" in marked


def test_html_is_escaped_without_findings_too() -> None:
    script = "<script>alert(1)</script>"
    assert script not in annotated(script, [], "html")
    assert script not in paragraphs("x", [script], "html")


@pytest.mark.parametrize("form", ["plain", "markdown"])
def test_nothing_to_mark_changes_nothing(form: Any) -> None:
    assert annotated(TEXT, [], form) == TEXT
    assert annotated(TEXT, [finding("1911", span=None)], form) == TEXT


def test_a_span_beyond_the_text_is_left_out() -> None:
    assert annotated("It.", [finding("1911")]) == "It."
