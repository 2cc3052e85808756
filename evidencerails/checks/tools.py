"""Tool calls before their side effect: known name, valid arguments, values that exist.

A schema guarantees the shape of a call and nothing about its values, so a value with a resolver is looked up in a
source the user trusts. A look-up that fails leaves the calls unverified, never clean.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from evidencerails.checks.base import CheckContext, concluded
from evidencerails.checks.knowledge.base import KnowledgeSource, Lookup, Verdict, plain
from evidencerails.checks.knowledge.base import verdicts as ask
from evidencerails.checks.knowledge.check import near_quote
from evidencerails.checks.structure.schema import SchemaProblem, compiled, time_limit
from evidencerails.checks.structure.violations import cut_short, pointer
from evidencerails.errors import DID_YOU_MEAN
from evidencerails.exchange import Exchange, ToolCall
from evidencerails.report import Category, CheckResult, Finding, Origin, Quote, Severity
from evidencerails.settings.policies import VIOLATIONS
from evidencerails.text.json_places import Path

UNKNOWN_TOOL, INVALID_ARGUMENTS, UNKNOWN_VALUE = VIOLATIONS["tools"]
MAX_FINDINGS = 100
"""More violations are counted, but not listed one by one."""
MAX_ERRORS_OF_A_CALL = 5
MAX_SHOWN = 200
"""Characters of a value or a message."""
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
        violations, unknown = await context.nli.run(check_form, calls, tools, settings.budget_s)
        values = await _check_values(calls, context, max(0.001, settings.budget_s - (time.monotonic() - started)))
        violations += values.violations
        unknown += values.unknown
        if len(exchange.tool_calls) > len(calls):
            unknown.append(f"too_many_calls: {len(exchange.tool_calls)}, tools.max_calls is {settings.max_calls}")
        counts = Counter(violation.name for violation in violations)
        further = f"{unknown[0]} (and {len(unknown) - 1} more)" if len(unknown) > 1 else ""
        return concluded(
            self,
            [self._finding(violation) for violation in violations[:MAX_FINDINGS]],
            [further] if further else unknown,
            "all calls valid",
            counts=(violation.name for violation in violations),
            metrics={
                "tool_calls": float(len(calls)),
                **{f"tool_calls_{name}": float(counts[name]) for name in VIOLATIONS["tools"]},
                "tool_values_looked_up": float(values.looked_up),
                "tool_values_unverifiable": float(values.unverifiable),
            },
            details={"unverified": unknown[:MAX_FINDINGS], "tools": sorted({call.name for call in calls})[:50]},
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


def check_form(
    calls: Sequence[ToolCall], tools: Sequence[Mapping[str, Any]], budget_s: float
) -> tuple[list[Violation], list[str]]:
    """Name and arguments of each call against the known tools, and why a call could not be checked. Blocks for as long
    as the validation takes."""
    known = {str(tool.get("name")): tool for tool in reversed(tools)}
    violations: list[Violation] = []
    unknown: list[str] = []
    if not known:
        unknown.append("no_tools: which tools there are is not known; give 'tools' or tools.definitions")
    with time_limit(budget_s):
        for place, call in enumerate(calls):
            if call.arguments_error:
                message = f"the arguments of {call.name!r} are {call.arguments_error}"
                violations.append(Violation(INVALID_ARGUMENTS, f"/{place}/arguments", message))
            if known and call.name not in known:
                violations.append(_unknown_tool(place, call, tuple(known)))
            elif known:
                try:
                    violations += _invalid_arguments(place, call, known[call.name].get("parameters"))
                except SchemaProblem as problem:
                    reason = str(problem).replace("structure.timeout_s", "tools.budget_s")
                    unknown.append(f"tool {call.name!r}: {reason}")
    return violations, list(dict.fromkeys(unknown))


def _unknown_tool(place: int, call: ToolCall, known: tuple[str, ...]) -> Violation:
    from rapidfuzz import fuzz, process

    near = process.extractOne(call.name, known, scorer=fuzz.WRatio, score_cutoff=MIN_NAME_SIMILARITY)
    hint = f"{DID_YOU_MEAN}{near[0]!r}?" if near and call.name else ""
    problem = f"there is no tool {call.name[:100]!r}" if call.name else "the call names no tool"
    return Violation(UNKNOWN_TOOL, f"/{place}/name", f"{problem}{hint}")


def _invalid_arguments(place: int, call: ToolCall, parameters: Any) -> list[Violation]:
    """Arguments that the schema refuses, and those that a tool does not declare: JSON Schema accepts them by default, a
    function does not. A schema that says anything about further properties is taken at its word.

    Raises:
        SchemaProblem: the schema cannot be used.
    """
    if parameters is None:
        return []
    schema = compiled(parameters)
    if call.arguments_error:
        return []
    wrong = [(tuple(e.absolute_path), cut_short(e.message, MAX_SHOWN)) for e in schema.errors(call.arguments)]
    declared = schema.root.get("properties")
    undeclared: list[Any] = []
    if isinstance(declared, Mapping) and not any(keyword in schema.root for keyword in _OPEN_KEYWORDS):
        extra = [name for name in call.arguments if name not in declared]
        undeclared = [((name,), f"{call.name!r} has no argument {name[:100]!r}") for name in extra]
    return [
        Violation(INVALID_ARGUMENTS, f"/{place}/arguments{pointer(path)}", message)
        for path, message in (*wrong[:MAX_ERRORS_OF_A_CALL], *undeclared[:MAX_ERRORS_OF_A_CALL])
    ]


# ---- values


class _Values(NamedTuple):
    violations: Sequence[Violation] = ()
    unknown: Sequence[str] = ()
    looked_up: int = 0
    unverifiable: int = 0


async def _check_values(calls: Sequence[ToolCall], context: CheckContext, budget_s: float) -> _Values:
    """Values that have a resolver, looked up once each however often they occur."""
    resolvers, sources = context.config.tools.resolvers, context.sources
    if sources is None or not resolvers:
        return _Values()
    found = values_of(calls, tuple(resolvers))
    places: dict[tuple[str, Lookup], list[Value]] = {}
    violations: list[Violation] = []
    for value in found.values:
        if not isinstance(value.value, (str, int, float)):
            kind = "an object" if isinstance(value.value, Mapping) else type(value.value).__name__
            message = f"{value.name!r} is {kind}; expected a single value to look up"
            violations.append(Violation(UNKNOWN_VALUE, value.place, message))
            continue
        lookup = Lookup.of(value.value, is_folded=resolvers[value.resolver].match == "folded")
        places.setdefault((value.resolver, lookup), []).append(value)
    by_sources: dict[tuple[KnowledgeSource, ...], dict[Lookup, Sequence[KnowledgeSource]]] = {}
    for resolver, lookup in places:
        asked = sources.by_argument[resolver]
        by_sources.setdefault(asked, {})[lookup] = asked
    deadline, verdicts = time.monotonic() + budget_s, dict[Any, Verdict]()
    for asked, lookups in by_sources.items():
        answers = await ask(lookups, max(0.0, deadline - time.monotonic()))
        verdicts.update({(asked, lookup): verdict for lookup, verdict in answers.items()})
    unverifiable = []
    for (resolver, lookup), mentioned in places.items():
        verdict = verdicts[sources.by_argument[resolver], lookup]
        if verdict.outcome == "refuted":
            violations += [_unknown_value(value, verdict) for value in mentioned]
        elif verdict.outcome == "unverifiable":
            unverifiable.append(f"{mentioned[0].place}: {verdict.reason}")
    return _Values(violations, [*found.problems, *unverifiable], len(places), len(unverifiable))


def _unknown_value(value: Value, verdict: Verdict) -> Violation:
    hint = f"{DID_YOU_MEAN}{' or '.join(map(repr, verdict.near))}?" if verdict.near else ""
    near = tuple(near_quote(verdict.source, text, plain(value.value)) for text in verdict.near)
    shown = cut_short(repr(value.value), MAX_SHOWN)
    return Violation(UNKNOWN_VALUE, value.place, f"{value.name!r} {shown} does not exist: {verdict.reason}{hint}", near)


# ---- where the values are


MAX_DEPTH = 64
"""Deeper nested arguments are not looked into; the calls are then unverified."""
MAX_PARTS = 100_000
"""Parts of all arguments together that are visited."""


class Value(NamedTuple):
    """One value with the resolver that is responsible for it."""

    resolver: str
    """Its key in `tools.resolvers`."""
    name: str
    value: Any
    place: str
    """JSON pointer into the list of calls."""


class Values(NamedTuple):
    """What was found, and why something was left out."""

    values: list[Value]
    problems: list[str]


def values_of(calls: Sequence[ToolCall], resolvers: Sequence[str]) -> Values:
    """The values of all calls that a resolver names, in order; null is no value.

    A resolver is the name of an argument at any depth (`user_id`), its path (`address.country`), or either behind the
    name of one tool (`delete_user.user_id`). The most specific one counts.
    """
    known, found, too_deep, seen = frozenset(resolvers), Values([], []), dict[str, None](), 0
    for number, call in enumerate(calls):
        for path, value in _parts(call, call.arguments, (), known):
            seen += 1
            if seen > MAX_PARTS:
                found.problems.append(f"too_many_values: over {MAX_PARTS} parts in the arguments")
                return found
            if len(path) > MAX_DEPTH:
                too_deep[f"/{number}/arguments: too_deep: nested deeper than {MAX_DEPTH} levels"] = None
            elif value is not None and not isinstance(value, (list, tuple)) and (name := _resolver(call, path, known)):
                argument = next(part for part in reversed(path) if isinstance(part, str))
                found.values.append(Value(name, argument, value, f"/{number}/arguments{pointer(path)}"))
    found.problems.extend(too_deep)
    return found


def _parts(call: ToolCall, value: Any, path: Path, known: frozenset[str]) -> Iterator[tuple[Path, Any]]:
    """Every part of the arguments, outer ones first; what a resolver names is one value, but for a list."""
    yield path, value
    if len(path) > MAX_DEPTH:
        return
    if isinstance(value, (list, tuple)):
        for index, child in enumerate(value):
            yield from _parts(call, child, (*path, index), known)
    elif isinstance(value, Mapping) and not _resolver(call, path, known):
        for key, child in value.items():
            yield from _parts(call, child, (*path, str(key)), known)


def _resolver(call: ToolCall, path: Path, known: frozenset[str]) -> str | None:
    names = [part for part in path if isinstance(part, str)]
    if not names:
        return None
    dotted = ".".join(names)
    candidates = (f"{call.name}.{dotted}", f"{call.name}.{names[-1]}", dotted, names[-1])
    return next((candidate for candidate in candidates if candidate in known), None)
