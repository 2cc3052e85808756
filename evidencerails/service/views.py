"""What the pages show, as plain values."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from evidencerails.report_page import Piece, pieces_of

if TYPE_CHECKING:
    from evidencerails.operations.review.package import Package
    from evidencerails.operations.store.queries import Summary

QUANTILES = (("Median", 0.5), ("95th percentile", 0.95), ("99th percentile", 0.99))


def pieces(plain: Mapping[str, Any], answer: str) -> list[Piece]:
    """The answer cut at the words that a kept report marks; whole if too much of the report was redacted."""
    from evidencerails.report import Report

    try:
        report = Report.model_validate({key: value for key, value in plain.items() if key != "truncated"})
    except ValidationError:
        return [Piece(answer)]
    return pieces_of(report, answer)


def answer_of(package: Package) -> str:
    """The answer that a package's claims and findings are about; another text may go out in its place."""
    return str(package.context.get("response") or package.output)


def review_pieces(package: Package) -> list[Piece]:
    """The answer of a package cut at its marked words; a claim's number is its place among the flagged ones."""
    from evidencerails.report import Report

    fields = {"status": package.status, "claims": package.flagged_claims, "findings": package.findings}
    return pieces_of(Report.model_validate(fields), answer_of(package))


def moment(seconds: float | None) -> str:
    """A time for people, in UTC."""
    if seconds is None:
        return "-"
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S")


def share(part: float, whole: float) -> str:
    """A percentage; a dash of nothing."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


def latency_and_cost(rows: Sequence[Summary]) -> list[tuple[str, str]]:
    """Milliseconds a report and LLM work, in words."""
    times = sorted(row.total_ms for row in rows if row.total_ms is not None)
    ranks = [min(len(times) - 1, math.ceil(at * len(times)) - 1) for _, at in QUANTILES] if times else []
    lines = [(f"{name} of a report", f"{times[n]:.0f} ms") for (name, _), n in zip(QUANTILES, ranks, strict=False)]
    calls, tokens = sum(row.llm_calls for row in rows), sum(row.llm_tokens for row in rows)
    per = f"{calls / len(rows):.2f} calls, {tokens / len(rows):.0f} tokens" if rows else "-"
    return [*lines, ("LLM calls", str(calls)), ("LLM tokens", str(tokens)), ("LLM work a report", per)]
