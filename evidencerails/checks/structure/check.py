"""Structure: does the response have the form that its reader, mostly a program, expects?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from evidencerails.checks.base import CheckContext
from evidencerails.checks.structure.agreement import field_agreement
from evidencerails.checks.structure.fields import violations_of_text
from evidencerails.checks.structure.find import Found, FoundJson, find_json
from evidencerails.checks.structure.json import Path, Place, Slip, pointer, walk
from evidencerails.checks.structure.rules import Rules, rules_of, violations_of_value
from evidencerails.checks.structure.schema_clock import Clock, SchemaProblem
from evidencerails.checks.structure.schema_keywords import canonical
from evidencerails.checks.structure.violations import Violation, place_in_words
from evidencerails.exchange import Exchange, Span
from evidencerails.report import CheckResult, Finding
from evidencerails.settings.structure import StructureSettings

MAX_FINDINGS = 100
"""More violations are counted, but not listed one by one."""
MAX_SPAN = 2_000
"""A longer part of the response is shown by its beginning."""


class _Problem(NamedTuple):
    """A violation with its span in the response; the offsets are None where there is none."""

    name: str
    path: Path | None
    start: int | None
    end: int | None
    message: str
    keyword: str = ""


class _Outcome(NamedTuple):
    problems: list[_Problem]
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
        findings = [_finding(problem, exchange.response) for problem in outcome.problems[:MAX_FINDINGS]]
        details = _details(outcome)
        metrics = {"structure_violations": float(len(outcome.problems))}
        if exchange.samples and outcome.values:
            agreed = field_agreement(exchange, outcome.values[-1], settings)
            findings += agreed.findings
            details["fields"], metrics = agreed.fields, {**metrics, **agreed.metrics}
        if findings:
            status, reason = "hallucinated", _summary(outcome, findings)
        elif outcome.stopped_by:
            status, reason = "unverified", outcome.stopped_by
        else:
            status, reason = "grounded", "fits"
        return CheckResult(
            name=self.name,
            status=status,  # type: ignore[arg-type]
            reason=reason,
            score={"hallucinated": 1.0, "grounded": 0.0}.get(status),
            findings=tuple(findings),
            metrics=metrics,
            details=details,
            version=self.version,
        )


def _judge(response: str, rules: Rules, settings: StructureSettings) -> _Outcome:
    if len(response) > settings.max_characters:
        message = f"{len(response)} characters; structure.max_characters is {settings.max_characters}"
        return _Outcome([_Problem("too_long", None, None, None, message)])
    clock = Clock.start(settings.timeout_s, settings.pattern_timeout_s)
    problems: list[_Problem] = []
    try:
        if rules.text is not None:
            problems += _whole(response, violations_of_text(response, rules.text, clock))
        if not rules.needs_json:
            return _Outcome(problems)
        types = rules.root_types()
        found = find_json(
            response,
            max_depth=settings.max_depth,
            wants_array=types is None or "array" in types,
            wants_scalar=types is None or bool(types - {"object", "array"}),
        )
        values, around = _chosen(found, response, settings)
        problems += around
        if not values and types is not None and "string" in types and response.strip():
            problems += _whole(response, violations_of_value(response.strip(), rules, clock))
            return _Outcome(problems, found=found)
        if not values and not around:
            problems.append(_no_json(response))
        for value in values:
            _judge_value(value, response, rules, clock, problems)
    except SchemaProblem as problem:
        return _Outcome(problems, str(problem))
    return _Outcome(problems, values=tuple(values), found=found)


def _whole(response: str, violations: Any) -> list[_Problem]:
    """Violations of the response as a text."""
    start, end = len(response) - len(response.lstrip()), len(response.rstrip())
    return [_Problem(v.name, (), start, max(start, end), v.message, v.keyword) for v in violations]


def _no_json(response: str) -> _Problem:
    instead = "it is empty" if not response.strip() else f"it is {len(response)} characters of something else"
    start, end = _whole_place(response)
    return _Problem("no_json", (), start, end, f"the response holds no JSON: {instead}")


def _whole_place(response: str) -> tuple[int | None, int | None]:
    start, end = len(response) - len(response.lstrip()), len(response.rstrip())
    return (start, end) if start < end else (None, None)


def _chosen(found: Found, response: str, settings: StructureSettings) -> tuple[list[FoundJson], list[_Problem]]:
    """The values that count, and what is wrong with there being others or anything around."""
    values, problems = list(found.values), []
    if settings.on_multiple == "last":
        values = values[-1:]
    elif settings.on_multiple == "refuse" and len(values) > 1:
        different = {canonical(v.reading.value) for v in values if v.reading.is_read}
        if len(different) > 1 or not all(v.reading.is_read for v in values):
            second = values[1]
            message = f"{len(values)} different JSON values; the reader cannot know which is meant"
            problems.append(_Problem("several_values", None, second.start, second.end, message))
        values = values[:1]
    if settings.surrounding_text == "refuse" and found.has_text_around and found.values:
        start, end = _whole_place(response)
        problems.append(_Problem("text_around", None, start, end, "there is text around the JSON"))
    return values, problems


def _judge_value(found: FoundJson, response: str, rules: Rules, clock: Clock, problems: list[_Problem]) -> None:
    """Append what is wrong with one value; what was found before the time is up stays found."""
    problems += [_of_slip(slip) for slip in found.reading.slips]
    if not found.reading.is_read:
        return
    violations: list[Violation] = []
    try:
        for violation in violations_of_value(found.reading.value, rules, clock):
            violations.append(violation)
    finally:
        problems += _placed(violations, found)


def _of_slip(slip: Slip) -> _Problem:
    return _Problem(slip.violation, slip.path, slip.start, slip.end, slip.message)


def _placed(violations: Sequence[Violation], found: FoundJson) -> list[_Problem]:
    wanted = {violation.path for violation in violations}
    if not wanted:
        return []
    text = found.reading.text
    places: dict[Path, Place] = {path: place for path, place in walk(text, found.start) if path in wanted}
    placed = []
    for violation in violations:
        place = places.get(violation.path)
        first = None if place is None else place.first if violation.name == "unknown_field" else place.start
        end = place.end if place else None
        placed.append(_Problem(violation.name, violation.path, first, end, violation.message, violation.keyword))
    return placed


# ---- the result


def _finding(problem: _Problem, response: str) -> Finding:
    at = "" if problem.path is None else f"at {place_in_words(problem.path)}: "
    span = None
    if problem.start is not None and problem.end is not None and problem.start < problem.end:
        span = Span.of(response, problem.start, min(problem.end, problem.start + MAX_SPAN))
    return Finding(
        kind="structure_violation",
        category="structural",
        severity="high",
        origin="intrinsic",
        span=span,
        reason=at + problem.message,
        score=1.0,
        check=StructureCheck.name,
        version=StructureCheck.version,
        violation=problem.name,
    )


def _summary(outcome: _Outcome, findings: Sequence[Finding]) -> str:
    names = [problem.name for problem in outcome.problems] or [str(finding.violation) for finding in findings]
    counts = dict.fromkeys(names, 0)
    for name in names:
        counts[name] += 1
    summary = ", ".join(f"{count} {name}" for name, count in counts.items())
    return f"{summary}; {outcome.stopped_by}" if outcome.stopped_by else summary


def _details(outcome: _Outcome) -> dict[str, Any]:
    listed = [
        {
            "violation": problem.name,
            "pointer": None if problem.path is None else pointer(problem.path),
            "keyword": problem.keyword,
            "message": problem.message,
        }
        for problem in outcome.problems[:MAX_FINDINGS]
    ]
    found = outcome.found
    return {
        "violations": listed,
        "violations_in_all": len(outcome.problems),
        "json_values": len(found.values) if found else 0,
        "text_around": bool(found and found.has_text_around),
    }
