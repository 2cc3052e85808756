"""Entities that must exist, by kind: papers, ids, and kinds of the user's own by a pattern or a function."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from evidencerails.checks.knowledge.base import callable_of
from evidencerails.errors import SettingsError
from evidencerails.report import Severity
from evidencerails.settings.knowledge import EntitySettings
from evidencerails.settings.problems import nearest

MAX_ENTITIES = 500
"""More entities of one kind in one response are not looked up; the result says so."""
PATTERN_TIMEOUT_S = 0.5
"""Seconds for a pattern of the user's on one text: it may backtrack without end."""


@dataclass(frozen=True)
class Entity:
    """One mention of something that must exist."""

    kind: str
    start: int
    end: int
    """Offsets in the text it was found in."""
    text: str
    """What is looked up; the mention itself unless the extractor gives a plainer form."""
    parts: Mapping[str, str] = field(default_factory=dict, compare=False, hash=False)
    """Named parts, such as the author and the year of a paper."""


Extract = Callable[[str], Iterable[Entity]]


class Kind(NamedTuple):
    """One kind of entity."""

    name: str
    extract: Extract
    severity: Severity
    is_folded: bool
    """Compare without case, accents and punctuation."""


def kind_of(name: str, settings: EntitySettings) -> Kind:
    """The kind of entity that these settings describe.

    Raises:
        SettingsError: it is no shipped kind and has neither a pattern nor a function.
    """
    extract, severity, is_folded = _extractor(name, settings)
    if settings.match is not None:
        is_folded = settings.match == "folded"
    return Kind(name, extract, settings.severity or severity, is_folded)


def _extractor(name: str, settings: EntitySettings) -> tuple[Extract, Severity, bool]:
    if settings.pattern is not None:
        return _by_pattern(name, settings.pattern), "high", False
    if settings.function is not None:
        return _by_function(name, callable_of(f"knowledge.entities.{name}.function", settings.function)), "high", False
    if name not in KINDS:
        raise SettingsError(
            f"knowledge.entities.{name}: unknown kind{nearest(name, KINDS)}; shipped: {', '.join(KINDS)}; give a "
            "'pattern' or a 'function' for one of your own"
        )
    return _SHIPPED[name]


def _by_pattern(name: str, pattern: str) -> Extract:
    import regex

    compiled = regex.compile(pattern)
    group = "value" if "value" in compiled.groupindex else 0

    def extract(text: str) -> Iterator[Entity]:
        for match in compiled.finditer(text, timeout=PATTERN_TIMEOUT_S, concurrent=True):
            if match[group]:
                start, end = match.span(group)
                yield Entity(name, start, end, match[group])

    return extract


def _by_function(name: str, function: Callable[[str], Any]) -> Extract:
    def extract(text: str) -> Iterator[Entity]:
        for found in function(text):
            if isinstance(found, Entity):
                yield found
                continue
            start, end = found
            if not (isinstance(start, int) and isinstance(end, int) and 0 <= start < end <= len(text)):
                raise ValueError(
                    f"knowledge.entities.{name}.function gave {found!r}; expected (start, end) in the text"
                )
            yield Entity(name, start, end, text[start:end])

    return extract


def without_overlaps(entities: Iterable[Entity]) -> list[Entity]:
    """Entities in order of place; of two of one kind that overlap, the longer."""
    kept: list[Entity] = []
    for entity in sorted(entities, key=lambda e: (e.start, e.start - e.end)):
        if not kept or entity.start >= kept[-1].end:
            kept.append(entity)
    return kept


