"""A report for people: the answer with its offending words marked, and each claim with what decided it."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from evidencerails.cli.terminal import can_write, console, visible
from evidencerails.report import text_hash

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
MARKED = ("contradicted", "absent", "partially_supported")
MAX_SHOWN = 400
"""Characters of a claim or quote in the table; the JSON report has all of them."""
MOST_WORDS = 0.6
"""If more of a claim's words than this share are missing from its evidence, marking single words says nothing."""
SHORTEST_MARKED = 4
"""Shorter words without a digit are mostly articles, particles and auxiliaries."""
_WORD = re.compile(r"\w+(?:[.,'’:/-]\w+)*")


class Mark(NamedTuple):
    """A stretch of the answer to mark, by character offsets."""

    start: int
    end: int
    label: str
    """Why: the label of a claim, or the kind of a finding."""
    claim: int = 0
    """Number of the claim in the report, from 1; 0 for a finding that belongs to none."""

    @property
    def style(self) -> str:
        """Its look on a terminal."""
        return LABEL_STYLES.get(self.label, "bold red")


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
        out.append(brackets[0] + visible(answer[mark.start : mark.end]) + brackets[1], style=mark.style)
        place = mark.end
    out.append(visible(answer[place:]))
    return out


def marks(report: Report, answer: str) -> list[Mark]:
    """The offending words of an answer in order, none in two marks."""
    return _disjoint(_marks(report, answer))


def words_of(report: Report) -> str:
    """The answer as far as a report holds it, each word in its place; an ellipsis where words are missing."""
    spans = [claim.span for claim in report.claims]
    spans += [finding.span for finding in report.findings if finding.span is not None]
    answer = ["\0"] * max((span.end for span in spans), default=0)
    for span in spans:
        answer[span.start : span.end] = span.text
    return re.sub("\0+", lambda gap: "…".center(len(gap[0])) if len(gap[0]) > 2 else " " * len(gap[0]), "".join(answer))


def _marks(report: Report, answer: str) -> Iterable[Mark]:
    for number, claim in enumerate(report.claims, start=1):
        if claim.label in MARKED:
            yield from _marks_in_claim(claim, number, answer)
    for finding in report.findings:
        if finding.span is not None and finding.kind != "unsupported_claim":
            yield Mark(finding.span.start, finding.span.end, finding.kind)


def _marks_in_claim(claim: Claim, number: int, answer: str) -> list[Mark]:
    """The words of a claim that its evidence lacks; the whole claim if there are none, or mostly such words."""
    label, span = claim.label, claim.span
    known = {word.casefold() for quote in claim.evidence for word in _WORD.findall(quote.span.text)}
    words = list(_WORD.finditer(answer, span.start, span.end))
    unknown = [word for word in words if word.group().casefold() not in known and _says_something(word.group())]
    if not unknown or len(unknown) > MOST_WORDS * len(words):
        return [Mark(span.start, span.end, label, number)]
    return [Mark(word.start(), word.end(), label, number) for word in unknown]


def _says_something(word: str) -> bool:
    return len(word) >= SHORTEST_MARKED or any(character.isdigit() for character in word)


def _disjoint(found: Iterable[Mark]) -> list[Mark]:
    """The marks in order, without what an earlier one covers; those of one claim with a blank between are joined."""
    out: list[Mark] = []
    for mark in sorted(found):
        last = out[-1] if out else None
        if last and mark.start <= last.end + 1 and (mark.label, mark.claim) == (last.label, last.claim):
            out[-1] = last._replace(end=max(mark.end, last.end))
        elif last and mark.start < last.end:
            if mark.end > last.end:
                out.append(mark._replace(start=last.end))
        else:
            out.append(mark)
    return out


def _claims_table(claims: Sequence[Claim], redaction: Redaction) -> Table:
    from rich.table import Table

    table = Table(show_edge=False, pad_edge=False, expand=True)
    for name, ratio in (("claim", 4), ("label", None), ("type", None), ("score", None), ("evidence", 5)):
        table.add_column(name, ratio=ratio, overflow="fold", no_wrap=ratio is None)
    for claim in claims:
        table.add_row(*_row(claim, redaction))
    return table


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


_DIFF_STYLES = {"-": "red", "+": "green", "@": "dim"}


def _outcome(report: Report, redaction: Redaction) -> list[Text]:
    """What became of an answer that was repaired, replaced or handed to a person; redaction hides the texts."""
    from rich.text import Text

    lines: list[Text] = []
    if (repair := report.repair) is not None:
        lines.append(Text.assemble("repair ", (repair.status, "bold"), f": {shown(repair.reason, redaction)}"))
        if redaction == "off":
            lines += [Text(visible(line), style=_DIFF_STYLES.get(line[:1], "")) for line in repair.diff.splitlines()]
    if (review := report.review) is not None:
        about = review.reason or f"{review.tier}, {review.id}"
        lines.append(Text.assemble("review ", (review.state, "bold"), f": {shown(about, redaction)}"))
    if report.answer is not None and redaction == "off":
        lines.append(Text.assemble(("the user gets", "bold"), f": {visible(report.answer)}"))
    return lines


def _why(finding: Finding, redaction: Redaction) -> str:
    parts = [shown(finding.reason, redaction), *(_quoted(quote, redaction) for quote in finding.evidence[:2])]
    return " | ".join(part for part in parts if part)
