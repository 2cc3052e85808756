"""Records of a passage: members of a JSON list or object, JSON lines, rows of Markdown tables.

In: text. Out: where each record begins, for windows that hold one record each, and rows said with the heads of their
columns. The model assigns values to their owners far better in one record than among several (`benchmarks/records.py`).
"""

from __future__ import annotations

import json
import re
from collections import defaultdict

from evidencerails.text.json_places import Path, walk, whole_json

_ROW = re.compile(r"[ \t]*\|(.+)\|[ \t]*")
_RULE = re.compile(r"[ \t]*\|[ \t:|-]+\|[ \t]*")
_PIPE = re.compile(r"(?<!\\)\|")


def record_cuts(text: str) -> list[int]:
    """Offsets in (0, len(text)) at which a record begins or the last one ends, rising; none without records."""
    if text.lstrip()[:1] in ("{", "[", "`") and (cuts := _json_cuts(text)):
        return cuts
    return _table_cuts(text) if "|" in text else []


def _json_cuts(text: str) -> list[int]:
    """Beginnings of the members of the outermost list or object that has only objects for members; if there are two
    such, neither is cut: what is in which would be lost."""
    lines = list(re.finditer(r"[^\n]*\S[^\n]*", text))
    if len(lines) > 1 and all(re.fullmatch(r"\s*\{.*\}\s*", line[0]) for line in lines):
        return [line.start() for line in lines[1:]]
    if (found := whole_json(text)) is None:
        return []
    members: dict[Path, list[int]] = defaultdict(list)
    mixed: set[Path] = set()
    for path, place in walk(text, found[0]):
        if path and text[place.start] == "{":
            members[path[:-1]].append(place.first)
        elif path:
            mixed.add(path[:-1])
    lists = {path: starts for path, starts in members.items() if len(starts) > 1 and path not in mixed}
    depth = min(map(len, lists), default=0)
    outermost = [starts for path, starts in lists.items() if len(path) == depth]
    return sorted(outermost[0])[1:] if len(outermost) == 1 else []


def _table_cuts(text: str) -> list[int]:
    """Where each table begins, each of its rows but the first, and its end."""
    cuts: list[int] = []
    lines, start = text.split("\n"), 0
    starts = [start := start + size for size in (0, *(len(line) + 1 for line in lines))]
    for number, line in enumerate(lines):
        if number and _RULE.fullmatch(line) and len(_cells(lines[number - 1])) > 1:
            rows = next((n for n in range(number + 1, len(lines)) if not _ROW.fullmatch(lines[n])), len(lines))
            cuts += [starts[number - 1], *starts[number + 2 : rows], starts[rows]]
    return [cut for cut in dict.fromkeys(cuts) if 0 < cut < len(text)]


def with_heads(text: str, start: int, end: int) -> str:
    """`text[start:end]` with each row of a Markdown table as a JSON object of its heads and values: the line that says
    what a column holds may stand far above."""
    heads: list[str] = []
    lines = []
    for line in text[start:end].split("\n"):
        cells = _cells(line)
        if cells and not heads:
            heads = _heads_of(text, start)
        if not cells or not heads:
            heads = heads if cells else []
            lines.append(line)
        elif cells != heads and not _RULE.fullmatch(line):
            pairs = [f" {_quoted(head)}: {_quoted(value)}" for head, value in zip(heads, cells, strict=False) if value]
            lines.append("{\n" + ",\n".join(pairs) + "\n}")
        start += len(line) + 1
    return "\n".join(lines)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in _PIPE.split(match[1])] if (match := _ROW.fullmatch(line)) else []


def _heads_of(text: str, start: int) -> list[str]:
    """The cells of the first line of the table around `start`; none if no rule follows it, or it has one column."""
    end = text.find("\n", start)
    lines = text[: end if end >= 0 else len(text)].split("\n")
    first = len(lines) - 1
    while first > 0 and _ROW.fullmatch(lines[first - 1]):
        first -= 1
    following = text[sum(len(line) + 1 for line in lines[: first + 1]) :].partition("\n")[0]
    heads = _cells(lines[first])
    return heads if len(heads) > 1 and _RULE.fullmatch(following) else []
