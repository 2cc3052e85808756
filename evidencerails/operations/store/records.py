"""From a report to what is kept of it: the columns that are searched, the findings, and the whole as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from evidencerails.exchange import Exchange
from evidencerails.report import Redaction, Report, text_hash

MAX_BODY_BYTES = 1_000_000
"""Of a report's JSON; what does not fit is counted in it under `truncated`."""
MAX_TEXT = 200_000
"""Characters kept of an answer; no more can be shown to a person anyway."""
NAME_LENGTH = 200

ATTRIBUTION = ("attribution_precision", "attribution_existence", "attribution_accuracy", "attribution_entailment")
"""How well an answer's citations hold, and the three parts of that."""
FINDING = ("kind", "category", "severity", "check", "label", "score")

Record = dict[str, Any]
"""`{"report": columns, "findings": [columns, ...]}`, plain data."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A report on its way to the store; made in the turn, turned into a record off it."""

    report: Report
    exchange: Exchange
    created_at: float
    sample_rate: float
    redaction: Redaction


def record_of(entry: Entry) -> Record:
    report, labels, usage = entry.report, entry.exchange.labels, entry.report.llm
    columns = {
        **{name: getattr(report, name) for name in ("id", "status", "decision", "hallucination_score", "risk_level")},
        **{name: report.metrics.get(name) for name in ("composite_score", "faithfulness", *ATTRIBUTION)},
        **{name: plain_name(getattr(labels, name)) for name in ("flow", "agent", "model")},
        **{name: getattr(entry, name) for name in ("created_at", "sample_rate", "redaction")},
        "retrieval_quality": report.abstention.parts.get("retrieval_quality") if report.abstention else None,
        "gate_passed": report.gate.passed if report.gate else None,
        "stakes": report.stakes,
        "total_ms": report.timings_ms.get("total"),
        "llm_calls": usage.calls,
        "llm_tokens": usage.prompt_tokens + usage.completion_tokens,
        "version": report.version,
        "body": as_json(_body(entry)),
    }
    findings = [
        {
            "report_id": report.id,
            "error_types": ",".join(finding.error_types),
            **{name: getattr(finding, name) for name in FINDING},
        }
        for finding in report.findings
    ]
    return {"report": columns, "findings": findings}


def _body(entry: Entry) -> dict[str, Any]:
    exchange, redaction = entry.exchange, entry.redaction
    report = entry.report.plain(max_bytes=MAX_BODY_BYTES, redaction=redaction)
    if redaction != "off":
        for key in ("answer", "repair", "verification", "abstention"):  # their texts are the answer's, once more
            report.pop(key, None)
    evidence_ids = [passage.id for passage in exchange.evidence][:100]
    body: dict[str, Any] = {"report": report, "evidence_ids": evidence_ids, "session": exchange.labels.session}
    for name, text in (("response", exchange.response), ("question", exchange.user_input)):
        if redaction != "drop":
            body[name] = text[:MAX_TEXT] if redaction == "off" else text_hash(text)
    return body


def plain_name(text: str | None) -> str | None:
    """A short name that every database can hold: without NUL characters and lone surrogates."""
    if text is None:
        return None
    return text.replace("\x00", "").encode("utf-8", "replace").decode("utf-8")[:NAME_LENGTH]


def as_json(value: Any) -> str:
    """JSON in ASCII: hostile characters are escaped, on disk and in the database."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"), default=str)
