"""A report for people: the answer with its offending words marked, and each claim with what decided it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from evidencerails.cli.common import can_write, console, plain_table, say
from evidencerails.measures.calibrated import OWN_SCORE
from evidencerails.report import Quote, Redaction, Report, reason_code, text_hash
from evidencerails.report_page import Piece, pieces_of
from evidencerails.text.sentences import split_sentences
from evidencerails.text.visible import visible

STATUS_STYLES = {"grounded": "bold green", "hallucinated": "bold red", "unverified": "bold yellow"}
LABEL_STYLES = {"supported": "green", "partially_supported": "yellow", "contradicted": "bold red", "absent": "yellow",
                "unevaluatable": "dim"}  # fmt: skip
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
        line = Text(report.status, style=STATUS_STYLES[report.status])
        if report.hallucination_score is not None:
            line.append(f"  hallucination score {report.hallucination_score:.2f}", style="default")
        out.print(line.append(f"  decision {report.decision}", style="default"))
    pieces = pieces_of(report.plain(max_bytes=None), answer)
    if redaction == "off" and (heading or any(one.label for one in pieces)) and report.status != "unverified":
        is_wide = can_write(out.file if out.file is not None else sys.stdout, "⟦⟧")  # type: ignore[arg-type]
        out.print(marked_answer(pieces, brackets=("⟦", "⟧") if is_wide else ("[[", "]]")))
    if report.claims:
        rows = []
        for claim in report.claims:
            quotes = "\n".join(_quoted(quote, redaction) for quote in claim.evidence[:2])
            score = "" if claim.score is None else f"{claim.score:.2f}"
            errors = "\n".join(claim.error_types)
            rows.append(
                (
                    shown(claim.text, redaction),
                    Text(claim.label, style=LABEL_STYLES[claim.label]),
                    Text(errors or "-", style="" if errors else "dim"),
                    Text(score, justify="right"),
                    Text(quotes or "-", style="" if quotes else "dim"),
                )
            )
        _table(out, {"claim": 4, "label": None, "type": None, "score": None, "evidence": 5}, rows)
    for finding in report.findings:
        if finding.kind != "unsupported_claim":
            quotes = " | ".join(_quoted(quote, redaction) for quote in finding.evidence[:2])
            why = " | ".join(part for part in (shown(finding.reason, redaction), quotes) if part)
            out.print(Text.assemble((finding.kind, "bold red"), f": {why}"))
    _print_outcome(report, redaction, out)


def marked_answer(pieces: Sequence[Piece], *, brackets: tuple[str, str] = ("⟦", "⟧")) -> Text:
    """The whole answer, its offending words in colour and in brackets: they survive a pipe and a plain terminal."""
    out = Text()
    for piece in pieces:
        words = brackets[0] + piece.text + brackets[1] if piece.label else piece.text
        out.append(words, style=LABEL_STYLES.get(piece.label, "bold red") if piece.label else "")
    return out


def print_methods(report: Report, to: Console) -> None:
    """Print what each check and each measure found, and how long it took."""
    given = [check.details["measures"]["missing"] for check in report.checks.values() if "measures" in check.details]
    missing = {f"measure_{name}": reason for one in given for name, reason in one.items()}
    table = plain_table("method", "result", "score", "ms")
    for name, ms in report.timings_ms.items():
        if (check := report.checks.get(name)) is not None:
            result, score = str(check.status), check.details.get(OWN_SCORE, check.score)
        elif name.startswith("measure_"):
            result, score = missing.get(name, "measured"), report.metrics.get(name)
        else:
            continue
        result = visible(reason_code(result), one_line=True)
        cells = (name.removeprefix("measure_"), result, "" if score is None else f"{score:.2f}", f"{ms:.0f}")
        table.add_row(*map(Text, cells))
    to.print(table)


def _quoted(quote: Quote, redaction: Redaction) -> str:
    return f"{visible(quote.source or quote.passage_id, one_line=True)}: {shown(quote.span.text, redaction)}"


def shown(text: str, redaction: Redaction = "off") -> str:
    """A text of others as it may stand in a table: harmless, on one line, not too long, or redacted."""
    if redaction != "off":
        return "(dropped)" if redaction == "drop" else text_hash(text)
    text = visible(text, one_line=True)
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"


def _print_outcome(report: Report, redaction: Redaction, out: Console) -> None:
    """What became of an answer that was repaired, replaced or handed to a person; redaction hides the texts."""
    consistency, is_open = report.checks.get("consistency"), redaction == "off"
    consensus = (consistency.details.get("consensus") or {}).get("text") if consistency else None
    if (repair := report.repair) is not None:
        out.print(Text.assemble("repair ", (repair.status, "bold"), f": {shown(repair.reason, redaction)}"))
        for line in repair.diff.splitlines() if is_open else ():
            out.print(Text(visible(line), style=_DIFF_STYLES.get(line[:1], "")))
    if consensus and is_open:
        out.print(Text.assemble(("most answers say", "bold"), f": {shown(consensus)}"))
    if (review := report.review) is not None:
        about = review.reason or f"{review.tier}, {review.id}"
        out.print(Text.assemble("review ", (review.state, "bold"), f": {shown(about, redaction)}"))
    if report.answer is not None and is_open:
        out.print(Text.assemble(("the user gets", "bold"), f": {visible(report.answer)}"))


class ShownExtraction(NamedTuple):
    """What `--debug-claims` shows, its texts harmless or redacted."""

    claims: list[dict[str, str]]
    """Each with its `text`, its `span` (offsets and the words there), `sentence` and `extractor`."""
    dropped: list[dict[str, str]]
    """What did not become a claim: `text` and `reason`."""
    notes: list[str]


def extraction_of(report: Report, answer: str, redaction: Redaction) -> ShownExtraction:
    details = report.checks["claims"].details
    extracted: list[dict[str, Any]] = details.get("extracted", [])
    claims = []
    for claim in extracted:
        start, end = claim["span"]
        span = f"{start}:{end} {shown(answer[start:end], redaction)}"
        sentence = shown(answer[slice(*claim["sentence"])], redaction)
        claims.append({"text": shown(claim["text"], redaction), "span": span, "sentence": sentence,
                       "extractor": claim["extractor"]})  # fmt: skip
    covered = [claim["sentence"] for claim in extracted]
    silent = [s for s in split_sentences(answer) if not any(a < s.end and s.start < b for a, b in covered)]
    dropped = [(text, NOT_ALIGNED) for text in details.get("dropped_claims", [])]
    dropped += [(span.text, NO_CLAIM) for span in silent]
    left_out = details.get("uncovered_sentences", 0)
    notes = [f"{left_out} {LEFT_OUT}"] if left_out else []
    notes += [f"extraction by the model failed: {shown(reason)}" for reason in details.get("extraction_failures", [])]
    return ShownExtraction(claims, [{"text": shown(t, redaction), "reason": why} for t, why in dropped], notes)


def print_extraction(extraction: ShownExtraction, out: Console) -> None:
    """Print the extraction; what went wrong in it goes to standard error."""
    columns = {"extracted claim": 1, "span": 1, "sentence": 1, "extractor": None}
    _table(out, columns, [tuple(claim.values()) for claim in extraction.claims])
    out.print()
    if extraction.dropped:
        _table(out, {"no claim": 1, "reason": 1}, [tuple(one.values()) for one in extraction.dropped])
        out.print()
    for note in extraction.notes:
        say(note)


def _table(out: Console, columns: dict[str, int | None], rows: Sequence[tuple[Any, ...]]) -> None:
    """A table as wide as the terminal; `columns` has their shares of it, None for one as wide as its words."""
    table = Table(show_edge=False, pad_edge=False, expand=True)
    for name, ratio in columns.items():
        table.add_column(name, ratio=ratio, overflow="fold", no_wrap=ratio is None)
    for row in rows:
        table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    out.print(table)