_AUTHOR = r"(?:(?:van|von|der|den|de|del|di|da|la|le|el|al|bin|ten|ter)[ -]){0,3}[^\W\d_a-z][\w'’-]{0,30}[^\W\d_A-Z]"
"""A capital of any alphabet, and no acronym."""
_INITIALS = r"(?:,? (?:[^\W\d_a-z]\.[ -]?){1,3})?"
_OTHERS = rf"(?:,? et al\.?,?|(?:, {_AUTHOR}{_INITIALS}){{0,6}},? (?:and|&) {_AUTHOR}{_INITIALS})?"
_YEAR = r"(?:1[89]|20)\d\d[a-z]?\b"
_CITED = re.compile(
    rf"(?<![\w-])(?P<author>{_AUTHOR}){_INITIALS}(?P<others>{_OTHERS})(?P<gap>,? ?\(|, ?| )(?P<year>{_YEAR})"
    r"(?P<close>[)\]]?)"
)
"""Smith (2020) · Smith et al. (2020) · (Smith & Jones, 2020) · Smith, J. (2020) · (Smith 2020) · [Smith, 2020] ·
Smith et al. 2020"""
_POSSESSIVE = re.compile(
    rf"(?<![\w-])(?P<author>{_AUTHOR})(?:(?P<others>,? et al\.?)['’]s|['’]s)"
    rf" (?P<year>{_YEAR}) (?:paper|study|article|work|review|trial|survey|preprint|book|monograph|thesis)\b"
)
_DOI = re.compile(r"\b10\.\d{4,9}/[^\s\"<>\[\]{}|]{1,200}")
_ARXIV = re.compile(r"\barXiv:? ?(?P<id>\d{4}\.\d{4,5})(?:v\d+)?\b", re.IGNORECASE)
_WORK = r"paper|study|article|preprint|survey|report|monograph|thesis|dissertation|publication|trial|review|book"
_TITLE = re.compile(
    rf"\b(?:{_WORK})(?:,? (?:titled|entitled|called|named|on))?,?:? [\"“](?P<before>[^\"“”\n]{{8,250}})[\"”]"
    rf"|[\"“](?P<after>[^\"“”\n]{{8,250}})[\"”],?(?: by [^.;\n]{{3,80}}?)? \((?P<year>{_YEAR})\)"
)
_NO_AUTHOR = frozenset(
    """January February March April May June July August September October November December Monday Tuesday Wednesday
    Thursday Friday Saturday Sunday Spring Summer Autumn Fall Winter In On At By Since Until Before After During From
    The This That These Those Around About Circa Early Late Mid Act Acts Law Code Directive Regulation Version Edition
    Olympics Games Census Election Report Agreement Treaty Convention Protocol Section Article Chapter Part Table Figure
    Version Windows Office Company Inc Corp Ltd University Institute Conference Championship Championships Cup World
    Prize Award Awards Season Series Film Album Born Died Published Founded Established""".split()  # noqa: SIM905
)


def papers(text: str) -> Iterator[Entity]:
    """Papers, by author and year (which are their parts), DOI, arXiv id, or a quoted title that is called a paper."""
    yield from without_overlaps([*_identifiers(text), *_titles(text), *_citations(text)])


def _identifiers(text: str) -> Iterator[Entity]:
    for match in _DOI.finditer(text):
        doi = match[0].rstrip(".,;:!?'’*_)") if "(" not in match[0] else match[0].rstrip(".,;:!?'’*_")
        yield Entity("papers", match.start(), match.start() + len(doi), doi, {"doi": doi})
    for match in _ARXIV.finditer(text):
        yield Entity("papers", match.start(), match.end(), match["id"], {"arxiv": match["id"]})


def _titles(text: str) -> Iterator[Entity]:
    for match in _TITLE.finditer(text):
        group = "before" if match["before"] else "after"
        title = match[group].strip().rstrip(".,")
        parts = {"title": title, **({"year": match["year"]} if match["year"] else {})}
        yield Entity("papers", *match.span(group), title, parts)


def _citations(text: str) -> Iterator[Entity]:
    for pattern in (_CITED, _POSSESSIVE):
        for match in pattern.finditer(text):
            author = match["author"].split()[-1]  # lists sort "van der Meer" both ways
            if author in _NO_AUTHOR or (pattern is _CITED and not _is_cited(text, match)):
                continue
            year = match["year"][:4]
            is_opened_before = match[0].endswith((")", "]")) and "(" not in match[0]
            end = match.end() - is_opened_before
            yield Entity("papers", match.start(), end, f"{author} {year}", {"author": author, "year": year})


