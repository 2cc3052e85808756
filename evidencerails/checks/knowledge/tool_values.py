"""The values in the arguments of tool calls that have a resolver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from evidencerails.exchange import ToolCall

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


class _Node(NamedTuple):
    value: Any
    names: tuple[str, ...]
    """Keys from the root, without indexes of lists."""
    place: str
    depth: int


def values_of(calls: Sequence[ToolCall], resolvers: Sequence[str]) -> Values:
    """The values of all calls that a resolver names; null is no value. Linear, and nothing recurses.

    A resolver is the name of an argument at any depth (`user_id`), its path (`address.country`), or either behind the
    name of one tool (`delete_user.user_id`). The most specific one counts.
    """
    known = frozenset(resolvers)
    found, problems, seen = Values([], []), set[str](), 0
    for place, call in enumerate(calls):
        stack = [_Node(call.arguments, (), f"/{place}/arguments", 0)]
        while stack:
            node = stack.pop()
            seen += 1
            if seen > MAX_PARTS:
                found.problems.append(f"too_many_values: over {MAX_PARTS} parts in the arguments")
                return found
            if node.depth > MAX_DEPTH:
                problems.add(f"/{place}/arguments: too_deep: nested deeper than {MAX_DEPTH} levels")
                continue
            resolver = _resolver(call.name, node.names, known)
            if resolver is None or isinstance(node.value, (list, tuple)):
                stack += _children(node)
            elif node.value is not None:
                found.values.append(Value(resolver, node.names[-1], node.value, node.place))
    found.problems.extend(sorted(problems))
    return found


def _resolver(tool: str, names: tuple[str, ...], known: frozenset[str]) -> str | None:
    if not names:
        return None
    path = ".".join(names)
    candidates = (f"{tool}.{path}", f"{tool}.{names[-1]}", path, names[-1])
    return next((candidate for candidate in candidates if candidate in known), None)


def _children(node: _Node) -> list[_Node]:
    """The parts of a value, the last one first: a stack takes them in their order."""
    if isinstance(node.value, Mapping):
        items = [
            _Node(child, (*node.names, str(key)), f"{node.place}/{_escaped(str(key))}", node.depth + 1)
            for key, child in node.value.items()
        ]
    elif isinstance(node.value, (list, tuple)):
        items = [
            _Node(child, node.names, f"{node.place}/{index}", node.depth + 1) for index, child in enumerate(node.value)
        ]
    else:
        return []
    return items[::-1]


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
