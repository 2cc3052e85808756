"""From a report to what a Colang flow reads, and to the log line of its verdict.

A flow reads a `RailOutcome` that is true in an `if` exactly when it blocks; the log line has no text of the answer.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from nemoguardrails.actions.rail_outcome import RailDecision, RailOutcome, TransformSpec, TransformTarget

from evidencerails.config import GuardConfig
from evidencerails.report import Report

log = logging.getLogger("evidencerails")

EXCEPTION_MESSAGE = "Hallucination detected. The previous answer may not be accurate"
UNVERIFIED_EXCEPTION_MESSAGE = "The answer could not be verified"
NOT_ACTIVATED = "not_activated"
SHADOW = "shadow"
SKIPPED = {"status": "skipped", "decision": "allow"}
"""`$hallucination_report` of a turn in which no rail has looked."""
MAX_LOGGED_REASON = 500


class Verdict(RailOutcome):  # type: ignore[misc]
    """The outcome of a rail; `if $verdict` in a flow is true exactly when it blocks, as flows older than 0.24 expect.

    A warning or annotation is a `TRANSFORM` whose `transform_text["bot_message"]` is the new answer. NeMo's own outcome
    is always true in an `if`, so a custom flow that asks `if $is_hallucination` would block every answer.
    """

    __slots__ = ()

    def __bool__(self) -> bool:
        return bool(self.is_blocked)

    @property
    def status(self) -> str:
        """`grounded`, `hallucinated` or `unverified`; `skipped` if the rail was not activated."""
        return str(self.metadata.get("status", "skipped"))

    @property
    def raises(self) -> bool:
        """True if the decision is a rail exception, whatever `enable_rails_exceptions` says."""
        return bool(self.metadata.get("decision") == "raise")

    @property
    def message(self) -> str:
        """Text of the rail exception."""
        return UNVERIFIED_EXCEPTION_MESSAGE if self.status == "unverified" else EXCEPTION_MESSAGE

    @property
    def answer(self) -> str | None:
        """What the user sees in place of a blocked answer; None for the app's own message."""
        answer: str | None = self.metadata.get(ANSWER_KEY)
        return answer

    @property
    def report(self) -> dict[str, Any]:
        return {name: value for name, value in self.metadata.items() if name != ANSWER_KEY}

    @property
    def score(self) -> float | None:
        score: float | None = self.metadata.get("hallucination_score")
        return score

    @property
    def kinds(self) -> list[str]:
        """The finding kinds, each once, in order."""
        return list(dict.fromkeys(finding["kind"] for finding in self._findings))

    @property
    def spans(self) -> list[dict[str, Any]]:
        """The spans of the findings as plain data: start, end, text."""
        return [finding["span"] for finding in self._findings if finding.get("span")]

    @property
    def evidence(self) -> list[dict[str, Any]]:
        """The quotes of the findings; without text unless `expose.evidence` is set."""
        return [quote for finding in self._findings for quote in finding.get("evidence", ())]

    @property
    def _findings(self) -> Sequence[Mapping[str, Any]]:
        found: Sequence[Mapping[str, Any]] = self.metadata.get("findings", ())
        return found


ANSWER_KEY = "_answer"
"""Metadata key of what the user sees in place of a blocked answer: an outcome that blocks has room for nothing else,
and a report that leaves the app may have to be without it."""


def not_run(reason: str) -> Verdict:
    """The verdict of a rail that had not to look: the flag is not set, or the check runs off the path."""
    return Verdict(RailDecision.ALLOW, reason, {**SKIPPED, "reason": reason})


def verdict_of(report: Report, config: GuardConfig, changed: str | None, withheld: str | None = None) -> Verdict:
    """The verdict a flow acts on.

    Args:
        changed: the answer repaired, or with its warning or marks; None if it stays as it is.
        withheld: what the user sees in place of a blocked answer; None for the app's own message.
    """
    plain = plain_report(report, config)
    if report.is_blocked:
        return Verdict(RailDecision.BLOCK, plain["reason"], {**plain, ANSWER_KEY: withheld} if withheld else plain)
    if changed is None:
        return Verdict(RailDecision.ALLOW, plain["reason"], plain)
    rewrite = TransformSpec(TransformTarget.BOT_MESSAGE, changed)
    return Verdict(RailDecision.TRANSFORM, plain["reason"], plain, (rewrite,))


def plain_report(report: Report, config: GuardConfig) -> dict[str, Any]:
    """The report as it may leave the app: at most 32 kB, evidence text only if exposed, redacted as set."""
    return report.plain(redaction=config.redaction, expose_evidence=config.expose.evidence)


def log_report(rail: str, report: Report, *, shown: int | None = None, is_shadow: bool = False) -> None:
    """Log one report in one line; a warning unless the answer is grounded.

    Args:
        shown: how many characters of a stream its user has read by now; None outside a stream.
        is_shadow: the report is what the rail would have done.
    """
    level = logging.INFO if report.status == "grounded" else logging.WARNING
    mode = " (shadow, answer not altered)" if is_shadow else ""
    is_late = shown is not None and report.decision != "allow"
    late = f"; {shown} characters of the answer were already shown" if is_late else ""
    log.log(level, "evidencerails: %s%s: %s%s", rail, mode, _summary(report), late)


def _summary(report: Report) -> str:
    """Status, decision, score, findings and the reasons' codes."""
    score = "" if report.hallucination_score is None else f", score {report.hallucination_score:.2f}"
    kinds = ", ".join(sorted({finding.kind for finding in report.findings}))
    found = f", {len(report.findings)} findings ({kinds})" if report.findings else ""
    evidence = f", evidence from {report.evidence_from}" if report.evidence_from else ""
    codes = [f"{name}: {_logged_reason(result.reason)}" for name, result in report.checks.items() if result.reason]
    reasons = f" [{'; '.join(codes)}]" if codes and report.status == "unverified" else ""
    return f"{report.status}, decision {report.decision} ({report.decided_by}){score}{found}{evidence}{reasons}"


def _logged_reason(reason: str) -> str:
    """The code of a reason and its first words, with what to do; what follows may quote text."""
    return ": ".join(part.strip() for part in reason.split(": ")[:2])[:MAX_LOGGED_REASON].replace("\n", " ")