def _is_cited(text: str, match: re.Match[str]) -> bool:
    """Brackets make a citation: "Smith (2020)", "(Smith, 2020)"; without them only others do: "Smith et al., 2020".

    Without a comma it takes more, since places have years too: "et al.", or a bracket that holds nothing before it.
    """
    if "(" in match["gap"]:
        return bool(match["close"]) or bool(match["others"])
    before, after = text[max(0, match.start() - 200) : match.start()], text[match.end() : match.end() + 1]
    is_last = bool(match["close"]) or after in (";", ",", ":")
    if match["gap"] == " ":
        is_first = re.search(r"(?:[(\[]|; ?)(?:see |cf\.? |e\.g\.,? )?$", before[-12:])
        return "et al" in match["others"] or bool(is_first and is_last)
    return bool(match["others"]) or (bool(_OPENED.search(before)) and (is_last or not after))


_OPENED = re.compile(r"(?:\([^()]*|\[[^\[\]]*)$")
"""An open bracket at the end of a text."""
_CALLED_ID = (
    r"order|invoice|ticket|case|user|customer|account|product|item|transaction|reference|tracking|booking|reservation|"
    r"claim|policy|employee|student|patient|member|part|serial|shipment|contract|request|incident|job|task|issue|device"
)
_IDS = (
    re.compile(r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"),
    re.compile(r"\bCVE-\d{4}-\d{4,7}\b"),
    re.compile(r"\bISBN(?:-1[03])?:? ?(?P<value>97[89][- ]?(?:\d[- ]?){9}\d|(?:\d[- ]?){9}[\dX])\b"),
    re.compile(r"\b[a-z]{2,10}_(?=\w{0,40}\d)[A-Za-z0-9]{2,40}\b"),
    re.compile(
        r"\b(?!(?:CVE|ISO|IEC|RFC|UTF|SHA|MD|COVID|IPv|IEEE|DIN|EN|HTTP|GPT|MP|AES|RSA|ISBN|USB)-)[A-Z]{2,6}-(?=[A-Z0-9-]{0,30}\d)[A-Z0-9]{2,12}(?:-[A-Z0-9]{1,12}){0,3}\b"
    ),
    re.compile(
        rf"\b(?:{_CALLED_ID})(?: (?:id|number|no\.|code|key))?:? ?(?:is |#|№ ?)?\"?"
        r"(?P<value>(?=[\w-]{0,40}\d)[A-Za-z0-9][\w-]{2,40})\b",
        re.IGNORECASE,
    ),
    re.compile(r"(?<!\w)#(?P<value>\d{3,12})\b"),
)
_NO_ID = re.compile(
    r"(?:1[5-9]|20)\d\d|\d{1,3}(?:st|nd|rd|th|s|x|k|m|%)?|\d{1,2}-\w+|[A-Za-z]+-\d{1,2}|\d+-(?:day|year|month|hour|week)\w*"
)


def ids(text: str) -> Iterator[Entity]:
    """Ids: UUIDs, prefixed ids (`usr_4f9`, `ORD-10234`), CVE numbers, ISBNs, and numbers that a word calls an id."""
    found = []
    for pattern in _IDS:
        group = "value" if "value" in pattern.groupindex else 0
        for match in pattern.finditer(text):
            if group == 0 or not _NO_ID.fullmatch(match[group]):
                found.append(Entity("ids", *match.span(group), match[group]))
    yield from without_overlaps(found)


_SHIPPED: Mapping[str, tuple[Extract, Severity, bool]] = {
    "papers": (papers, "high", True),
    "ids": (ids, "high", False),
}
"""Extractor, severity and way of comparison of each kind that is shipped."""
KINDS = tuple(_SHIPPED)
