"""Statutes and cases: sections of codes, named acts, EU instruments, public laws, reported cases."""

from __future__ import annotations

import re
from collections.abc import Iterator

from evidencerails.checks.knowledge.entities import Entity, without_overlaps

_SECTION = r"\d+[a-zA-Z]{0,2}(?:[.–-]\d+[a-zA-Z]?)*(?:\([\w]{1,4}\))*"
_WORDS = (
    r"[A-Z][\w'’&-]{0,40}(?:,? (?:of|and|for|the|on|in|to|with|against|[A-Z][\w'’&-]{0,40}|\([A-Z][\w ]{2,40}\))){0,14}"
)
_PARTY = r"\b[A-Z][\w.'’&-]{0,40}(?: (?:of|the|and|[A-Z][\w.'’&-]{0,40})){0,5}"
_REPORTER = r"(?:U\.S\.|F\.[23]d|F\.4th|F\. Supp\.(?: [23]d)?|S\. ?Ct\.)"
_PATTERNS = (
    re.compile(rf"\b\d{{1,2}} ?(?:U\. ?S\. ?C\.|USC|C\. ?F\. ?R\.|CFR)(?: ?§{{1,2}})? ?(?:§ ?)?{_SECTION}"),
    re.compile(
        rf"(?:§{{1,2}} ?|\b(?:Sections?|Sec\.|Articles?|Art\.) ){_SECTION}(?:,? of)?(?: the)?"
        rf" (?:{_WORDS} (?:Act|Code|Law|Constitution|Ordinance|Statute)(?:,? (?:of )?\d{{4}})?"
        rf"|GDPR|BGB|StGB|HGB|GG|ZPO|UCC|FRCP|TFEU|ECHR|EPC|OR|ZGB)\b"
    ),
    re.compile(rf"\b(?:{_WORDS} )(?:Act|Ordinance)(?:,? of)?,? \d{{4}}\b"),
    re.compile(
        r"\b(?:Directive|Regulation|Decision)(?: \((?:EU|EC|EEC)\))?(?: No\.?)? \d{2,4}/\d{1,4}(?:/(?:EU|EC|EEC))?\b"
    ),
    re.compile(r"\b(?:Public Law|Pub\. ?L\.)(?: No\.)? \d{2,3}[-–]\d{1,4}\b"),
    re.compile(
        rf"{_PARTY} v\.? {_PARTY}(?:, \d{{1,4}} {_REPORTER} \d{{1,5}}(?: \([\w. ]{{0,20}}\d{{4}}\))?| \(\d{{4}}\))"
    ),
)
_LEAD = re.compile(
    r"^(?:(?:The|This|That|Under|In|By|Since|As|With|According to|Pursuant to|Per|See|Both|Although|While|However,?"
    r"|Its?|And|But|For|If|When|Because|After|Before|Unlike|Like) )+(?:the )?"
)


def statutes(text: str) -> Iterator[Entity]:
    """The statutes and cases that a text names, without the words that lead to them."""
    found = []
    for pattern in _PATTERNS:
        for match in pattern.finditer(text):
            lead = _LEAD.match(match[0])
            start = match.start() + (lead.end() if lead else 0)
            found.append(Entity("statutes", start, match.end(), text[start : match.end()]))
    yield from without_overlaps(found)
