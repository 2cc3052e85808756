"""Ids: UUIDs, prefixed ids (`usr_4f9`, `ORD-10234`), CVE numbers, ISBNs, and numbers that a word calls an id."""

from __future__ import annotations

import re
from collections.abc import Iterator

from evidencerails.checks.knowledge.entities import Entity, without_overlaps

_NOUN = (
    r"order|invoice|ticket|case|user|customer|account|product|item|transaction|reference|tracking|booking|reservation|"
    r"claim|policy|employee|student|patient|member|part|serial|shipment|contract|request|incident|job|task|issue|device"
)
_PATTERNS = (
    re.compile(r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"),
    re.compile(r"\bCVE-\d{4}-\d{4,7}\b"),
    re.compile(r"\bISBN(?:-1[03])?:? ?(?P<value>97[89][- ]?(?:\d[- ]?){9}\d|(?:\d[- ]?){9}[\dX])\b"),
    re.compile(r"\b[a-z]{2,10}_(?=\w{0,40}\d)[A-Za-z0-9]{2,40}\b"),
    re.compile(
        r"\b(?!(?:CVE|ISO|IEC|RFC|UTF|SHA|MD|COVID|IPv|IEEE|DIN|EN|HTTP|GPT|MP|AES|RSA|ISBN|USB)-)[A-Z]{2,6}-(?=[A-Z0-9-]{0,30}\d)[A-Z0-9]{2,12}(?:-[A-Z0-9]{1,12}){0,3}\b"
    ),
    re.compile(
        rf"\b(?:{_NOUN})(?: (?:id|number|no\.|code|key))?:? ?(?:is |#|№ ?)?\"?"
        r"(?P<value>(?=[\w-]{0,40}\d)[A-Za-z0-9][\w-]{2,40})\b",
        re.IGNORECASE,
    ),
    re.compile(r"(?<!\w)#(?P<value>\d{3,12})\b"),
)
_NO_ID = re.compile(
    r"(?:1[5-9]|20)\d\d|\d{1,3}(?:st|nd|rd|th|s|x|k|m|%)?|\d{1,2}-\w+|[A-Za-z]+-\d{1,2}|\d+-(?:day|year|month|hour|week)\w*"
)


def ids(text: str) -> Iterator[Entity]:
    """The ids that a text names."""
    found = []
    for pattern in _PATTERNS:
        group = "value" if "value" in pattern.groupindex else 0
        for match in pattern.finditer(text):
            if group == 0 or not _NO_ID.fullmatch(match[group]):
                found.append(Entity("ids", *match.span(group), match[group]))
    yield from without_overlaps(found)
