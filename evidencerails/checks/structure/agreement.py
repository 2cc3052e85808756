"""How far the samples agree with each field of a response that is JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from evidencerails.checks.structure.find import FoundJson, find_json
from evidencerails.exchange import Exchange, Span
from evidencerails.measures.json_fields import Field, json_fields
from evidencerails.measures.self_consistency import field_report
from evidencerails.report import Finding
from evidencerails.settings.structure import StructureSettings

VERSION = "1"


class Agreement(NamedTuple):
    """What the samples say about the fields of the response."""

    fields: Mapping[str, Mapping[str, Any]]
    metrics: dict[str, float]
    findings: list[Finding]


def field_agreement(exchange: Exchange, found: FoundJson, settings: StructureSettings) -> Agreement:
    """Agreement of each field over the response and the samples that hold JSON; empty where none does."""
    fields = json_fields(exchange.response[found.start : found.end])
    others = [one for sample in exchange.samples if (one := _fields_of(sample.text, settings)) is not None]
    if not fields or not others:
        return Agreement({}, {}, [])
    report = field_report(fields, others)
    shares = [entry["agreement"] for entry in report.values()]
    low = [field for field in fields if _is_low(report[field.path], settings)]
    findings = [_finding(field, report[field.path], exchange, found, len(others)) for field in low]
    return Agreement(report, {"field_agreement": sum(shares) / len(shares)}, findings)


def _fields_of(sample: str, settings: StructureSettings) -> list[Field] | None:
    values = find_json(sample, max_depth=settings.max_depth).values
    return json_fields(sample[values[-1].start : values[-1].end]) if values else None


def _is_low(entry: Mapping[str, Any], settings: StructureSettings) -> bool:
    return settings.min_agreement is not None and entry["agreement"] < settings.min_agreement


def _finding(field: Field, entry: Mapping[str, Any], exchange: Exchange, found: FoundJson, count: int) -> Finding:
    majority = f"; most say {entry['majority']}"[:120] if entry["majority"] is not None else ""
    return Finding(
        kind="inconsistent_samples",
        category="confabulatory",
        severity="medium",
        origin="extrinsic",
        span=Span.of(exchange.response, found.start + field.start, found.start + field.end),
        reason=f"field {field.path}: the response and {count} samples agree to {entry['agreement']:.0%}{majority}",
        score=entry["score"],
        check="structure",
        version=VERSION,
        violation="field_disagreement",
    )
