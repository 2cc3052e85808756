"""An answer with its citations looked up: what each claim cites, and which sources that is."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from evidencerails.checks.citations.json_answer import JsonCitation, JsonClaim, json_claims
from evidencerails.checks.citations.marks import Mark, Ref, entry_refs, find_marks, ref_of
from evidencerails.checks.citations.quotations import Quotation, find_quotations, gaps
from evidencerails.checks.citations.sources import MAX_RANGE, Sources
from evidencerails.checks.citations.statements import Statement, statements_of
from evidencerails.exchange import Span
from evidencerails.settings.claims import CitationSettings
from evidencerails.text.claimable import claim_sentences
from evidencerails.text.sentences import Splitter, blocks

MIN_QUOTE_WORDS = 4
"""Words from which text in quotation marks is held against the sources; fewer are a title or a term."""
MAX_TITLE_WORDS = 14
"""Words of the longest title that a list of references may have without anything to look up."""
_INLINE_CODE = re.compile(r"`[^`\n]{1,500}`")


class Citation(NamedTuple):
    """One citation of an answer, looked up."""

    span: Span
    names: tuple[str, ...]
    """What it names, as it is written."""
    places: tuple[int, ...]
    """Places of the sources it names, from 0."""
    missing: tuple[str, ...]
    """The names that are those of no source."""
    quote: str = ""
    """Words that a citation field ascribes to the source."""
    places_by_number: tuple[tuple[int, ...], ...] = ()
    """The places of each source that it names, where it names several: `[1, 2]`, `[1-3]`."""

    @property
    def exists(self) -> bool:
        """False if any of the names is that of no source."""
        return not self.missing


class CitedStatement(NamedTuple):
    """A claim of the answer with what it cites."""

    statement: Statement
    citations: tuple[Citation, ...]
    quotations: tuple[Quotation, ...]

    @property
    def places(self) -> tuple[int, ...]:
        """Places of all sources that it cites, each once, in order."""
        return tuple(sorted({place for citation in self.citations for place in citation.places}))


class CitedAnswer(NamedTuple):
    """What an answer claims and cites."""

    statements: list[CitedStatement]
    citations: list[Citation]
    """All citations, those of no claim included."""


def read_answer(
    response: str, sources: Sources, settings: CitationSettings, splitter: Splitter | None = None
) -> CitedAnswer:
    """The claims and citations of an answer in text or JSON.

    Raises:
        InputError: what the splitter gives is not the text's own sentences.
    """
    claims = json_claims(response)
    if claims is None:
        return _read_text(response, sources, settings, splitter)
    statements: list[CitedStatement] = []
    citations: list[Citation] = []
    for claim in claims:
        own, inline = _read_json_claim(claim, response, sources, settings, splitter)
        statements += own
        citations += [*inline, *(_of_field(citation, sources) for citation in claim.citations)]
    return CitedAnswer(statements, citations)


def _read_text(response: str, sources: Sources, settings: CitationSettings, splitter: Splitter | None) -> CitedAnswer:
    references = find_references(response, lambda entry: _is_reference(entry, sources))
    hidden = [*references.offsets, *_code(response)]
    marks = [mark for mark in find_marks(response, sources.knows) if not _inside(mark, hidden)]
    citations = {mark.start: _citation(mark, response, sources, references) for mark in marks if mark.refs}
    quotations = find_quotations(response, MIN_QUOTE_WORDS)
    left_out = [gap for quotation in quotations for gap in gaps(quotation)]  # "..." in a quotation ends no sentence
    found = statements_of(
        response, marks, [*hidden, *left_out], paragraphs=settings.scope == "paragraph", splitter=splitter
    )
    statements = [
        CitedStatement(
            statement,
            tuple(citations[mark.start] for mark in statement.marks if mark.start in citations),
            tuple(q for q in quotations if statement.span.start <= q.span.start < statement.span.end),
        )
        for statement in found
    ]
    listed = _only_listed(response, references, marks, sources)
    everything = (*citations.values(), *listed)
    if settings.scope == "answer":
        statements = [
            one if one.citations else CitedStatement(one.statement._replace(shares=True), everything, one.quotations)
            for one in statements
        ]
    return CitedAnswer(statements, list(everything))


def _is_reference(entry: str, sources: Sources) -> bool:
    """True for a line that names a source; a claim below the heading "Sources" stays a claim."""
    refs, is_sure = entry_refs(entry, sources.knows)
    is_title = len(entry.split()) <= MAX_TITLE_WORDS and entry[-1:] not in ".!?"
    return is_sure or is_title or any(sources.places(ref) for ref in refs if ref.kind != "number" or ref.text == entry)


def _only_listed(response: str, references: References, marks: Sequence[Mark], sources: Sources) -> list[Citation]:
    """Entries of the answer's own list that no mark in its text names."""
    named = {label for mark in marks for ref in mark.refs for label in (ref.text.lstrip("^"), str(ref.low))}
    found = []
    for label, entry in references.entries.items():
        refs, is_sure = entry_refs(entry.text, sources.knows)
        places = tuple(sorted({place for ref in refs for place in sources.places(ref)}))
        if label not in named and (places or is_sure):
            span = Span.of(response, entry.start, entry.end)
            names = tuple(ref.text for ref in refs) or (entry.text,)
            found.append(Citation(span, names, places, () if places else names))
    return found


