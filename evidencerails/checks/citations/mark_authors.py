"""Citations by author and year."""

from __future__ import annotations

import re
from collections.abc import Iterator

from evidencerails.checks.citations.mark_types import AUTHORS_AND_YEARS, KnowsName, Mark, Ref

AUTHOR = r"(?:(?:van|von|de|der|den|di|da|del|la|le|al|el)\s+){0,2}[^\W\d_a-z][\w’'-]{1,40}"

_AUTHORS = rf"{AUTHOR}(?:(?:,\s+(?:and\s+|&\s*)?|\s+(?:and|&)\s+){AUTHOR}){{0,7}}(?:,?\s+et\s+al\.?)?"

YEAR = r"(?:1[5-9]|20)\d\d"

_AUTHOR_YEAR = re.compile(
    rf"(?:see(?:\s+also)?\s+|e\.g\.,?\s+|cf\.?\s+|also\s+)?(?P<authors>{_AUTHORS})(?P<comma>,)?\s+(?P<year>{YEAR})[a-z]?"
    r"(?:,?\s*(?:pp?\.?|ch\.?|sec\.?|§)\s*[\w–-]+)?"
)

_PARENTHESIS = re.compile(r"\(([^()\n]{6,300})\)")

_NOT_AUTHORS = frozenset(
    """january february march april may june july august september october november december spring summer autumn fall
    winter early late mid since until before after in from circa ca fig figure table chapter vol volume version edition
    monday tuesday wednesday thursday friday saturday sunday released published founded born died opened built
    q1 q2 q3 q4 fy est""".split()  # noqa: SIM905
)


def author_years(text: str, knows: KnowsName) -> Iterator[Mark]:
    """Citations in parentheses: "(Ortiz, 2019; Lee et al., 2020)"."""
    for match in _PARENTHESIS.finditer(text):
        refs = [author_year(part.strip()) for part in match[1].split(";")]
        if not all(refs):
            continue
        names_something = re.search(r"[^\W\d_a-z][\w’'-]*\s*$", text[max(0, match.start() - 40) : match.start()])
        is_sure = len(refs) > 1 or re.search(r"\bet\s+al\b|&|\band\b", match[1])
        if names_something and not is_sure and not knows(AUTHORS_AND_YEARS):  # "the Olympic Games (Barcelona, 1992)"
            continue
        yield Mark(match.start(), match.end(), tuple(r for r in refs if r), ((match.start(), match.end()),))


def author_year(part: str) -> Ref | None:
    """Author and year of one part of a parenthesis; None if it is none."""
    match = _AUTHOR_YEAR.fullmatch(part)
    if match is None:
        return None
    authors = match["authors"]
    if not match["comma"] and not re.search(r"\bet\s+al|&|\band\b", authors):
        return None
    names = _names(authors)
    if not names or names[0].lower() in _NOT_AUTHORS:
        return None
    return Ref("author_year", part, authors=names, year=match["year"])


def _names(authors: str) -> tuple[str, ...]:
    bare = re.sub(r",?\s+et\s+al\.?", "", authors)
    return tuple(name.strip() for name in re.split(r",\s+(?:and\s+|&\s*)?|\s+(?:and|&)\s+", bare) if name.strip())


REPORTING = (
    r"(?:found|finds|show(?:s|ed|n)?|report(?:s|ed)?|argu(?:es?|ed)|demonstrat(?:es?|ed)|conclud(?:es?|ed)|stat(?:es?|ed)|"
    r"not(?:es?|ed)|observ(?:es?|ed)|suggest(?:s|ed)?|claim(?:s|ed)?|writ(?:es?)|wrote|describ(?:es?|ed)|measur(?:es?|ed)|"
    r"estimat(?:es?|ed)|propos(?:es?|ed)|say(?:s)?|said|confirm(?:s|ed)?|explain(?:s|ed)?|mention(?:s|ed)?|"
    r"indicat(?:es?|ed)|establish(?:es|ed)?|reveal(?:s|ed)?)"
)

_SPOKEN = re.compile(rf"(?P<authors>{_AUTHORS})\s+\((?P<year>{YEAR})[a-z]?\)(?=,?\s+(?:\w+ly\s+)?{REPORTING}\b)")


def spoken(text: str, knows: KnowsName) -> Iterator[Mark]:
    """Sources that a sentence speaks of: "Ortiz (2019) found that ..."."""
    for match in _SPOKEN.finditer(text):
        names = _names(match["authors"])
        if names and names[0].lower() not in _NOT_AUTHORS:
            ref = Ref("author_year", match[0], authors=names, year=match["year"])
            year = (match.start("year") - 1, match.end())
            yield Mark(match.start(), match.end(), (ref,), (year,), is_spoken=True)
