"""The last gate: no answer above a score leaves without a decision."""

from __future__ import annotations

from evidencerails.measures.aggregate import COMPOSITE_PARTS, composite_parts
from evidencerails.policy import Ruling
from evidencerails.report import Gate, Report
from evidencerails.settings.mitigation import QualityGateSettings


def pass_gate(report: Report, settings: QualityGateSettings) -> tuple[Gate, list[Ruling]]:
    """What the gate finds, with its ruling if the answer may not pass.

    Without any of the scores that it limits it neither passes nor fails: an answer that could not be measured is
    unverified, and `on_unverified` decides.
    """
    limits = {
        "hallucination_score": settings.max_hallucination_score,
        "composite_score": settings.max_composite_score,
    }
    set_limits = {name: limit for name, limit in limits.items() if limit is not None}
    known = {
        "hallucination_score": report.hallucination_score,
        "composite_score": report.metrics.get("composite_score"),
    }
    scores = {name: value for name, value in known.items() if name in set_limits and value is not None}
    above = [name for name, value in scores.items() if value > set_limits[name]]
    gate = Gate(
        passed=None if not scores else not above,
        scores=scores,
        limits=set_limits,
        missing=_missing(report, set_limits.keys() - scores.keys(), "composite_score" in set_limits),
    )
    return gate, [Ruling(settings.then, f"quality_gate: {', '.join(above)}")] if above else []


def _missing(report: Report, scores: set[str], names_parts: bool) -> tuple[str, ...]:
    """Scores that there are none of, and the parts that the composite score lacks."""
    parts = composite_parts(report.metrics) if names_parts else {}
    return (*sorted(scores), *(name for name in COMPOSITE_PARTS if names_parts and parts.get(name) is None))
