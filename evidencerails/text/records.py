"""Units of a passage that are each about one thing: records of JSON, rows of tables, items of lists, paragraphs.

In: text. Out: where each begins, for windows that hold one of them each, and rows of tables said with the heads of
their columns. Beside each other the model gives values to the wrong owners (`benchmarks/records.py`).
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache

from evidencerails.text.json_places import Path, walk, whole_json

_MAX_HEADING_WORDS = 14
_ROW = re.compile(r"[ \t]*\|(.+)\|[ \t]*")
_RULE = re.compile(r"[ \t]*\|[ \t:|-]+\|[ \t]*")
_PIPE = re.compile(r"(?<!\\)\|")
_HEADING = re.compile(r"^#{1,6} .+$", re.MULTILINE)
_ITEM = re.compile(r"(?:[-*•–]|\d{1,2}[.)])[ \t]+\S")
_TURN = re.compile(r"(?<=\n\n)[ \t]{0,8}([\w .'()\[\]-]{1,40}):[ \t][^\n]+(?=\n\n)")
"""A paragraph of one line behind a name."""
_DELIMITERS = "\t|;,"
_LEAST_ROWS, _LEAST_COLUMNS = 3, 3


def record_cuts(text: str) -> list[int]:
    """Offsets in (0, len(text)) at which such a unit begins or the last one ends, rising; none if there is one."""
    if text.lstrip()[:1] in ("{", "[", "`") and (cuts := _json_cuts(text)):
        return cuts
    if _delimiter(text):
        return [line.start() for line in re.finditer(r"[^\n]*\S[^\n]*", text)][2:]
    table = _table_cuts(text) if "|" in text else []
    return sorted({*table, *_block_cuts(text)})


def heading_of(text: str, start: int) -> str:
    """The heading under which a place of a passage stands, or the line that leads to its list ("Plus includes:");
    empty if it has none, or the part begins with one."""
    part = text[start : start + 200].lstrip()
    if start == 0 or _HEADING.match(part) or _delimiter(text):
        return ""
    above = text[:start].rstrip()
    if _ITEM.match(part):
        leading = next((line for line in reversed(above.split("\n")) if line.strip() and not _in_list(line)), "")
        if leading.rstrip().endswith(":"):
            return leading.strip()
    headings = [match[0] for match in _HEADING.finditer(text, 0, start)]
    if headings:
        return headings[-1]
    first, _, rest = above.lstrip().partition("\n")
    if not _is_title(first) or "\n" not in above + text[start - 1 : start]:
        return ""
    # "Plan: Light" at the head of further lines is the first of some records, not the title of all.
    return first.strip() if ":" not in first.strip()[:-1] or not rest.partition("\n")[0].strip() else ""


def _in_list(line: str) -> bool:
    return line.startswith((" ", "\t")) or _ITEM.match(line) is not None


def _is_title(line: str) -> bool:
    """True for a line that can stand over what follows: a Markdown heading, or some words without a full stop."""
    line = line.strip()
    if not line or line.startswith("#"):
        return bool(line)
    is_data = line[0] in "{[|`" or line[-1] in "|}]" or _ITEM.match(line)
    return not is_data and line[-1] not in ".!?,;" and len(line.split()) <= _MAX_HEADING_WORDS


def _block_cuts(text: str) -> Iterator[int]:
    """Where a paragraph, a section or an item of a list begins; what leads to it stays with it: a title, a question.
    What is said in turns stays whole."""
    speakers = Counter(_TURN.findall(f"\n\n{text}\n\n"))
    before, is_apart, start = "", False, 0
    for line in text.split("\n"):
        if line.strip():
            begins = is_apart or line.startswith("#") or _ITEM.match(line)
            leads = before.rstrip()[-1:] in ("?", ":") or (_is_title(before) and ":" not in before)
            leads = leads or speakers[line.partition(":")[0].strip()] > 1
            if before and begins and not leads:
                yield start
            before = line
        is_apart = not line.strip()
        start += len(line) + 1


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
    after = 0  # a row of a table is the head of no other
    for number, line in enumerate(lines):
        if number > after and _RULE.fullmatch(line) and len(_cells(lines[number - 1])) > 1:
            rows = next((n for n in range(number + 1, len(lines)) if not _ROW.fullmatch(lines[n])), len(lines))
            after = next((n for n in range(rows, len(lines)) if lines[n].strip()), len(lines))
            cuts += [starts[number - 1], *starts[number + 2 : rows], starts[after]]
    return [cut for cut in dict.fromkeys(cuts) if 0 < cut < len(text)]


@lru_cache(maxsize=8)
def _delimiter(text: str) -> str:
    """What separates the columns of a text that is nothing but such a table; empty if it is none."""
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) < _LEAST_ROWS or _ROW.fullmatch(lines[0]) or _ITEM.match(lines[0]) or re.search(r"[,;] ", lines[0]):
        return ""
    for delimiter in _DELIMITERS:
        if delimiter in lines[0]:
            rows = _rows(lines, delimiter)
            counts = {len(row) for row in rows}
            if len(rows) == len(lines) and len(counts) == 1 and min(counts) >= _LEAST_COLUMNS:
                return delimiter
    return ""


def _rows(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    """Cells of the lines, without blanks around them; none if they cannot be read."""
    try:
        return [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=delimiter)]
    except csv.Error:  # a field of more than 128 kB
        return []


def with_heads(text: str, start: int, end: int) -> str:
    """`text[start:end]` with each row of a table as a JSON object of its heads and values: the line that says what a
    column holds may stand far above."""
    if delimiter := _delimiter(text):
        first = next(line for line in text.split("\n") if line.strip())
        columns, *rows = _rows([first, *(line for line in text[start:end].split("\n") if line.strip())], delimiter)
        return "\n".join(_as_object(columns, row) for row in rows if row != columns)
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
            lines.append(_as_object(heads, cells))
        start += len(line) + 1
    return "\n".join(lines)


def _as_object(heads: list[str], cells: list[str]) -> str:
    pairs = [f" {_quoted(head)}: {_quoted(value)}" for head, value in zip(heads, cells, strict=False) if value]
    return "{\n" + ",\n".join(pairs) + "\n}"


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
