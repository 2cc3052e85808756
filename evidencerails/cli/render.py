"""A report for people: the answer with its offending words marked, and each claim with what decided it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from evidencerails.cli.common import plain_table
from evidencerails.cli.terminal import can_write, console, say
from evidencerails.exchange import Span
from evidencerails.report import reason_code, text_hash
from evidencerails.report_page import marks
from evidencerails.text.visible import visible

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table
    from rich.text import Text

    from evidencerails.report import Claim, Finding, Quote, Redaction, Report

STATUS_STYLES = {"grounded": "bold green", "hallucinated": "bold red", "unverified": "bold yellow"}
LABEL_STYLES = {
    "supported": "green",
    "partially_supported": "yellow",
    "contradicted": "bold red",
    "absent": "yellow",
    "unevaluatable": "dim",
}
MAX_SHOWN = 400
"""Characters of a claim or quote in the table; the JSON report has all of them."""
_DIFF_STYLES = {"-": "red", "+": "green", "@": "dim"}
NO_CLAIM = "makes no claim: a question, a greeting, a refusal, a heading, or the lead-in of a list"
NOT_ALIGNED = "the model's, and not in the answer: no sentence says it, or it has another number or name"
LEFT_OUT = "sentences that the model made no claim of were extracted by the rules"


def print_report(
    report: Report, answer: str, *, redaction: Redaction = "off", to: Console | None = None, heading: bool = True
) -> None:
    """Print the report: verdict, marked answer, table of claims, other findings, and what the user gets instead."""
    out = to or console()
    if heading:
        out.print(_headline(report))
    if redaction == "off" and (heading or marks(report, answer)) and report.status != "unverified":
        out.print(marked_answer(report, answer, brackets=brackets_for(out)))
    if report.claims:
        out.print(_claims_table(report.claims, redaction))
    for line in [*_other_findings(report, redaction), *_outcome(report, redaction)]:
        out.print(line)


def _headline(report: Report) -> Text:
    from rich.text import Text

    line = Text(report.status, style=STATUS_STYLES[report.status])
    if report.hallucination_score is not None:
        line.append(f"  hallucination score {report.hallucination_score:.2f}", style="default")
    line.append(f"  decision {report.decision}", style="default")
    return line


def brackets_for(out: Console) -> tuple[str, str]:
    """What stands around marked words, so that the mark survives a pipe and a terminal without colours."""
    stream = out.file if out.file is not None else sys.stdout
    return ("⟦", "⟧") if can_write(stream, "⟦⟧") else ("[[", "]]")  # type: ignore[arg-type]


def marked_answer(report: Report, answer: str, *, brackets: tuple[str, str] = ("⟦", "⟧")) -> Text:
    """The whole answer with its offending words in brackets and colour."""
    from rich.text import Text

    out, place = Text(), 0
    for mark in marks(report, answer):
        out.append(visible(answer[place : mark.start]))
        out.append(
            brackets[0] + visible(answer[mark.start : mark.end]) + brackets[1],
            style=LABEL_STYLES.get(mark.label, "bold red"),
        )
        place = mark.end
    out.append(visible(answer[place:]))
    return out


def _claims_table(claims: Sequence[Claim], redaction: Redaction) -> Table:
    from rich.table import Table

    table = Table(show_edge=False, pad_edge=False, expand=True)
    for name, ratio in (("claim", 4), ("label", None), ("type", None), ("score", None), ("evidence", 5)):
        table.add_column(name, ratio=ratio, overflow="fold", no_wrap=ratio is None)
    for claim in claims:
        table.add_row(*_row(claim, redaction))
    return table


def print_methods(report: Report, to: Console) -> None:
    """Print what each check and each measure found, and how long it took."""
    from rich.text import Text

    from evidencerails.measures.calibrated import OWN_SCORE

    given = [check.details["measures"]["missing"] for check in report.checks.values() if "measures" in check.details]
    missing = {f"measure_{name}": reason for one in given for name, reason in one.items()}
    table = plain_table("method", "result", "score", "ms")
    for name, ms in report.timings_ms.items():
        if (check := report.checks.get(name)) is not None:
            result, score = check.status, check.details.get(OWN_SCORE, check.score)
        elif name.startswith("measure_"):
            result, score = missing.get(name, "measured"), report.metrics.get(name)
        else:
            continue
        shown_score = "" if score is None else f"{score:.2f}"
        cells = (name.removeprefix("measure_"), visible(reason_code(result), one_line=True), shown_score, f"{ms:.0f}")
        table.add_row(*map(Text, cells))
    to.print(table)


def _row(claim: Claim, redaction: Redaction) -> tuple[RenderableType, ...]:
    from rich.text import Text

    score = "" if claim.score is None else f"{claim.score:.2f}"
    quotes = "\n".join(_quoted(quote, redaction) for quote in claim.evidence[:2])
    return (
        Text(shown(claim.text, redaction)),
        Text(claim.label, style=LABEL_STYLES[claim.label]),
        Text("\n".join(claim.error_types) or "-", style="" if claim.error_types else "dim"),
        Text(score, justify="right"),
        Text(quotes or "-", style="" if quotes else "dim"),
    )


def _quoted(quote: Quote, redaction: Redaction) -> str:
    return f"{visible(quote.source or quote.passage_id, one_line=True)}: {shown(quote.span.text, redaction)}"


def shown(text: str, redaction: Redaction = "off") -> str:
    """A text of others as it may stand in a table: harmless, on one line, not too long, or redacted."""
    if redaction == "drop":
        return "(dropped)"
    if redaction == "hash":
        return text_hash(text)
    text = visible(text, one_line=True)
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"


def _other_findings(report: Report, redaction: Redaction) -> list[Text]:
    from rich.text import Text

    return [
        Text.assemble((finding.kind, "bold red"), f": {_why(finding, redaction)}")
        for finding in report.findings
        if finding.kind != "unsupported_claim"
    ]


def _outcome(report: Report, redaction: Redaction) -> list[Text]:
    """What became of an answer that was repaired, replaced or handed to a person; redaction hides the texts."""
    from rich.text import Text

    lines: list[Text] = []
    if (repair := report.repair) is not None:
        lines.append(Text.assemble("repair ", (repair.status, "bold"), f": {shown(repair.reason, redaction)}"))
        if redaction == "off":
            lines += [Text(visible(line), style=_DIFF_STYLES.get(line[:1], "")) for line in repair.diff.splitlines()]
    if (found := _consensus(report)) and redaction == "off":
        lines.append(Text.assemble(("most answers say", "bold"), f": {shown(found)}"))
    if (review := report.review) is not None:
        about = review.reason or f"{review.tier}, {review.id}"
        lines.append(Text.assemble("review ", (review.state, "bold"), f": {shown(about, redaction)}"))
    if report.answer is not None and redaction == "off":
        lines.append(Text.assemble(("the user gets", "bold"), f": {visible(report.answer)}"))
    return lines


def _consensus(report: Report) -> str | None:
    check = report.checks.get("consistency")
    return (check.details.get("consensus") or {}).get("text") if check else None


def _why(finding: Finding, redaction: Redaction) -> str:
    parts = [shown(finding.reason, redaction), *(_quoted(quote, redaction) for quote in finding.evidence[:2])]
    return " | ".join(part for part in parts if part)


# What `--debug-claims` shows.


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

    covered = [claim["sentence"] for claim in extracted]
    return [span for span in split_sentences(answer) if not any(a < span.end and span.start < b for a, b in covered)]


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
