"""Small insertions into a YAML file that leave every other character of it as it was.

A YAML library that reads and writes again would reindent, requote and drop blank lines; users keep such files in git.
The parser only says where things stand; each insertion is checked by parsing the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import yaml

Path: TypeAlias = Sequence[str]

STEP = 2
"""Columns of one level of indentation in what is inserted."""


class CannotEdit(ValueError):
    """The file is written in a way that small insertions cannot extend (anchors, a scalar where a list belongs)."""


def add_item(text: str, path: Path, item: str) -> str:
    """The text with `item` (a plain word, or a mapping in braces) in the list at `path`; unchanged if it is there;
    missing keys are made. `CannotEdit`: the place cannot be extended by insertion."""
    wanted, value = _parsed(text), yaml.safe_load(item)
    parent = _walk(wanted, path[:-1])
    items = parent[path[-1]] = [] if parent.get(path[-1]) is None else parent[path[-1]]
    if not isinstance(items, list):
        raise CannotEdit(f"{'.'.join(path)} is not a list")
    if value in items:
        return text
    items.append(value)
    return _verified(_inserted(text, path, item, in_list=True), wanted)


def set_default(text: str, path: Path, value: str) -> str:
    """The text with `value` (a plain word) at `path`; unchanged if something is there already. `CannotEdit`: the place
    cannot be extended by insertion."""
    wanted = _parsed(text)
    parent = _walk(wanted, path[:-1])
    if parent.get(path[-1]) is not None:
        return text
    parent[path[-1]] = value
    return _verified(_inserted(text, path, value, in_list=False), wanted)


def _parsed(text: str) -> dict[str, Any]:
    data = yaml.safe_load(text)
    if data is not None and not isinstance(data, dict):
        raise CannotEdit("the file is not a mapping of keys")
    return data or {}


def _walk(data: dict[str, Any], path: Path) -> dict[str, Any]:
    """The mapping at `path`, made where only its key was written."""
    for key in path:
        if data.get(key) is None:
            data[key] = {}
        data = data[key]
        if not isinstance(data, dict):
            raise CannotEdit(f"{key} is not a mapping of keys")
    return data


def _verified(text: str, wanted: dict[str, Any]) -> str:
    try:
        is_right = yaml.safe_load(text) == wanted
    except yaml.YAMLError:
        is_right = False
    if not is_right:
        raise CannotEdit("the file uses anchors or a layout that insertions would change elsewhere too")
    return text


def _inserted(text: str, path: Path, value: str, *, in_list: bool) -> str:
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if root is None:
        return _with_newline(text) + _native(text, _block(path, value, in_list, 0))
    node, depth, key_node = root, 0, None
    while depth < len(path) and isinstance(node, yaml.MappingNode):
        pair = next((pair for pair in node.value if pair[0].value == path[depth]), None)
        if pair is None:
            break
        key_node, node = pair
        depth += 1
    rest = path[depth:]
    if isinstance(node, yaml.ScalarNode) and key_node is not None:
        return _under_bare_key(text, key_node, node, rest, value, in_list)
    if isinstance(node, yaml.SequenceNode) and not rest:
        return _at_end_of_list(text, node, value)
    if isinstance(node, yaml.MappingNode) and rest:
        return _into_mapping(text, node, rest, value, in_list, is_root=depth == 0)
    raise CannotEdit(f"{'.'.join(path)} cannot be extended")


def _under_bare_key(text: str, key: yaml.Node, node: yaml.ScalarNode, rest: Path, value: str, in_list: bool) -> str:
    """`key:` with nothing, `~` or `null` behind it: the block goes on the next lines, or the word is replaced."""
    if node.start_mark.index == node.end_mark.index:
        column = key.start_mark.column + STEP
        if not rest and not in_list:
            return _splice(text, key.end_mark.index + 1, f" {value}")
        return _insert_line_after(text, key.end_mark.index, _block(rest, value, in_list, column))
    return _splice(text, node.start_mark.index, _flow(rest, value, in_list), until=node.end_mark.index)


def _at_end_of_list(text: str, node: yaml.SequenceNode, value: str) -> str:
    if node.flow_style:
        if not node.value:
            return _splice(text, node.start_mark.index + 1, value)
        return _splice(text, node.value[-1].end_mark.index, f", {value}")
    last = node.value[-1]
    while isinstance(last, yaml.CollectionNode) and not last.flow_style and last.value:
        last = last.value[-1][1] if isinstance(last, yaml.MappingNode) else last.value[-1]
    return _insert_line_after(text, last.end_mark.index, " " * node.start_mark.column + f"- {value}\n")


def _into_mapping(text: str, node: yaml.MappingNode, rest: Path, value: str, in_list: bool, *, is_root: bool) -> str:
    if node.flow_style:
        item = f"{rest[0]}: {_flow(rest[1:], value, in_list)}"
        if not node.value:
            return _splice(text, node.start_mark.index + 1, item)
        return _splice(text, node.value[-1][1].end_mark.index, f", {item}")
    block = _block(rest, value, in_list, node.start_mark.column)
    if is_root:
        end = node.end_mark.index  # the end of the file, or its `...` line
        return _with_newline(text[:end]) + _native(text, "\n" + block) + text[end:]
    first = node.value[0][0].start_mark.index  # before the first key: comments behind the last one stay where they are
    line = text.rfind("\n", 0, first) + 1
    if text[line:first].strip():
        raise CannotEdit("a mapping begins in the middle of a line")
    return _splice(text, line, _native(text, block))


def _block(path: Path, value: str, in_list: bool, column: int) -> str:
    lines = [f"{' ' * (column + STEP * depth)}{key}:" for depth, key in enumerate(path)]
    indent = " " * (column + STEP * len(path))
    if in_list:
        return "\n".join([*lines, f"{indent}- {value}", ""])
    return "\n".join([*lines[:-1], f"{lines[-1]} {value}", ""])


def _flow(path: Path, value: str, in_list: bool) -> str:
    inner = f"[{value}]" if in_list else value
    for key in reversed(path):
        inner = f"{{{key}: {inner}}}"
    return inner


def _splice(text: str, at: int, new: str, *, until: int | None = None) -> str:
    return text[:at] + new + text[at if until is None else until :]


def _insert_line_after(text: str, index: int, new: str) -> str:
    end = text.find("\n", index)
    if end < 0:
        return _with_newline(text) + _native(text, new)
    return _splice(text, end + 1, _native(text, new))


def _native(text: str, new: str) -> str:
    return new.replace("\n", "\r\n") if "\r\n" in text else new


def _with_newline(text: str) -> str:
    return text if not text or text.endswith("\n") else text + _native(text, "\n")
