"""The sources of an answer, and which of them a citation names.

`[n]` counts the evidence list from 1, unless a passage has the id `n` itself. Evidence that is one text with labelled
parts ("[1] ...", "Document 2: ...") is taken apart by its labels. URLs, DOIs, names and (author, year) are looked up in
ids, sources and metadata of the passages, and in their text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from evidencerails.checks.citations.marks import AUTHORS_AND_YEARS, Ref
from evidencerails.exchange import Passage, Span
from evidencerails.report import Quote

MAX_CARD = 4_000
"""Characters of a passage's metadata that are read."""
NEAR = 80
"""Characters between an author and a year that belong together in a text."""
MAX_RANGE = 500
"""Numbers of a range that are looked up one by one."""
MIN_NAME_RATIO = 90.0
"""rapidfuzz's ratio from which a name is that of a source: one letter in ten may differ."""
MIN_NAME_LENGTH = 6
"""Shorter names must be spelled exactly."""


class Source(NamedTuple):
    """One thing that can be cited: a passage, or a labelled part of the only one."""

    passage: Passage
    """What is read; its id is what the answer calls it."""
    whole: Passage
    """The passage of the exchange that it is or is a part of."""
    offset: int = 0
    """Where it begins in that passage."""


class Sources:
    """The sources of one answer."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self.items: tuple[Source, ...] = tuple(labelled_parts(passages) or (Source(p, p) for p in passages))

    def __len__(self) -> int:
        return len(self.items)

    @cached_property
    def _names(self) -> dict[str, list[int]]:
        """Every name of every source in one spelling -> their places, from 0."""
        names: dict[str, list[int]] = {}
        for place, source in enumerate(self.items):
            for name in dict.fromkeys(one_spelling(name) for name in _names_of(source.passage)):
                if name:
                    names.setdefault(name, []).append(place)
        return names

    @cached_property
    def _ids(self) -> dict[str, list[int]]:
        """Id -> places: several passages may be parts of one document."""
        found: dict[str, list[int]] = {}
        for place, source in enumerate(self.items):
            found.setdefault(source.passage.id, []).append(place)
        return found

    @cached_property
    def _shapes(self) -> frozenset[str]:
        """Shapes of the ids, numbers left out: a bracket of the same shape is meant as an id."""
        ids = (source.passage.id for source in self.items if not source.passage.id.isdigit())
        return frozenset(shape for shape in map(_shape, ids) if re.search(r"\W|9", shape))

    @cached_property
    def _cards(self) -> list[str]:
        """What is known about each source beside its text, lower-cased."""
        return [" ".join(_card(source.passage)).lower()[:MAX_CARD] for source in self.items]

    @cached_property
    def _addresses(self) -> dict[str, list[int]]:
        """Every URL of every source -> their places."""
        found: dict[str, list[int]] = {}
        for place, source in enumerate(self.items):
            texts = (*_card(source.passage), source.passage.text)
            listed = (url for text in texts for url in _URL.findall(text))
            for url in dict.fromkeys(one_address(url) for url in listed):
                found.setdefault(url, []).append(place)
        return found

    def knows(self, name: str) -> bool:
        """True if the name is that of a source, or has the shape of their ids."""
        if name == AUTHORS_AND_YEARS:
            return self._have_authors
        return bool(self._named(name)) or _shape(name) in self._shapes

    @cached_property
    def _have_authors(self) -> bool:
        """True if some source is known by author and year."""
        keys = [{str(key).lower() for key in source.passage.metadata} for source in self.items]
        return any(_AUTHOR_KEYS & found and _YEAR_KEYS & found for found in keys) or any(
            _AUTHOR_AND_YEAR.search(source.passage.source or source.passage.id) for source in self.items
        )

    def places(self, ref: Ref) -> tuple[int, ...]:
        """Places of the sources that a reference names, from 0; empty if there is none."""
        if ref.kind == "number":
            return self._numbered(ref)[0]
        if ref.kind == "name":
            return self._named(ref.text) or self._mentioning(ref.text)
        if ref.kind == "url":
            return tuple(self._addresses.get(one_address(ref.text), ())) or self._named(ref.text)
        if ref.kind == "doi":
            return self._having(ref.text.lower().rstrip("."))
        return self._by_author(ref)

    def is_complete(self, ref: Ref) -> bool:
        """False if something that it names is no source: a number beyond the list, however long the range."""
        return self._numbered(ref)[1] if ref.kind == "number" else bool(self.places(ref))

    def _numbered(self, ref: Ref) -> tuple[tuple[int, ...], bool]:
        """The places of a number or a range, and whether all of it exists."""
        asked = range(ref.low, min(ref.high, ref.low + MAX_RANGE) + 1)
        by_id = [self._ids[str(number)] for number in asked if str(number) in self._ids]
        is_whole = len(by_id) == ref.high - ref.low + 1
        if self._are_ids_numbering or is_whole:
            return tuple(dict.fromkeys(place for places in by_id for place in places)), is_whole
        within = range(max(ref.low, 1) - 1, min(ref.high, len(self.items)))
        return tuple(within), len(within) == ref.high - ref.low + 1

    @cached_property
    def _are_ids_numbering(self) -> bool:
        """True if the ids number the sources, with gaps where a blank one was left out; not for ids of a database."""
        ids = [source.passage.id for source in self.items]
        return all(one.isdigit() and int(one) <= 3 * len(ids) + 5 for one in ids)

    def _named(self, name: str) -> tuple[int, ...]:
        spelled = one_spelling(name)
        without_place = one_spelling(re.split(r"[#@]|::", name)[0])
        return tuple(self._names.get(spelled) or self._names.get(without_place) or ())

    def _mentioning(self, name: str) -> tuple[int, ...]:
        """Sources whose name is nearly this one, or whose text or card has it as a phrase."""
        from rapidfuzz import fuzz, process

        spelled = one_spelling(name)
        if len(spelled) < MIN_NAME_LENGTH or re.search(r"\d", spelled):  # doc-12 is not nearly doc-11
            return ()
        near = process.extractOne(spelled, self._names.keys(), scorer=fuzz.ratio, score_cutoff=MIN_NAME_RATIO)
        return tuple(self._names[near[0]]) if near else self._having(name.strip().lower())

    def _having(self, phrase: str) -> tuple[int, ...]:
        pattern = re.compile(rf"(?<![\w]){re.escape(phrase)}(?![\w])")
        pairs = zip(self.items, self._cards, strict=True)
        return tuple(
            place
            for place, (source, card) in enumerate(pairs)
            if pattern.search(card) or pattern.search(source.passage.text.lower())
        )

    def _by_author(self, ref: Ref) -> tuple[int, ...]:
        names = [re.escape(name.lower()) for name in ref.authors]
        year = rf"(?<!\d){ref.year}(?!\d)"
        together = re.compile(rf"\b{names[0]}\b[^\n]{{0,{NEAR}}}?{year}")
        found = []
        for place, (source, card) in enumerate(zip(self.items, self._cards, strict=True)):
            is_on_card = all(re.search(rf"\b{name}\b", card) for name in names) and re.search(year, card)
            if is_on_card or together.search(source.passage.text.lower()):
                found.append(place)
        return tuple(found)

    def passages(self, places: Iterable[int]) -> list[Passage]:
        """The passages at these places."""
        return [self.items[place].passage for place in places]

    def in_exchange(self, quote: Quote) -> Quote:
        """A quote out of a source as one out of the passage of the exchange that holds it."""
        source = next((s for s in self.items if s.passage.id == quote.passage_id and s.whole is not s.passage), None)
        if source is None:
            return quote
        start, end = quote.span.start + source.offset, quote.span.end + source.offset
        return quote.model_copy(update={"passage_id": source.whole.id, "span": Span.of(source.whole.text, start, end)})


# ---- names

_URL = re.compile(r"(?:https?://|www\.)[^\s<>\[\]\"'“”()]+", re.IGNORECASE)
_AUTHOR_KEYS = {"author", "authors", "creator", "by", "citation"}
_YEAR_KEYS = {"year", "date", "published", "published_at", "publication_date", "issued", "citation"}
_AUTHOR_AND_YEAR = re.compile(r"[A-Z][a-z]+.{0,40}\b(?:1[5-9]|20)\d\d\b")
_CARD_KEYS = ("id", "source", "url", "link", "title", "name", "file", "filename", "file_name", "path", "doi")


def one_spelling(name: str) -> str:
    """A name in lower case with single hyphens between its words: "Doc 1" is doc-1."""
    return re.sub(r"[\W_]+", "-", name.strip().lower()).strip("-")


def one_address(url: str) -> str:
    """A URL without what does not change the page: scheme, `www.`, fragment, trailing slash, tracking parameters."""
    url = url.rstrip(".,;:!?'\"*_”’").lower()
    parts = urlsplit(url if "://" in url else f"https://{url}")
    try:
        host = (parts.hostname or "").removeprefix("www.")
    except ValueError:  # "https://[" is no address
        return url
    kept = sorted(
        (k, v) for k, v in parse_qsl(parts.query) if not k.startswith("utm_") and k not in ("gclid", "fbclid")
    )
    query = "&".join(f"{k}={v}" for k, v in kept)
    return f"{host}{parts.path.rstrip('/')}" + (f"?{query}" if query else "")


def _names_of(passage: Passage) -> Iterable[str]:
    metadata = passage.metadata
    names = [passage.id, passage.source or "", *(str(metadata[key]) for key in _CARD_KEYS if key in metadata)]
    for name in names:
        yield name
        last = re.split(r"[/\\]", name.rstrip("/\\"))[-1]
        yield last
        yield re.sub(r"\.\w{1,5}$", "", last)


def _card(passage: Passage) -> Iterable[str]:
    """Everything known about a passage but its text."""
    yield passage.id
    yield passage.source or ""
    for value in passage.metadata.values():
        yield from _texts(value)


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, (str, int, float)):
        yield str(value)[:MAX_CARD]
    elif isinstance(value, (list, tuple)):
        yield from (str(item)[:MAX_CARD] for item in value[:50] if isinstance(item, (str, int)))


def _shape(name: str) -> str:
    return re.sub(r"\d+", "9", re.sub(r"[^\W\d_]+", "a", name.strip()))


# ---- one text with labelled parts

_PART = re.compile(
    r"^[ \t]*(?:\[(?P<bracket>[\w.:-]{1,40})\][ \t]*:?"
    r"|<(?:document|doc|passage|source)[ \t]+(?:id|index)=[\"']?(?P<tag>[\w.:-]{1,40})[\"']?[^>\n]*>"
    r"|(?:document|doc|passage|source|chunk|context|excerpt)[ \t]*#?(?P<word>\d{1,4})[ \t]*[:.)\-])[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)


def labelled_parts(passages: Sequence[Passage]) -> list[Source]:
    """The parts of a single text that labels each of them; empty if it is not such a text."""
    if len(passages) != 1:
        return []
    whole = passages[0]
    heads = list(_PART.finditer(whole.text))
    labels = [head["bracket"] or head["tag"] or head["word"] for head in heads]
    if len(heads) < 2 or len({*labels}) != len(labels):
        return []
    ends = [head.start() for head in heads[1:]] + [len(whole.text)]
    parts = []
    for label, head, end in zip(labels, heads, ends, strict=True):
        text = whole.text[head.end() : end]
        if text.strip():
            passage = Passage(id=label, text=text, source=whole.source, metadata=whole.metadata)
            parts.append(Source(passage, whole, head.end()))
    return parts if len(parts) > 1 else []
