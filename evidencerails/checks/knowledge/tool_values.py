"""The values in the arguments of tool calls that have a resolver."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from evidencerails.checks.structure.violations import pointer
from evidencerails.exchange import ToolCall
from evidencerails.text.json_places import Path

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
