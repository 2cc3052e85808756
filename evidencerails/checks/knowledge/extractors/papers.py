"""Papers: author and year, DOI, arXiv id, or a quoted title that is called a paper."""

from __future__ import annotations

import re
from collections.abc import Iterator

from evidencerails.checks.knowledge.entities import Entity, without_overlaps

_NAME = r"(?:(?:van|von|der|den|de|del|di|da|la|le|el|al|bin|ten|ter)[ -]){0,3}[A-Z][\w'’-]{0,30}[a-z]"
_INITIALS = r"(?:,? (?:[A-Z]\.[ -]?){1,3})?"
_OTHERS = rf"(?:,? et al\.?,?|(?:, {_NAME}{_INITIALS}){{0,6}},? (?:and|&) {_NAME}{_INITIALS})?"
_YEAR = r"(?:1[89]|20)\d\d[a-z]?\b"
_CITED = re.compile(
    rf"(?<![\w-])(?P<author>{_NAME}){_INITIALS}(?P<others>{_OTHERS})(?P<gap>,? ?\(|, ?| )(?P<year>{_YEAR})"
    r"(?P<close>\)?)"
)
"""Smith (2020) · Smith et al. (2020) · (Smith & Jones, 2020) · Smith, J. (2020) · (Smith 2020) · Smith et al. 2020"""
_POSSESSIVE = re.compile(
    rf"(?<![\w-])(?P<author>{_NAME})(?:(?P<others>,? et al\.?)['’]s|['’]s)"
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
    """The papers that a text names; those named by author and year have these as parts."""
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
            end = match.end() - (match[0].endswith(")") and "(" not in match[0])  # that bracket was opened before
            yield Entity("papers", match.start(), end, f"{author} {year}", {"author": author, "year": year})


def _is_cited(text: str, match: re.Match[str]) -> bool:
    """Brackets make a citation: "Smith (2020)", "(Smith, 2020)"; without them only others do: "Smith et al., 2020".

    Without a comma it takes more, since places have years too: "et al.", or a bracket that holds nothing before it.
    """
    if "(" in match["gap"]:
        return bool(match["close"]) or bool(match["others"])
    if match["gap"] == " ":
        is_first = re.search(r"(?:\(|; ?)(?:see |cf\.? |e\.g\.,? )?$", text[max(0, match.start() - 12) : match.start()])
        is_last = bool(match["close"]) or text[match.end() : match.end() + 1] in (";", ",")
        return "et al" in match["others"] or bool(is_first and is_last)
    inside = text.rfind("(", max(0, match.start() - 200), match.start())
    is_in_brackets = inside >= 0 and ")" not in text[inside : match.start()]
    return bool(match["others"]) or bool(
        is_in_brackets and (match["close"] or text[match.end() : match.end() + 1] in (";", ",", ""))
    )
