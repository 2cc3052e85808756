"""Answers in JSON with citation fields: claims with their `citations`, or one text with citations of its own.

Offsets stay those of the answer as it was written, so a span is exact wherever a JSON string has no escapes, and the
whole string where it has.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from evidencerails.exchange import Span

CITATION_KEYS = ("citations", "citation", "source_refs", "source_ref", "sources", "references", "cited_sources")
CLAIM_KEYS = ("claim_text", "statement", "claim", "text", "answer", "response", "content", "sentence")
_ID_KEYS = (
    "source_id",
    "id",
    "ref",
    "doc_id",
    "document_id",
    "passage_id",
    "evidence_id",
    "index",
    "url",
    "doi",
    "source",
)
_QUOTE_KEYS = ("source_text", "quote", "quoted_text", "cited_text", "snippet", "excerpt")
MAX_DEPTH = 40
_FENCED = re.compile(r"\A\s*```(?:json)?[ \t]*\n(.*?)\n?```\s*\Z", re.DOTALL | re.IGNORECASE)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?', re.DOTALL)


class JsonCitation(NamedTuple):
    """One entry of a citation field."""

    name: str
    """What it names; empty for an entry that names nothing, such as null."""
    span: Span
    quote: str = ""
    """The words that it says the source has."""


class JsonClaim(NamedTuple):
    """One text of the answer with the citations beside it."""

    text: str
    span: Span
    """The text in the answer, without its quotation marks."""
    is_exact: bool
    """True if offsets in `text` count in the answer too: no escapes."""
    citations: tuple[JsonCitation, ...]
    has_field: bool
    """True if there is a citation field beside it, empty or not."""


def json_claims(response: str) -> list[JsonClaim] | None:
    """The claims of an answer that is JSON with a citation field somewhere; None for any other answer."""
    fenced = _FENCED.match(response)
    start, body = (fenced.start(1), fenced[1]) if fenced else (0, response)
    if body.lstrip()[:1] not in ("{", "["):
        return None
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not _has_citations(data, 0):
        return None
    places = _Places(response, start, start + len(body))
    return list(_claims(data, places, 0))


def _has_citations(data: Any, depth: int) -> bool:
    if depth > MAX_DEPTH:
        return False
    if isinstance(data, dict):
        if any(key in data for key in CITATION_KEYS) and any(isinstance(data.get(key), str) for key in CLAIM_KEYS):
            return True
        return any(_has_citations(value, depth + 1) for value in data.values())
    return isinstance(data, list) and any(_has_citations(item, depth + 1) for item in data)


def _claims(data: Any, places: _Places, depth: int) -> Iterator[JsonClaim]:
    if depth > MAX_DEPTH:
        return
    if isinstance(data, list):
        for item in data:
            yield from _claims(item, places, depth + 1)
    if not isinstance(data, dict):
        return
    key = next((k for k in CLAIM_KEYS if isinstance(data.get(k), str) and data[k].strip()), None)
    field = next((k for k in CITATION_KEYS if k in data), None)
    if key is not None:
        text: str = data[key]
        span = places.of_string(text)
        if span is not None:
            citations = tuple(_citations(data[field], places, span)) if field else ()
            yield JsonClaim(text, span, span.text == text, citations, field is not None)
    for name, value in data.items():
        if name not in (key, field) and isinstance(value, (dict, list)):
            yield from _claims(value, places, depth + 1)


def _citations(value: Any, places: _Places, beside: Span) -> Iterator[JsonCitation]:
    items = value if isinstance(value, list) else [value]
    for item in items:
        if isinstance(item, dict):
            name = next((str(item[k]) for k in _ID_KEYS if _is_name(item.get(k))), "")
            quote = next((item[k] for k in _QUOTE_KEYS if isinstance(item.get(k), str)), "")
            yield JsonCitation(name, places.of_name(name) or beside, quote.strip())
        elif _is_name(item):
            yield JsonCitation(str(item), places.of_name(str(item)) or beside)


def _is_name(value: Any) -> bool:
    return isinstance(value, (str, int)) and not isinstance(value, bool) and bool(str(value).strip())


class _Places:
    """Where the strings and numbers of a JSON text stand: those of equal value are handed out in order."""

    def __init__(self, whole: str, start: int, end: int) -> None:
        self._whole = whole
        self._strings: dict[str, list[Span]] = {}
        self._used: dict[str, int] = {}
        for match in _TOKEN.finditer(whole, start, end):
            is_string = match[0].startswith('"')
            try:
                value = json.loads(match[0])
            except ValueError:
                continue
            inner = (match.start() + 1, match.end() - 1) if is_string else match.span()
            self._strings.setdefault(str(value), []).append(Span.of(whole, *inner))

    def of_string(self, value: str) -> Span | None:
        """The next place of this value; the last one again if there are no more."""
        found = self._strings.get(value, [])
        place = self._used.get(value, 0)
        self._used[value] = place + 1
        return found[min(place, len(found) - 1)] if found else None

    of_name = of_string
