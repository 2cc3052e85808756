"""Uncertain claims marked in the text in place: plain text, Markdown or HTML, with a note for each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from evidencerails.report import Finding
from evidencerails.settings.mitigation import AnnotationFormat

_CODE = re.compile(r"(?P<fence>```|~~~).*?(?:(?P=fence)|\Z)|(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)", re.DOTALL)


class _Region(NamedTuple):
    start: int
    end: int
    findings: tuple[Finding, ...]


def annotated(answer: str, findings: Sequence[Finding], format: AnnotationFormat = "plain") -> str:
    """The answer with each finding's span marked, and the notes below; unchanged if no finding has a span.

    `plain` puts `[?1]` behind a span. `markdown` puts a footnote there, never inside code. `html` gives the answer
    escaped, as an HTML fragment, each span in a `<mark>`; spans that overlap share one.
    """
    placed = [finding for finding in findings if finding.span is not None and finding.span.end <= len(answer)]
    if format == "html":
        return _as_html(answer, placed)
    if not placed:
        return answer
    return _with_notes(answer, placed, is_markdown=format == "markdown")


def paragraphs(text: str, notes: Sequence[str], format: AnnotationFormat) -> str:
    """The text with further paragraphs below it, escaped where the text is HTML."""
    if format == "html":
        return "\n".join([text, *(f'<p class="evidencerails-note">{escape(note)}</p>' for note in notes)])
    return "\n\n".join([text, *notes])


def _numbered(findings: Sequence[Finding]) -> list[tuple[int, int, Finding]]:
    """(number, end, finding): one for each end of a span and kind, in reading order."""
    places = {(f.span.end, f.kind): f for f in findings if f.span is not None}
    ordered = sorted(places, key=lambda place: place[0])
    return [(number, place[0], places[place]) for number, place in enumerate(ordered, start=1)]


def _with_notes(answer: str, findings: Sequence[Finding], *, is_markdown: bool) -> str:
    numbered = _numbered(findings)
    mark, head = ("[^unsure-{}]", "[^unsure-{}]:") if is_markdown else (" [?{}]", "[?{}]")
    code = [match.span() for match in _CODE.finditer(answer)] if is_markdown else []
    text = answer
    for number, end, _ in reversed(numbered):
        place = next((stop for start, stop in code if start < end < stop), end)
        text = text[:place] + mark.format(number) + text[place:]
    return "\n\n".join([text, "\n".join(f"{head.format(number)} {_note(f)}" for number, _, f in numbered)])


def _as_html(answer: str, findings: Sequence[Finding]) -> str:
    parts: list[str] = []
    notes: list[str] = []
    place = 0
    for number, region in enumerate(_regions(findings), start=1):
        note = "; ".join(dict.fromkeys(_note(finding) for finding in region.findings))
        parts.append(escape(answer[place : region.start]))
        marked = escape(answer[region.start : region.end])
        parts.append(f'<mark title="{escape(note)}">{marked}</mark><sup>[{number}]</sup>')
        notes.append(f"<li>{escape(note)}</li>")
        place = region.end
    parts.append(escape(answer[place:]))
    text = f'<div class="evidencerails-answer" style="white-space: pre-wrap">{"".join(parts)}</div>'
    return f'{text}\n<ol class="evidencerails-notes">{"".join(notes)}</ol>' if notes else text


def _regions(findings: Sequence[Finding]) -> list[_Region]:
    regions: list[_Region] = []
    spans = sorted(((f.span, f) for f in findings if f.span), key=lambda one: (one[0].start, one[0].end))
    for span, finding in spans:
        if regions and span.start < regions[-1].end:
            last = regions[-1]
            regions[-1] = _Region(last.start, max(last.end, span.end), (*last.findings, finding))
        else:
            regions.append(_Region(span.start, span.end, (finding,)))
    return regions


def _kind(finding: Finding) -> str:
    return finding.kind.replace("_", " ")


def _note(finding: Finding) -> str:
    """What is uncertain, in words of ours alone: a reason may quote the evidence."""
    details = [finding.label.replace("_", " ")] if finding.label else []
    details += [name.replace("_", " ") for name in finding.error_types if name != "other"]
    return f"{_kind(finding)} ({', '.join(details)})" if details else _kind(finding)
