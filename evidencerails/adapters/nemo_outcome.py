"""From a report to what a Colang flow reads: a `RailOutcome` that is true in an `if` exactly when it blocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from nemoguardrails.actions.rail_outcome import RailDecision, RailOutcome, TransformSpec, TransformTarget

from evidencerails.checks.duplicates import deduplicate
from evidencerails.config import GuardConfig
from evidencerails.measures.aggregate import risk_level
from evidencerails.measures.root_cause import attribution_matrix
from evidencerails.policy import severest
from evidencerails.report import LlmUsage, Report
from evidencerails.reporting import hallucination_score, overall_status

EXCEPTION_MESSAGE = "Hallucination detected. The previous answer may not be accurate"
UNVERIFIED_EXCEPTION_MESSAGE = "The answer could not be verified"
NOT_ACTIVATED = "not_activated"
SHADOW = "shadow"


class Verdict(RailOutcome):  # type: ignore[misc]
    """The outcome of a rail; `if $verdict` in a flow holds exactly when it blocks, as flows older than 0.24 expect.

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
        """The report as plain data."""
        return {name: value for name, value in self.metadata.items() if name != ANSWER_KEY}

    @property
    def score(self) -> float | None:
        """The report's hallucination score."""
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


T = TypeVar("T")
ANSWER_KEY = "_answer"
"""Metadata key of what the user sees in place of a blocked answer: an outcome that blocks has room for nothing else,
and a report that leaves the app may have to be without it."""


def not_run(reason: str) -> Verdict:
    """The verdict of a rail that had not to look: the flag is not set, or the check runs off the path."""
    return Verdict(RailDecision.ALLOW, reason, {"status": "skipped", "reason": reason, "decision": "allow"})


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


def merged(reports: Sequence[Report], config: GuardConfig) -> Report:
    """One report of all rails that looked at the same answer; the decision is the severest."""
    results = deduplicate([result for report in reports for result in report.checks.values()])
    status, reason = overall_status(results)
    score = None if status == "unverified" else hallucination_score(results)
    decision = severest(report.decision for report in reports)
    decider = next((report for report in reports if report.decision == decision), reports[0])
    usages = [report.llm for report in reports]
    return reports[-1].model_copy(
        update={
            "status": status,
            "reason": reason,
            "decision": decision,
            "decided_by": decider.decided_by,
            "hallucination_score": score,
            "risk_level": risk_level(score, config.scoring.risk),
            "claims": tuple(claim for result in results for claim in result.claims),
            "findings": tuple(finding for result in results for finding in result.findings),
            "checks": {result.name: result for result in results},
            "metrics": {name: value for report in reports for name, value in report.metrics.items()},
            "timings_ms": {name: value for report in reports for name, value in report.timings_ms.items()},
            "llm": LlmUsage(**{name: sum(getattr(u, name) for u in usages) for name in LlmUsage.model_fields}),
            "root_causes": attribution_matrix(finding for result in results for finding in result.findings),
            "evidence_from": next((r.evidence_from for r in reports if r.evidence_from), None),
            "answer": decider.answer if decider.is_blocked else _last(report.answer for report in reports),
            "repair": _last(report.repair for report in reports),
            "verification": tuple(verified for report in reports for verified in report.verification),
            "abstention": decider.abstention or next((r.abstention for r in reports if r.abstention), None),
            "gate": next((r.gate for r in reports if r.gate and r.gate.passed is False), reports[-1].gate),
        }
    )


def _last(values: Iterable[T | None]) -> T | None:
    """The last value that there is."""
    return next((value for value in reversed([*values]) if value is not None), None)
