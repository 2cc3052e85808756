"""Structure: does the response have the form that its reader, mostly a program, expects?

In: an exchange with a schema, or that of the settings. Out: a finding for each violation, and how far the samples
agree with each field.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import mean
from typing import Any

from evidencerails.checks.base import CheckContext, concluded
from evidencerails.checks.structure.find import Found, FoundJson, find_json
from evidencerails.checks.structure.schema import SchemaProblem, canonical, time_limit
from evidencerails.checks.structure.violations import Rules, Violation, pointer, rules_of, violations_of_value
from evidencerails.exchange import Exchange, Span
from evidencerails.measures.self_consistency import Field, field_report, json_fields
from evidencerails.report import CheckResult, Finding
from evidencerails.settings.structure import StructureSettings
from evidencerails.text.json_places import Path, Place, walk

MAX_CHARACTERS = 5_000_000
"""A longer response is a violation."""
MAX_FINDINGS = 100
"""More violations are counted, but not listed one by one."""
MAX_SPAN = 2_000
"""A longer part of the response is shown by its beginning."""


@dataclass
class _Outcome:
    violations: list[Violation]
    stopped_by: str = ""
    """Why the response could not be judged to the end."""
    values: tuple[FoundJson, ...] = ()
    found: Found = field(default_factory=lambda: Found((), False))


class StructureCheck:
    """The response against a JSON Schema or a pydantic model.

    Every violation is a finding with its JSON pointer, and its span where the place exists. A schema that cannot be
    used, or a pattern without end, leaves the response unverified. Without a schema the check is skipped.
    """

    name = "structure"
    version = "1"

    async def run(self, exchange: Exchange, context: CheckContext) -> CheckResult:
        """Check the response, or what the samples say about each of its fields."""
        settings = context.config.structure
        try:
            rules = await context.nli.run(rules_of, settings, exchange.response_schema)
        except SchemaProblem as problem:
            return CheckResult(name=self.name, status="unverified", reason=str(problem), version=self.version)
        if rules is None:
            return CheckResult(name=self.name, status="skipped", reason="no_schema", version=self.version)
        return await context.nli.run(self._result, exchange, rules, settings)

    def _result(self, exchange: Exchange, rules: Rules, settings: StructureSettings) -> CheckResult:
        """Blocks for as long as the validation takes."""
        outcome = _Outcome([])
        _judge(exchange.response, rules, settings, outcome)
        violations = outcome.violations
        findings = [_finding(violation, exchange.response) for violation in violations[:MAX_FINDINGS]]
        metrics, fields = {"structure_violations": float(len(violations))}, {}
        if exchange.samples and outcome.values:
            agreement, disagreements = _field_agreement(exchange, outcome.values[-1], settings)
            fields = {"fields": agreement}
            findings += disagreements
            if agreement:
                metrics["field_agreement"] = mean(entry["agreement"] for entry in agreement.values())
        return concluded(
            self,
            findings,
            [outcome.stopped_by] if outcome.stopped_by else [],
            "fits",
            counts=[violation.name for violation in violations],
            metrics=metrics,
            details={
                "violations": [
                    {
                        "violation": violation.name,
                        "pointer": None if violation.path is None else pointer(violation.path),
                        "keyword": violation.keyword,
                        "message": violation.message,
                    }
                    for violation in violations[:MAX_FINDINGS]
                ],
                "violations_in_all": len(violations),
                "json_values": len(outcome.found.values),
                "text_around": outcome.found.has_text_around,
                **fields,
            },
        )


# ---- violations


def _judge(response: str, rules: Rules, settings: StructureSettings, outcome: _Outcome) -> None:
    """Note what is wrong: what was found before the time is up stays found."""
    if len(response) > MAX_CHARACTERS:
        message = f"{len(response)} characters; the limit is {MAX_CHARACTERS}"
        outcome.violations.append(Violation("too_long", message))
        return
    try:
        with time_limit(settings.timeout_s):
            _judge_json(response, rules, settings, outcome)
    except SchemaProblem as problem:
        outcome.stopped_by = str(problem)


def _judge_json(response: str, rules: Rules, settings: StructureSettings, outcome: _Outcome) -> None:
    types, violations = rules.root_types(), outcome.violations
    outcome.found = found = find_json(
        response,
        wants_array=types is None or "array" in types,
        wants_scalar=types is None or bool(types - {"object", "array"}),
    )
    outcome.values, around = _chosen(found, response, settings)
    violations += around
    if not outcome.values and types is not None and "string" in types and response.strip():
        violations += _of_whole(response, violations_of_value(response.strip(), rules))
    elif not outcome.values and not around:
        instead = f"it is {len(response)} characters of something else" if response.strip() else "it is empty"
        violations += _of_whole(response, [Violation("no_json", f"the response holds no JSON: {instead}")])
    for value in outcome.values:
        violations += value.slips
        own: list[Violation] = []
        try:
            for violation in violations_of_value(value.value, rules) if value.is_read else ():
                own.append(violation)
        finally:
            violations += _placed(own, value)


def _of_whole(response: str, violations: Iterable[Violation]) -> list[Violation]:
    """Violations of the response as a text."""
    start, end = len(response) - len(response.lstrip()), len(response.rstrip())
    return [violation._replace(path=(), start=start, end=max(start, end)) for violation in violations]


def _chosen(found: Found, response: str, settings: StructureSettings) -> tuple[tuple[FoundJson, ...], list[Violation]]:
    """The values that count, and what is wrong with there being others or anything around."""
    values, violations = found.values, []
    if settings.on_multiple == "last":
        values = values[-1:]
    elif settings.on_multiple == "refuse" and len(values) > 1:
        are_read = all(value.is_read for value in values)
        if not are_read or len({canonical(value.value) for value in values}) > 1:
            message = f"{len(values)} different JSON values; the reader cannot know which is meant"
            violations.append(Violation("several_values", message, start=values[1].start, end=values[1].end))
        values = values[:1]
    if settings.surrounding_text == "refuse" and found.has_text_around and found.values:
        (around,) = _of_whole(response, [Violation("text_around", "there is text around the JSON")])
        violations.append(around._replace(path=None))
    return values, violations


def _placed(violations: list[Violation], found: FoundJson) -> list[Violation]:
    wanted = {violation.path for violation in violations}
    places: dict[Path | None, Place] = {}
    if wanted:
        places.update((path, place) for path, place in walk(found.text, found.start) if path in wanted)
    placed = []
    for violation in violations:
        if place := places.get(violation.path):
            start = place.first if violation.name == "unknown_field" else place.start
            violation = violation._replace(start=start, end=place.end)
        placed.append(violation)
    return placed


# ---- samples


def _field_agreement(
    exchange: Exchange, found: FoundJson, settings: StructureSettings
) -> tuple[Mapping[str, Mapping[str, Any]], list[Finding]]:
    """Agreement of each field over the response and the samples that hold JSON; empty where none does."""
    fields = json_fields(exchange.response[found.start : found.end])
    others = [one for sample in exchange.samples if (one := _fields_of(sample.text)) is not None]
    if not fields or not others:
        return {}, []
    report = field_report(fields, others)
    least = settings.min_agreement
    low = [field for field in fields if least is not None and report[field.path]["agreement"] < least]
    return report, [_disagreement(field, report[field.path], exchange, found, len(others)) for field in low]


def _fields_of(sample: str) -> list[Field] | None:
    values = find_json(sample).values
    return json_fields(sample[values[-1].start : values[-1].end]) if values else None


def _disagreement(field: Field, entry: Mapping[str, Any], exchange: Exchange, found: FoundJson, count: int) -> Finding:
    majority = f"; most say {entry['majority']}"[:120] if entry["majority"] is not None else ""
    return Finding(
        kind="inconsistent_samples",
        category="confabulatory",
        severity="medium",
        origin="extrinsic",
        span=Span.of(exchange.response, found.start + field.start, found.start + field.end),
        reason=f"field {field.path}: the response and {count} samples agree to {entry['agreement']:.0%}{majority}",
        score=entry["score"],
        check=StructureCheck.name,
        version=StructureCheck.version,
        violation="field_disagreement",
    )


# ---- the result


def _finding(violation: Violation, response: str) -> Finding:
    at = "" if violation.path is None else f"at {pointer(violation.path) or 'the root'}: "
    span = None
    if violation.start is not None and violation.end is not None and violation.start < violation.end:
        span = Span.of(response, violation.start, min(violation.end, violation.start + MAX_SPAN))
    return Finding(
        kind="structure_violation",
        category="structural",
        severity="high",
        origin="intrinsic",
        span=span,
        reason=at + violation.message,
        score=1.0,
        check=StructureCheck.name,
        version=StructureCheck.version,
        violation=violation.name,
    )
