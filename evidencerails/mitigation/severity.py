"""How severe a finding is.

sev = a * propagation risk + b * inverse detectability + c * consequence. The parts follow from the finding: the check's
own level says how far it spreads and what it costs, its kind how hard it is to notice, and the stakes of the answer
raise or lower the cost.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from evidencerails.exchange import Exchange, Stakes
from evidencerails.report import CheckResult, Finding, FindingKind, Report, Severity
from evidencerails.settings.mitigation import SeveritySettings

log = logging.getLogger("evidencerails")

WEIGHTS = {"propagation_risk": 0.3, "inverse_detectability": 0.2, "consequence": 0.5}
LEVELS: tuple[tuple[Severity, float], ...] = (("critical", 0.8), ("high", 0.6), ("medium", 0.3))
"""Each level with its lower bound, exclusive; at most the last is low."""
LEVEL_PARTS: Mapping[Severity, tuple[float, float]] = {
    "low": (0.2, 0.2),
    "medium": (0.5, 0.5),
    "high": (0.75, 0.75),
    "critical": (0.9, 1.0),
}
"""Propagation risk and consequence by the level that a check gives its finding. Chosen so that at medium stakes and
with the default weights each level stays itself, whatever the detectability."""
INVERSE_DETECTABILITY: Mapping[FindingKind, float] = {
    "unsupported_claim": 0.5,
    "inconsistent_samples": 0.5,
    "intrinsic_contradiction": 0.3,
    "prompt_output_divergence": 0.3,
    "factual_fabrication": 0.65,
    "tool_call_hallucination": 0.3,
    "citation_violation": 0.5,
    "structure_violation": 0.2,
    "logic_error": 0.3,
}
"""How hard each kind is to notice; set by hand: low where a parser or a reader of the answer sees it,
medium where the sources have to be consulted."""
CONFABULATED = 0.7
"""The least for findings of the category `confabulatory`: they are the hardest to notice."""
CONTRADICTED = 0.4
"""Of claims that the evidence at hand contradicts: anyone who looks there sees it."""
STAKES_SHIFT: Mapping[Stakes, float] = {"low": -0.5, "medium": 0.0, "high": 0.3}
"""What the stakes add to the consequence; about one level up or down."""
FEEDS_TOOLS = 0.2
"""What an exchange with tools adds to the propagation risk: the next step acts on the claim."""


class SeverityScore(NamedTuple):
    score: float
    level: Severity


def severity_of(finding: Finding, stakes: Stakes, *, feeds_tools: bool) -> SeverityScore:
    """Severity of a finding, in [0, 1], and its level."""
    propagation, consequence = LEVEL_PARTS[finding.severity]
    hard_to_notice = CONTRADICTED if finding.label == "contradicted" else INVERSE_DETECTABILITY[finding.kind]
    if finding.category == "confabulatory" and finding.label != "contradicted":
        hard_to_notice = max(CONFABULATED, hard_to_notice)
    parts = {
        "propagation_risk": propagation + FEEDS_TOOLS * feeds_tools,
        "inverse_detectability": hard_to_notice,
        "consequence": consequence + STAKES_SHIFT[stakes],
    }
    score = round(sum(WEIGHTS[name] * min(1.0, max(0.0, value)) for name, value in parts.items()), 6)
    return SeverityScore(score, next((level for level, bound in LEVELS if score > bound), "low"))


def with_severities(
    results: Sequence[CheckResult], exchange: Exchange, settings: SeveritySettings
) -> list[CheckResult]:
    """The results, each finding with its severity; one that has a score already keeps it."""
    stakes = exchange.stakes or settings.stakes
    feeds_tools = bool(exchange.tools or exchange.tool_calls)

    scored = []
    for result in results:
        findings = list(result.findings)
        for place, finding in enumerate(findings):
            if finding.severity_score is None:
                found = severity_of(finding, stakes, feeds_tools=feeds_tools)
                changes = {"severity": found.level, "severity_score": found.score}
                findings[place] = finding.model_copy(update=changes)
        scored.append(result.model_copy(update={"findings": tuple(findings)}) if findings else result)
    return scored


# ---- low ones are logged and kept

_file_lock = threading.Lock()


def record_low(report: Report, exchange: Exchange, settings: SeveritySettings) -> None:
    """Log the findings of low severity, and append the exchange to the regression set if the settings name one.

    Blocks: run it in a thread. A file that cannot be written costs a log line, never the answer.
    """
    low = [finding for finding in report.findings if finding.severity == "low"]
    if not low:
        return
    log.info("evidencerails: %d findings of low severity: %s", len(low), ", ".join(sorted({f.kind for f in low})))
    if settings.regression_set:
        row = json.dumps(_regression_row(report, exchange, low), ensure_ascii=False)
        try:
            path = Path(settings.regression_set)
            path.parent.mkdir(parents=True, exist_ok=True)
            with _file_lock, path.open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(row + "\n")
        except OSError as error:
            log.error("evidencerails: the regression set cannot be written: %s", error)


def _regression_row(report: Report, exchange: Exchange, findings: Sequence[Finding]) -> dict[str, object]:
    """One case for a later test run: what was checked, and what was found."""
    return {
        "response": exchange.response,
        "evidence": [passage.model_dump(include={"id", "text", "source"}) for passage in exchange.evidence],
        "prompt": [message.model_dump(include={"role", "content"}) for message in exchange.prompt],
        "status": report.status,
        "hallucination_score": report.hallucination_score,
        "findings": [
            {
                **f.model_dump(include={"kind", "label", "severity_score"}),
                "span": [f.span.start, f.span.end] if f.span else None,
            }
            for f in findings
        ],
        "version": report.version,
    }
