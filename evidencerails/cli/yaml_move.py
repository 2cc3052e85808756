"""Moves a key of a YAML file to another place, with the comments above it and behind it; the rest stays as it was."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

from evidencerails.cli.yaml_edit import STEP, CannotEdit, Path, _native, _parsed, _verified, _with_newline


class _Pair(NamedTuple):
    """A key with its value, and the mapping it stands in."""

    parent: yaml.MappingNode
    key: yaml.Node
    value: yaml.Node


def move_key(text: str, old: Path, new: Path) -> str:
    """The text with the key at `old` moved to `new`; unchanged if it is not there. A section left empty goes too.

    Raises:
        CannotEdit: something stands at `new` already, or the file is written in a way that lines cannot be moved in.
    """
    wanted, pairs = _parsed(text), list(_pairs(text, old))
    if len(pairs) < len(old):
        return text
    _put(wanted, new, _take(wanted, old))
    last = pairs[-1]
    if tuple(old[:-1]) == tuple(new[:-1]):
        return _verified(text[: last.key.start_mark.index] + new[-1] + text[last.key.end_mark.index :], wanted)
    if any(pair.parent.flow_style for pair in pairs):
        raise CannotEdit(f"{'.'.join(old)} stands in a mapping in braces")
    begin, end = _line_start_with_comments(text, last.key), _end(text, last.value)
    block = textwrap.dedent(text[begin:end].replace("\r\n", "\n"))
    name = str(last.key.value)
    block = _renamed(block, name, new[-1])
    emptied = _outermost_emptied(pairs)
    if emptied is not last:  # what is said above a section stays, since it may be about the file
        begin = text.rfind("\n", 0, emptied.key.start_mark.index) + 1
    rest = text[:begin] + text[end:]
    return _verified(_with_block(rest, new, block), wanted)


def _pairs(text: str, path: Path) -> Iterator[_Pair]:
    """The pairs that lead along a path, as far as it exists."""
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    for name in path:
        if not isinstance(node, yaml.MappingNode):
            return
        found = next((pair for pair in node.value if pair[0].value == name), None)
        if found is None:
            return
        yield _Pair(node, *found)
        node = found[1]


def _take(data: dict[str, Any], path: Path) -> Any:
    """The value at the path, taken out, with the sections that this leaves empty."""
    parents = [data]
    for name in path[:-1]:
        parents.append(parents[-1][name])
    value = parents[-1].pop(path[-1])
    for parent, name in zip(reversed(parents[:-1]), reversed(path[:-1]), strict=True):
        if parent[name]:
            break
        del parent[name]
    return value


def _put(data: dict[str, Any], path: Path, value: Any) -> None:
    place = data
    for name in path[:-1]:
        place = place.setdefault(name, {})
        if not isinstance(place, dict):
            raise CannotEdit(f"{name} is not a mapping of keys")
    if path[-1] in place:
        raise CannotEdit(f"{'.'.join(path)} is set already; keep one of the two")
    place[path[-1]] = value


def _outermost_emptied(pairs: list[_Pair]) -> _Pair:
    """The pair to cut: the key's own, or that of a section which holds nothing else."""
    found = pairs[-1]
    for pair in reversed(pairs[:-1]):
        if len(found.parent.value) > 1:
            break
        found = pair
    return found


def _line_start_with_comments(text: str, key: yaml.Node) -> int:
    """Where the lines of a key begin: comments right above it, as far in as it is, belong to it."""
    start: int = text.rfind("\n", 0, key.start_mark.index) + 1
    if text[start : key.start_mark.index].strip():
        raise CannotEdit("a key begins in the middle of a line")
    while start:
        above = text.rfind("\n", 0, start - 1) + 1
        line = text[above:start]
        if not line.lstrip().startswith("#") or len(line) - len(line.lstrip()) != key.start_mark.column:
            break
        start = above
    return start


def _end(text: str, node: yaml.Node) -> int:
    """Where the lines of a value end. A block collection's own mark stands behind the comments that follow it."""
    while isinstance(node, (yaml.MappingNode, yaml.SequenceNode)) and not node.flow_style and node.value:
        node = node.value[-1][1] if isinstance(node, yaml.MappingNode) else node.value[-1]
    index: int = node.end_mark.index
    if index and text[index - 1] == "\n":  # a text in lines of its own ends with its line
        return index
    end = text.find("\n", index)
    return len(text) if end < 0 else end + 1


def _renamed(block: str, old: str, new: str) -> str:
    lines = block.splitlines(keepends=True)
    for place, line in enumerate(lines):
        if not line.startswith("#"):
            lines[place] = line.replace(old, new, 1)
            break
    return "".join(lines)


def _with_block(text: str, path: Path, block: str) -> str:
    """The text with the lines of a key at `path`, in the deepest section of it that exists."""
    pairs = list(_pairs(text, path[:-1]))
    missing = path[len(pairs) : -1]
    node = pairs[-1].value if pairs else yaml.compose(text, Loader=yaml.SafeLoader)
    if node is None:
        return _with_newline(text) + _native(text, _nested(missing, block, 0))
    if not isinstance(node, yaml.MappingNode) or node.flow_style or not node.value:
        raise CannotEdit(f"{'.'.join(path[:-1])} cannot be extended by lines")
    first: int = node.value[0][0].start_mark.index
    line = text.rfind("\n", 0, first) + 1
    if text[line:first].strip():
        raise CannotEdit("a mapping begins in the middle of a line")
    if not pairs:
        return _with_newline(text) + _native(text, _nested(missing, block, 0))
    return text[:line] + _native(text, _nested(missing, block, node.start_mark.column)) + text[line:]


def _nested(sections: Path, block: str, column: int) -> str:
    heads = [f"{' ' * (column + STEP * depth)}{name}:\n" for depth, name in enumerate(sections)]
    return "".join(heads) + textwrap.indent(_with_newline(block), " " * (column + STEP * len(sections)))
