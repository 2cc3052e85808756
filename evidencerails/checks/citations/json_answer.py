"""Answers in JSON with citation fields: claims with their `citations`, or one text with citations of its own.

Offsets stay those of the answer as it was written, so a span is exact wherever a JSON string has no escapes, and the
whole string where it has.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from evidencerails.exchange import Span
from evidencerails.text.json_places import Path, Place, walk, whole_json

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
    """True if a citation field stands beside it, an empty one included."""


def json_claims(response: str) -> list[JsonClaim] | None:
    """The claims of an answer that is JSON with a citation field somewhere; None for any other answer."""
    found = whole_json(response)
    if found is None:
        return None
    start, data = found
    claims = list(_claims(data, (), _Places(response, dict(walk(response, start)))))
    return claims if any(claim.has_field for claim in claims) else None


class _Places(NamedTuple):
    """Where each part of a JSON text stands."""

    response: str
    by_path: dict[Path, Place]

    def span(self, path: Path) -> Span:
        """The value at a path; a string without its quotation marks."""
        _, start, end = self.by_path[path]
        quote = int(self.response[start] == '"')
        return Span.of(self.response, start + quote, end - quote)


def _claims(data: Any, path: Path, places: _Places) -> Iterator[JsonClaim]:
    if len(path) > MAX_DEPTH:
        return
    if isinstance(data, list):
        for index, item in enumerate(data):
            yield from _claims(item, (*path, index), places)
    if not isinstance(data, dict):
        return
    key = next((k for k in CLAIM_KEYS if isinstance(data.get(k), str) and data[k].strip()), None)
    field = next((k for k in CITATION_KEYS if k in data), None)
    if key is not None:
        text, span = data[key], places.span((*path, key))
        citations = tuple(_citations(data[field], (*path, field), places, span)) if field else ()
        yield JsonClaim(text, span, span.text == text, citations, field is not None)
    for name, value in data.items():
        if name not in (key, field) and isinstance(value, (dict, list)):
            yield from _claims(value, (*path, name), places)


def _citations(value: Any, path: Path, places: _Places, beside: Span) -> Iterator[JsonCitation]:
    items = enumerate(value) if isinstance(value, list) else [(None, value)]
    for index, item in items:
        at = path if index is None else (*path, index)
        if isinstance(item, dict):
            key = next((k for k in _ID_KEYS if _is_name(item.get(k))), None)
            quote = next((item[k] for k in _QUOTE_KEYS if isinstance(item.get(k), str)), "")
            span = beside if key is None else places.span((*at, key))
            yield JsonCitation("" if key is None else str(item[key]), span, quote.strip())
        elif _is_name(item):
            yield JsonCitation(str(item), places.span(at))


def _is_name(value: Any) -> bool:
    return isinstance(value, (str, int)) and not isinstance(value, bool) and bool(str(value).strip())
