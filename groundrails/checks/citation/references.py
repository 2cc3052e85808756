"""The list of references that an answer writes below itself, and the footnotes: which words a label stands for."""

from __future__ import annotations

import re
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
_SENTENCE = re.compile(r"[.!?]\s+[A-Z]")


class References(NamedTuple):
    """What an answer says its labels stand for, and where it says so."""

    entries: dict[str, str]
    """Label without `^` -> the words behind it."""
    stretches: list[tuple[int, int]]
    """Where they stand: lines that make no claim and whose marks cite nothing."""


def find_references(text: str) -> References:
    """Footnote definitions anywhere, and the entries below a heading such as "References" at the end of an answer."""
    entries: dict[str, str] = {}
    stretches: list[tuple[int, int]] = []
    for match in _DEFINITION.finditer(text):
        entries.setdefault(match[1].lstrip("^"), match[2].strip())
        stretches.append(match.span())
    heading = next(reversed(list(_HEADING.finditer(text))), None)
    if heading is not None and _is_list(text[heading.end() :]):
        stretches.append((heading.start(), len(text)))
        for number, match in enumerate(_ENTRY.finditer(text, heading.end()), start=1):
            label = (match[1] or match[2] or str(number)).lstrip("^")
            entries.setdefault(label, match[3].strip())
    return References(entries, stretches)


def _is_list(text: str) -> bool:
    """True if every line looks like an entry: labelled, a bullet, or short and no running text."""
    lines = [line for line in text.splitlines() if line.strip()]
    return bool(lines) and all(
        re.match(r"\s*(?:[-*+•]\s|\[\^?[\w.-]+\]|\d{1,3}[.)]\s|https?://|<https?://)", line)
        or (len(line) <= 200 and not _SENTENCE.search(line) and line.rstrip()[-1:] not in "!?")
        for line in lines
    )
