"""What the check `claims` made of an answer before any verdict: each claim, and what did not become one, with why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from evidencerails.cli.render import shown
from evidencerails.cli.terminal import say
from evidencerails.exchange import Span

if TYPE_CHECKING:
    from rich.console import Console

    from evidencerails.report import Redaction, Report

NO_CLAIM = "makes no claim: a question, a greeting, a refusal, a heading, or the lead-in of a list"
NOT_ALIGNED = "the model's, and not in the answer: no sentence says it, or it has another number or name"
LEFT_OUT = "sentences that the model made no claim of were extracted by the rules"


class ExtractedRow(NamedTuple):
    """One claim, ready to show."""

    text: str
    span: str
    """First and last offset and the words there."""
    sentence: str
    extractor: str


class DroppedRow(NamedTuple):
    """What did not become a claim, ready to show."""

    text: str
    reason: str


class ShownExtraction(NamedTuple):
    """All of it."""

    claims: list[ExtractedRow]
    dropped: list[DroppedRow]
    notes: list[str]


def extraction_of(report: Report, answer: str, redaction: Redaction) -> ShownExtraction:
    """The extraction behind a report of the check `claims`, its texts harmless or redacted."""
    details = report.checks["claims"].details
    extracted = details.get("extracted", [])
    claims = [
        ExtractedRow(
            shown(claim["text"], redaction),
            f"{claim['span'][0]}:{claim['span'][1]} {shown(answer[slice(*claim['span'])], redaction)}",
            shown(answer[slice(*claim["sentence"])], redaction),
            claim["extractor"],
        )
        for claim in extracted
    ]
    dropped = [DroppedRow(shown(text, redaction), NOT_ALIGNED) for text in details.get("dropped_claims", [])]
    silent = [DroppedRow(shown(span.text, redaction), NO_CLAIM) for span in _silent(answer, extracted)]
    return ShownExtraction(claims, dropped + silent, _notes(details))


def _silent(answer: str, extracted: Sequence[dict[str, Any]]) -> list[Span]:
    """The sentences of which nothing became a claim."""
    from evidencerails.text.sentences import split_sentences

    told = [claim["sentence"] for claim in extracted]
    return [span for span in split_sentences(answer) if not any(a < span.end and span.start < b for a, b in told)]


def _notes(details: dict[str, Any]) -> list[str]:
    left_out = details.get("uncovered_sentences", 0)
    failures = [f"extraction by the model failed: {shown(reason)}" for reason in details.get("extraction_failures", [])]
    return ([f"{left_out} {LEFT_OUT}"] if left_out else []) + failures


def print_extraction(extraction: ShownExtraction, out: Console) -> None:
    """Print the extraction; what went wrong in it goes to standard error."""
    _table(out, ("extracted claim", "span", "sentence", "extractor"), extraction.claims)
    if extraction.dropped:
        _table(out, ("no claim", "reason"), extraction.dropped)
    for note in extraction.notes:
        say(note)


def _table(out: Console, columns: Sequence[str], rows: Sequence[tuple[str, ...]]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(show_edge=False, pad_edge=False, expand=True)
    for name in columns:
        table.add_column(name, ratio=None if name == "extractor" else 1, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    out.print(table)
    out.print()
