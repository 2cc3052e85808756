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
    known = {
        "hallucination_score": (report.hallucination_score, settings.max_hallucination_score),
        "composite_score": (report.metrics.get("composite_score"), settings.max_composite_score),
    }
    limits = {name: limit for name, (_, limit) in known.items() if limit is not None}
    scores = {name: score for name, (score, _) in known.items() if name in limits and score is not None}
    above = [name for name, score in scores.items() if score > limits[name]]
    parts, needed = composite_parts(report.metrics), COMPOSITE_PARTS if "composite_score" in limits else ()
    missing = (*sorted(limits.keys() - scores.keys()), *(name for name in needed if parts.get(name) is None))
    gate = Gate(passed=not above if scores else None, scores=scores, limits=limits, missing=missing)
    return gate, [Ruling(settings.then, f"quality_gate: {', '.join(above)}")] if above else []
