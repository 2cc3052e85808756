"""Tool calls before their side effect: known name, valid arguments, values that exist.

A schema guarantees the shape of a call and nothing about its values, so a value with a resolver is looked up in a
source the user trusts. A look-up that fails leaves the calls unverified, never clean.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from evidencerails.checks.base import CheckContext
from evidencerails.checks.knowledge.asking import verdicts as ask
from evidencerails.checks.knowledge.base import KnowledgeSource, Lookup, Verdict, plain
from evidencerails.checks.knowledge.check import near_quote
from evidencerails.checks.knowledge.tool_values import Value, values_of
from evidencerails.checks.structure.schema import Compiled, SchemaProblem, compiled, time_limit
from evidencerails.checks.structure.violations import pointer
from evidencerails.errors import DID_YOU_MEAN
from evidencerails.exchange import Exchange, ToolCall
from evidencerails.report import Category, CheckResult, CheckStatus, Finding, Origin, Quote, Severity
from evidencerails.settings.violations import VIOLATIONS

UNKNOWN_TOOL, INVALID_ARGUMENTS, UNKNOWN_VALUE = VIOLATIONS["tools"]
MAX_FINDINGS = 100
"""More violations are counted, but not listed one by one."""
MAX_ERRORS_OF_A_CALL = 5
MIN_NAME_SIMILARITY = 70.0
"""rapidfuzz ratio, 0 to 100, from which a known tool is shown for an unknown one."""
_CLASS: Mapping[str, tuple[Category, Severity, Origin]] = {
    UNKNOWN_TOOL: ("structural", "high", "intrinsic"),
    INVALID_ARGUMENTS: ("structural", "medium", "intrinsic"),
    UNKNOWN_VALUE: ("factual", "high", "extrinsic"),
}
_OPEN_KEYWORDS = (
    "additionalProperties",
    "unevaluatedProperties",
    "patternProperties",
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "$ref",
    "$dynamicRef",
    "dependentSchemas",
)


class Violation(NamedTuple):
    """One thing wrong with one call."""

    name: str
    place: str
    """JSON pointer into the list of calls."""
    message: str
    near: tuple[Quote, ...] = ()


class _Form(NamedTuple):
    """What name and schema say."""

    violations: list[Violation]
    unknown: list[str]
    """Why a call could not be checked."""


class ToolsCheck:
    """Tool calls against the known tools, their schemas, and the sources of their values."""

    name = "tools"
    version = "1"

    async def run(self, exchange: Exchange, context: CheckContext) -> CheckResult:
        """Check every call; skipped if there is none."""
        if not exchange.tool_calls:
            return CheckResult(name=self.name, status="skipped", reason="no_tool_calls", version=self.version)
        settings, started = context.config.tools, time.monotonic()
        calls = exchange.tool_calls[: settings.max_calls]
        tools = exchange.tools or (context.sources.tools if context.sources else ())
        form = await context.nli.run(check_form, calls, tools, settings.budget_s)
        left_s = max(0.001, settings.budget_s - (time.monotonic() - started))
        values, unknown = await _check_values(calls, context, left_s)
        if len(exchange.tool_calls) > len(calls):
            unknown.append(f"too_many_calls: {len(exchange.tool_calls)}, tools.max_calls is {settings.max_calls}")
        return self._result(calls, [*form.violations, *values.violations], [*form.unknown, *unknown], values)

    def _result(
        self, calls: Sequence[ToolCall], violations: list[Violation], unknown: list[str], values: _Values
    ) -> CheckResult:
        counts = Counter(violation.name for violation in violations)
        status: CheckStatus = "hallucinated" if violations else "unverified" if unknown else "grounded"
        if violations:
            reason = ", ".join(f"{count} {name}" for name, count in counts.items())
        elif unknown:
            reason = unknown[0] if len(unknown) == 1 else f"{unknown[0]} (and {len(unknown) - 1} more)"
        else:
            reason = "all calls valid"
        return CheckResult(
            name=self.name,
            status=status,
            reason=reason,
            score={"hallucinated": 1.0, "grounded": 0.0}.get(status),
            findings=tuple(self._finding(violation) for violation in violations[:MAX_FINDINGS]),
            metrics={
                "tool_calls": float(len(calls)),
                **{f"tool_calls_{name}": float(counts[name]) for name in VIOLATIONS["tools"]},
                "tool_values_looked_up": float(values.looked_up),
                "tool_values_unverifiable": float(values.unverifiable),
            },
            details={"unverified": unknown[:MAX_FINDINGS], "tools": sorted({call.name for call in calls})[:50]},
            version=self.version,
        )

    def _finding(self, violation: Violation) -> Finding:
        category, severity, origin = _CLASS[violation.name]
        return Finding(
            kind="tool_call_hallucination",
            category=category,
            severity=severity,
            origin=origin,
            reason=f"{violation.place}: {violation.message}",
            evidence=violation.near,
            score=1.0,
            check=self.name,
            version=self.version,
            violation=violation.name,
        )


# ---- name and schema


def check_form(calls: Sequence[ToolCall], tools: Sequence[Mapping[str, Any]], budget_s: float) -> _Form:
    """Name and arguments of each call against the known tools. Blocks for as long as the validation takes."""
    known: dict[str, Mapping[str, Any]] = {}
    for tool in tools:
        known.setdefault(str(tool.get("name")), tool)
    form = _Form([], [])
    if not known:
        form.unknown.append("no_tools: which tools there are is not known; give 'tools' or tools.definitions")
    with time_limit(budget_s):
        _check_calls(calls, known, form)
    form.unknown[:] = list(dict.fromkeys(form.unknown))
    return form


def _check_calls(calls: Sequence[ToolCall], known: Mapping[str, Mapping[str, Any]], form: _Form) -> None:
    schemas: dict[str, Compiled | str | None] = {}
    for place, call in enumerate(calls):
        if call.arguments_error:
            message = f"the arguments of {call.name!r} are {call.arguments_error}"
            form.violations.append(Violation(INVALID_ARGUMENTS, f"/{place}/arguments", message))
        if not known:
            continue
        if call.name not in known:
            form.violations.append(_unknown_tool(place, call, tuple(known)))
            continue
        if call.name not in schemas:
            schemas[call.name] = _schema_of(known[call.name])
        schema = schemas[call.name]
        if isinstance(schema, str):
            form.unknown.append(f"tool {call.name!r}: {schema}")
        elif schema is not None and not call.arguments_error:
            _check_arguments(place, call, schema, form)


def _unknown_tool(place: int, call: ToolCall, known: tuple[str, ...]) -> Violation:
    from rapidfuzz import fuzz, process

    near = process.extractOne(call.name, known, scorer=fuzz.WRatio, score_cutoff=MIN_NAME_SIMILARITY)
    hint = f"{DID_YOU_MEAN}{near[0]!r}?" if near and call.name else ""
    problem = f"there is no tool {call.name[:100]!r}" if call.name else "the call names no tool"
    return Violation(UNKNOWN_TOOL, f"/{place}/name", f"{problem}{hint}")


def _schema_of(tool: Mapping[str, Any]) -> Compiled | str | None:
    """The schema of a tool, ready to be used; a text says why it cannot be."""
    if tool.get("parameters") is None:
        return None
    try:
        return compiled(tool["parameters"])
    except SchemaProblem as problem:
        return str(problem)


def _check_arguments(place: int, call: ToolCall, schema: Compiled, form: _Form) -> None:
    try:
        errors = schema.errors(call.arguments)
    except SchemaProblem as problem:
        form.unknown.append(f"tool {call.name!r}: {str(problem).replace('structure.timeout_s', 'tools.budget_s')}")
        return
    for error in errors[:MAX_ERRORS_OF_A_CALL]:
        at = f"/{place}/arguments{pointer(tuple(error.absolute_path))}"
        form.violations.append(Violation(INVALID_ARGUMENTS, at, _short(error.message)))
    for name in undeclared(call.arguments, schema.root)[:MAX_ERRORS_OF_A_CALL]:
        at = f"/{place}/arguments{pointer((name,))}"
        form.violations.append(Violation(INVALID_ARGUMENTS, at, f"{call.name!r} has no argument {name[:100]!r}"))


def undeclared(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> list[str]:
    """Arguments that a tool does not declare. JSON Schema accepts them by default; a function does not.
    A schema that says anything about further properties is taken at its word."""
    declared = schema.get("properties")
    if not isinstance(declared, Mapping) or any(keyword in schema for keyword in _OPEN_KEYWORDS):
        return []
    return [name for name in arguments if name not in declared]


# ---- values


class _Values(NamedTuple):
    violations: list[Violation]
    looked_up: int = 0
    unverifiable: int = 0


async def _check_values(calls: Sequence[ToolCall], context: CheckContext, budget_s: float) -> tuple[_Values, list[str]]:
    """Values that have a resolver, looked up once each however often they occur."""
    settings, sources = context.config.tools, context.sources
    if sources is None or not settings.resolvers:
        return _Values([]), []
    found = values_of(calls, tuple(settings.resolvers))
    places: dict[tuple[str, Lookup], list[Value]] = {}
    violations: list[Violation] = []
    for value in found.values:
        if not isinstance(value.value, (str, int, float)):
            violations.append(_no_value(value))
            continue
        is_folded = settings.resolvers[value.resolver].match == "folded"
        places.setdefault((value.resolver, Lookup.of(value.value, is_folded=is_folded)), []).append(value)
    by_sources: dict[tuple[KnowledgeSource, ...], dict[Lookup, Sequence[KnowledgeSource]]] = {}
    for resolver, lookup in places:
        asked = sources.by_argument[resolver]
        by_sources.setdefault(asked, {})[lookup] = asked
    deadline = time.monotonic() + budget_s
    verdicts: dict[tuple[tuple[KnowledgeSource, ...], Lookup], Verdict] = {}
    for asked, lookups in by_sources.items():
        left_s = max(0.0, deadline - time.monotonic())
        for lookup, verdict in (await ask(lookups, left_s)).items():
            verdicts[asked, lookup] = verdict
    unknown = list(found.problems)
    count = 0
    for (resolver, lookup), mentioned in places.items():
        verdict = verdicts[sources.by_argument[resolver], lookup]
        if verdict.outcome == "refuted":
            violations += [_unknown_value(value, verdict) for value in mentioned]
        elif verdict.outcome == "unverifiable":
            count += 1
            unknown.append(f"{mentioned[0].place}: {verdict.reason}")
    return _Values(violations, len(places), count), unknown


def _no_value(value: Value) -> Violation:
    kind = "an object" if isinstance(value.value, Mapping) else type(value.value).__name__
    return Violation(UNKNOWN_VALUE, value.place, f"{value.name!r} is {kind}; expected a single value to look up")


def _unknown_value(value: Value, verdict: Verdict) -> Violation:
    hint = f"{DID_YOU_MEAN}{' or '.join(map(repr, verdict.near))}?" if verdict.near else ""
    near = tuple(near_quote(verdict.source, text, plain(value.value)) for text in verdict.near)
    message = f"{value.name!r} {_short(repr(value.value))} does not exist: {verdict.reason}{hint}"
    return Violation(UNKNOWN_VALUE, value.place, message, near)


def _short(text: str, limit: int = 200) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
