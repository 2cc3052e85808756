"""The list of references that an answer writes below itself, and the footnotes: which words a label stands for."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

_HEADING = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]*)?[*_]{0,2}"
    r"(?:references?|sources?|citations?|bibliography|works cited|footnotes|notes)[*_]{0,2}[ \t]*:?[*_]{0,2}[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_DEFINITION = re.compile(r"^[ \t]*\[(\^?[\w.-]{1,40})\]:[ \t]*(\S[^\n]*)$", re.MULTILINE)
_ENTRY = re.compile(
    r"^[ \t]*(?:[-*+•][ \t]+)?(?:\[(\^?[\w.-]{1,40})\]:?|(\d{1,3})[.)])?[ \t]*(\S[^\n]*)$", re.MULTILINE
)


class Entry(NamedTuple):
    """One line of a list of references, or one footnote."""

    text: str
    start: int
    end: int


class References(NamedTuple):
    """What an answer says its labels stand for, and where it says so."""

    entries: dict[str, Entry]
    """By label, without `^`; those without a label by their number."""
    offsets: list[tuple[int, int]]
    """Where they stand: lines that make no claim and whose marks cite nothing."""


def find_references(text: str, is_reference: Callable[[str], bool]) -> References:
    """Footnote definitions anywhere, and the entries below a heading such as "References" at the end of an answer.

    Args:
        is_reference: whether a line names a source; what does not is text like any other, wherever it stands.
    """
    entries: dict[str, Entry] = {}
    offsets: list[tuple[int, int]] = []
    for match in _DEFINITION.finditer(text):
        if is_reference(match[2].strip()):
            entries.setdefault(match[1].lstrip("^"), Entry(match[2].strip(), match.start(2), match.end(2)))
            offsets.append(match.span())
    heading = next(reversed(list(_HEADING.finditer(text))), None)
    listed = list(_ENTRY.finditer(text, heading.end())) if heading is not None else []
    if heading is not None and listed and all(is_reference(match[3].strip()) for match in listed):
        offsets.append((heading.start(), len(text)))
        for number, match in enumerate(listed, start=1):
            label = (match[1] or match[2] or str(number)).lstrip("^")
            entries.setdefault(label, Entry(match[3].strip(), match.start(3), match.end(3)))
    return References(entries, offsets)
