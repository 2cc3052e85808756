"""Structure: does the response have the form that its reader, mostly a program, expects?

In: an exchange with a schema, or rules of the settings. Out: a finding for each violation, and how far the samples
agree with each field.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from evidencerails.checks.base import CheckContext
from evidencerails.checks.structure.find import Found, find_json
from evidencerails.checks.structure.json import FoundJson
from evidencerails.checks.structure.rules import Rules, rules_of, violations_of_text, violations_of_value
from evidencerails.checks.structure.schema import SchemaProblem, canonical, time_limit
from evidencerails.checks.structure.violations import Violation, pointer
from evidencerails.exchange import Exchange, Span
from evidencerails.measures.json_fields import Field, json_fields
from evidencerails.measures.self_consistency import field_report
from evidencerails.report import CheckResult, CheckStatus, Finding
from evidencerails.settings.structure import StructureSettings
from evidencerails.text.json_places import Path, Place, walk

MAX_CHARACTERS = 5_000_000
"""A longer response is a violation."""
MAX_FINDINGS = 100
"""More violations are counted, but not listed one by one."""
MAX_SPAN = 2_000
"""A longer part of the response is shown by its beginning."""


class _Outcome(NamedTuple):
    violations: list[Violation]
    stopped_by: str = ""
    """Why the response could not be judged to the end."""
    values: tuple[FoundJson, ...] = ()
    found: Found | None = None


class StructureCheck:
    """The response against a JSON Schema, a pydantic model, or rules of the settings.

    Every violation is a finding with its JSON pointer, and its span where the place exists. A schema that cannot be
    used, or a pattern without end, leaves the response unverified. Without any rule the check is skipped.
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
        outcome = _judge(exchange.response, rules, settings)
        findings = [_finding(violation, exchange.response) for violation in outcome.violations[:MAX_FINDINGS]]
        details = _details(outcome)
        metrics = {"structure_violations": float(len(outcome.violations))}
        if exchange.samples and outcome.values:
            report, disagreements = _field_agreement(exchange, outcome.values[-1], settings)
            details["fields"] = report
            findings += disagreements
            if report:
                metrics["field_agreement"] = sum(entry["agreement"] for entry in report.values()) / len(report)
        status: CheckStatus = "hallucinated" if findings else "unverified" if outcome.stopped_by else "grounded"
        return CheckResult(
            name=self.name,
            status=status,
            reason=_summary(outcome, findings),
            score={"hallucinated": 1.0, "grounded": 0.0}.get(status),
            findings=tuple(findings),
            metrics=metrics,
            details=details,
            version=self.version,
        )


# ---- violations


def _judge(response: str, rules: Rules, settings: StructureSettings) -> _Outcome:
    if len(response) > MAX_CHARACTERS:
        return _Outcome([Violation("too_long", f"{len(response)} characters; the limit is {MAX_CHARACTERS}")])
    violations: list[Violation] = []
    try:
        with time_limit(settings.timeout_s):
            return _judge_in_time(response, rules, settings, violations)
    except SchemaProblem as problem:
        return _Outcome(violations, str(problem))


def _judge_in_time(response: str, rules: Rules, settings: StructureSettings, violations: list[Violation]) -> _Outcome:
    """Append what is wrong: what was found before the time is up stays found."""
    if rules.text is not None:
        violations += _of_whole(response, violations_of_text(response, rules.text))
    if not rules.needs_json:
        return _Outcome(violations)
    types = rules.root_types()
    found = find_json(
        response,
        wants_array=types is None or "array" in types,
        wants_scalar=types is None or bool(types - {"object", "array"}),
    )
    values, around = _chosen(found, response, settings)
    violations += around
    if not values and types is not None and "string" in types and response.strip():
        violations += _of_whole(response, violations_of_value(response.strip(), rules))
        return _Outcome(violations, found=found)
    if not values and not around:
        instead = f"it is {len(response)} characters of something else" if response.strip() else "it is empty"
        violations += _of_whole(response, [Violation("no_json", f"the response holds no JSON: {instead}")])
    for value in values:
        violations += value.slips
        if value.is_read:
            _judge_value(value, rules, violations)
    return _Outcome(violations, values=tuple(values), found=found)


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


def _judge_value(found: FoundJson, rules: Rules, violations: list[Violation]) -> None:
    own: list[Violation] = []
    try:
        for violation in violations_of_value(found.value, rules):
            own.append(violation)
    finally:
        violations += _placed(own, found)


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


def _summary(outcome: _Outcome, findings: list[Finding]) -> str:
    names = [violation.name for violation in outcome.violations] or [str(finding.violation) for finding in findings]
    counted = ", ".join(f"{count} {name}" for name, count in Counter(names).items())
    return "; ".join(part for part in (counted, outcome.stopped_by) if part) or "fits"


def _details(outcome: _Outcome) -> dict[str, Any]:
    listed = [
        {
            "violation": violation.name,
            "pointer": None if violation.path is None else pointer(violation.path),
            "keyword": violation.keyword,
            "message": violation.message,
        }
        for violation in outcome.violations[:MAX_FINDINGS]
    ]
    return {
        "violations": listed,
        "violations_in_all": len(outcome.violations),
        "json_values": len(outcome.found.values) if outcome.found else 0,
        "text_around": bool(outcome.found and outcome.found.has_text_around),
    }
