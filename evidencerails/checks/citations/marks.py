"""Citations in a text: where they stand and what they name. Every pattern is linear in the length of the text.

Read are `[1]`, `[1, 2]`, `[1-3]`, `[^1]`, `[doc-id]`, `(Source: name)`, `(Author, 2020)`, `Author (2020) found`, URLs,
markdown links and DOIs. Left alone are brackets that cite nothing: indices and vectors in code or prose, `[sic]`, check
boxes, years, images, links inside the page.
"""

from __future__ import annotations

import re

from evidencerails.checks.citations.mark_addresses import dois, links, urls
from evidencerails.checks.citations.mark_authors import AUTHOR, YEAR, author_years, spoken
from evidencerails.checks.citations.mark_brackets import brackets, named_in_parentheses, ref_of, superscripts
from evidencerails.checks.citations.mark_types import KnowsName, Mark, Ref


def find_marks(text: str, knows: KnowsName) -> list[Mark]:
    """The citations of a text in order, none inside another."""
    found: list[Mark] = []
    taken: list[tuple[int, int]] = []
    for finder in (links, urls, dois, brackets, superscripts, named_in_parentheses, author_years, spoken):
        for mark in finder(text, knows):
            if not _overlaps(mark, taken):
                found.append(mark)
        taken = sorted((mark.start, mark.end) for mark in found)
    return sorted(found, key=lambda mark: mark.start)


def _overlaps(mark: Mark, taken: list[tuple[int, int]]) -> bool:
    from bisect import bisect_left

    place = bisect_left(taken, (mark.end, 0))
    return place > 0 and taken[place - 1][1] > mark.start


def hidden_text(text: str, offsets: list[tuple[int, int]]) -> str:
    """The text with these character ranges blanked out, every other character where it was; line breaks stay."""
    out, at = [], 0
    for start, end in sorted(offsets):
        start = max(start, at)
        if start >= end:
            continue
        out += [text[at:start], re.sub(r"[^\n]", " ", text[start:end])]
        at = end
    return "".join([*out, text[at:]])


_ENTRY_AUTHOR = re.compile(
    rf"(?P<author>{AUTHOR})(?P<sure>,\s+[^\W\d_a-z]\.|\s+et\s+al\b)?[^()\n\d]{{0,160}}?\(?(?P<year>{YEAR})[a-z]?\)?(?!\d)"
)


def entry_refs(entry: str, knows: KnowsName) -> tuple[tuple[Ref, ...], bool]:
    """What an entry of a reference list names, and whether it is sure to name something: an address, an id, an author
    with initials and a year. An entry that is a mere title may be one that nothing else holds."""
    named = tuple(ref for mark in find_marks(entry, knows) for ref in mark.refs)
    if named:
        return named, True
    match = _ENTRY_AUTHOR.match(entry)
    if match is None:
        return (ref_of(entry.strip(' .*_"“”'), knows),), False
    ref = Ref("author_year", match[0], authors=(match["author"],), year=match["year"])
    return (ref,), match["sure"] is not None