def _code(text: str) -> list[tuple[int, int]]:
    """Offsets of code; a line of a code block that reads as prose is none."""
    prose = {sentence.start for sentence in claim_sentences(text)}
    lines = [(block.start, block.end) for block in blocks(text) if block.kind == "code"]
    code = [(start, end) for start, end in lines if not any(start <= at < end for at in prose)]
    return [*code, *(match.span() for match in _INLINE_CODE.finditer(text))]


def _inside(mark: Mark, offsets: Sequence[tuple[int, int]]) -> bool:
    return any(start <= mark.start < end for start, end in offsets)


def _citation(mark: Mark, response: str, sources: Sources, references: References) -> Citation:
    found = [_looked_up(ref, sources, references.entries) for ref in mark.refs]
    places = tuple(sorted({place for one, _ in found for place in one}))
    names = tuple(ref.text for ref in mark.refs)
    missing = tuple(name for name, (_, exists) in zip(names, found, strict=True) if not exists)
    each = tuple(one for ref, (own, _) in zip(mark.refs, found, strict=True) for one in _one_by_one(ref, own, sources))
    return Citation(
        Span.of(response, mark.start, mark.end), names, places, missing, places_by_number=each if len(each) > 1 else ()
    )


def _one_by_one(ref: Ref, places: tuple[int, ...], sources: Sources) -> list[tuple[int, ...]]:
    """The places of each source that a reference names: a range names one by each of its numbers."""
    if ref.kind != "number" or ref.low == ref.high:
        return [places]
    numbers = range(ref.low, min(ref.high, ref.low + MAX_RANGE) + 1)
    return [found for n in numbers if (found := sources.places(Ref("number", str(n), n, n)))]


def _looked_up(ref: Ref, sources: Sources, entries: Mapping[str, Entry]) -> tuple[tuple[int, ...], bool]:
    """The sources that a reference names, and whether all of it exists; by the answer's own list first."""
    label = str(ref.low) if ref.kind == "number" else ref.text.lstrip("^")
    entry = entries.get(label) if ref.low == ref.high else None
    if entry is None:
        return sources.places(ref), sources.is_complete(ref)
    refs, is_sure = entry_refs(entry.text, sources.knows)
    places = tuple(sorted({place for one in refs for place in sources.places(one)}))
    if places or is_sure:
        return places, bool(places)
    return sources.places(ref), sources.is_complete(ref)  # a title that no metadata holds leaves the label to itself


# ---- JSON


def _read_json_claim(
    claim: JsonClaim, response: str, sources: Sources, settings: CitationSettings, splitter: Splitter | None
) -> tuple[list[CitedStatement], list[Citation]]:
    read = _read_text(claim.text, sources, settings, splitter)
    beside = tuple(_of_field(citation, sources) for citation in claim.citations)
    has_marks = bool(read.citations)

    def placed(span: Span) -> Span:
        start = claim.span.start
        return Span.of(response, start + span.start, start + span.end) if claim.is_exact else claim.span

    statements = [
        CitedStatement(
            one.statement._replace(span=placed(one.statement.span), shares=not has_marks and len(read.statements) > 1),
            tuple(c._replace(span=placed(c.span)) for c in one.citations) if has_marks else beside,
            tuple(Quotation(placed(q.span), q.words) for q in one.quotations),
        )
        for one in read.statements
    ]
    return statements, [citation._replace(span=placed(citation.span)) for citation in read.citations]


def _of_field(citation: JsonCitation, sources: Sources) -> Citation:
    ref = ref_of(citation.name.strip("[]"), sources.knows) if citation.name else None
    places = sources.places(ref) if ref else ()
    names = (citation.name or "nothing",)
    return Citation(citation.span, names, places, () if ref and sources.is_complete(ref) else names, citation.quote)


# ---- references and footnotes


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
