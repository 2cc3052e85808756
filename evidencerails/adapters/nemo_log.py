"""The log line of a verdict: always there when something is wrong, never with text of the answer or its evidence."""

from __future__ import annotations

import logging

from evidencerails.report import Report, reason_code

log = logging.getLogger("evidencerails")


def log_report(rail: str, report: Report, *, shown: int | None = None) -> None:
    """Log one report in one line; a warning unless the answer is grounded.

    `shown` is the number of characters of a stream that its user has read by now; None outside a stream.
    """
    level = logging.INFO if report.status == "grounded" else logging.WARNING
    late = (
        "" if shown is None or report.decision == "allow" else f"; {shown} characters of the answer were already shown"
    )
    log.log(level, "evidencerails: %s: %s%s", rail, summary(report), late)


def log_shadow(rail: str, report: Report) -> None:
    """Log what a rail in shadow mode would have done."""
    level = logging.INFO if report.status == "grounded" else logging.WARNING
    log.log(level, "evidencerails: %s (shadow, answer not altered): %s", rail, summary(report))


def summary(report: Report) -> str:
    """Status, decision, score, findings and the reasons' codes."""
    score = "" if report.hallucination_score is None else f", score {report.hallucination_score:.2f}"
    kinds = ", ".join(sorted({finding.kind for finding in report.findings}))
    found = f", {len(report.findings)} findings ({kinds})" if report.findings else ""
    evidence = f", evidence from {report.evidence_from}" if report.evidence_from else ""
    codes = [f"{name}: {reason_code(result.reason)}" for name, result in report.checks.items() if result.reason]
    reasons = f" [{'; '.join(codes)}]" if codes and report.status == "unverified" else ""
    return f"{report.status}, decision {report.decision} ({report.decided_by}){score}{found}{evidence}{reasons}"
