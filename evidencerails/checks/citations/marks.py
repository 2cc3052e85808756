"""Citations in a text: where they stand and what they name. Every pattern is linear in the length of the text.

Read are `[1]`, `[1, 2]`, `[1-3]`, `[^1]`, `[doc-id]`, `(Source: name)`, `(Author, 2020)`, `Author (2020) found`, URLs,
markdown links and DOIs. Left alone are brackets that cite nothing: indices and vectors in code or prose, `[sic]`, check
boxes, years, images, links inside the page.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

RefKind = Literal["number", "name", "author_year", "url", "doi"]

MAX_BRACKET = 300
"""Characters of the longest bracket that is read as a citation."""


class Ref(NamedTuple):
    """One thing that a citation names."""

    kind: RefKind
    text: str
    low: int = 0
    high: int = 0
    """A number, or a range of them (`low` to `high`, both included), whatever its length."""
    authors: tuple[str, ...] = ()
    year: str = ""


class Mark(NamedTuple):
    """One citation in a text."""

    start: int
    end: int
    refs: tuple[Ref, ...]
    hidden: tuple[tuple[int, int], ...]
    """What is no part of the sentence it stands in: all of it, or a link without its words."""
    is_spoken: bool = False
    """True if the sentence speaks of its source by name: "Ortiz (2019) found that ..."."""


def _mark(start: int, end: int, *refs: Ref) -> Mark:
    """A citation that is no part of its sentence."""
    return Mark(start, end, refs, ((start, end),))


KnowsName = Callable[[str], bool]
"""Whether a name is that of a source, or has the shape of one."""

AUTHORS_AND_YEARS = "(author, year)"
"""The shape of name that is asked for where "(Barcelona, 1992)" may be a citation or the place and year of a thing."""


# ---- addresses

_LINK = re.compile(
    rf"(!?)\[([^\[\]\n]{{1,{MAX_BRACKET}}})\]\(<?((?:[^()\s<>]|\([^()\s<>]{{0,100}}\)){{1,2000}})>?(?:\s+\"[^\"\n]{{0,200}}\")?\)"
)
_ADDRESS = re.compile(
    r"(?<![\w@])(?:https?://|www\.)[^\s<>\[\]\"'“”‘’`{}|\\^]{3,2000}"
    r"|(?<![\w/.])(?:doi:?\s{0,2})?10\.\d{4,9}/[^\s\"<>\[\]{}]{1,300}",
    re.IGNORECASE,
)
_TRAILING = ".,;:!?'\"*_”’"
_LABEL_ONLY = re.compile(
    r"\W*(?:\^?\d{1,4}|source|link|ref|reference|here|see|cite|citation|url|doi)\W*", re.IGNORECASE
)


def links(text: str, knows: KnowsName) -> Iterator[Mark]:
    """Markdown links, with their words left to the sentence; images, which cite nothing."""
    for match in _LINK.finditer(text):
        start, end = match.span()
        if match[1]:  # an image
            yield Mark(start, end, (), ())
            continue
        target = match[3]
        refs = (address_of(target),) if is_address(target) else (Ref("name", target),) if knows(target) else ()
        is_label = _LABEL_ONLY.fullmatch(match[2]) is not None
        yield Mark(start, end, refs, ((start, end),) if is_label else ((start, match.start(2)), (match.end(2), end)))


def is_address(target: str) -> bool:
    """True for what begins as a URL or DOI does."""
    return re.match(r"https?://|www\.|doi:|10\.\d{4,9}/", target, re.IGNORECASE) is not None


def address_of(target: str) -> Ref:
    """The URL or DOI of an address."""
    doi = re.search(r"10\.\d{4,9}/.+", target)
    is_doi = doi is not None and re.match(r"(?:https?://)?(?:dx\.)?doi\.org/|doi\b|10\.", target, re.IGNORECASE)
    return Ref("doi", doi[0]) if doi and is_doi else Ref("url", target)


def addresses(text: str, knows: KnowsName) -> Iterator[Mark]:
    """Bare URLs and DOIs, without the punctuation of their sentence."""
    for match in _ADDRESS.finditer(text):
        target = _trimmed(match[0])
        start, end = match.start(), match.start() + len(target)
        if text[max(0, start - 1) : start] + text[end : end + 1] in ("<>", "()"):
            start, end = start - 1, end + 1
        yield _mark(start, end, address_of(target))


def _trimmed(address: str) -> str:
    """The address without the punctuation of its sentence, and without a bracket that it does not open."""
    while address and (address[-1] in _TRAILING or (address[-1] == ")" and address.count(")") > address.count("("))):
        address = address[:-1]
    return address


# ---- authors and years

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
        yield _mark(*match.span(), *(ref for ref in refs if ref))


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


# ---- brackets

_BRACKET = re.compile(rf"\[\[?\s*([^\[\]\n]{{1,{MAX_BRACKET}}}?)\s*\]\]?|【\s*(\d{{1,4}})(?:†[^】\n]{{0,100}})?】")
_LABEL = (
    r"(?:sources?|refs?|references?|docs?|documents?|passages?|evidence|chunks?|citations?|cite|contexts?|"
    r"articles?|no|id)"
)
_NUMBER_ITEM = re.compile(
    rf"(?:{_LABEL}\s*[.:#]?\s*|\^|#)?(\d{{1,9}})(?:\s*(?:-|–|—|\.\.|to)\s*(?:{_LABEL}\s*)?(\d{{1,9}}))?", re.IGNORECASE
)
_LOCATION = re.compile(
    r"(?:,\s*|\s+|:\s*)(?:pp?|pages?|§+|sec|sections?|ch|chapters?|para|lines?)\.?\s*[\d–-]+$|†.*$", re.IGNORECASE
)
_PREFIX = re.compile(rf"(?:{_LABEL}|see|cf\.?|from|e\.g\.,?)\s*[:#]?\s+|{_LABEL}:", re.IGNORECASE)
_DATA_BEFORE = re.compile(
    r"(?:[=\[{<+\\]|\b(?:list|lists|array|vector|tuple|matrix|range|interval|set|sequence|values?|index|"
    r"indices|coordinates?|between|within|element|slice|input|output|returns?|prints?))\s*$",
    re.IGNORECASE,
)
_EDITORIAL = frozenset(
    """sic emphasis added mine ours omitted redacted note nb ed eds citation needed edit link image figure table todo
    tbd placeholder name date insert applause laughter inaudible unclear who when whom x""".split()  # noqa: SIM905
)
_YEARS = range(1500, 2101)


def brackets(text: str, knows: KnowsName) -> Iterator[Mark]:
    """Citations in square brackets: numbers, ranges, ids, names."""
    for match in _BRACKET.finditer(text):
        inner = match[1] or match[2]
        refs = _bracket_refs(inner, knows)
        if refs and not _is_data(text, match, refs, knows):
            yield _mark(*match.span(), *refs)


def _bracket_refs(inner: str, knows: KnowsName) -> tuple[Ref, ...]:
    """What a bracket names; empty if it names nothing."""
    if knows(inner) and not _NUMBER_ITEM.fullmatch(inner):
        return (Ref("name", inner),)
    refs: list[Ref] = []
    for item in re.split(r"\s*[,;]\s*|\s+(?:and|&)\s+", _LOCATION.sub("", inner)):
        ref = _item_ref(item.strip(), knows)
        if ref is None:
            return ()
        refs.append(ref)
    return tuple(refs)


def _item_ref(item: str, knows: KnowsName) -> Ref | None:
    item = _LOCATION.sub("", item)
    number = _NUMBER_ITEM.fullmatch(item)
    if number:
        first = int(number[1])
        last = int(number[2]) if number[2] else first
        return Ref("number", item, min(first, last), max(first, last))
    if knows(item):
        return Ref("name", item)
    bare = _PREFIX.sub("", item, count=1)
    if bare != item and (is_address(bare) or knows(bare)):
        return address_of(bare) if is_address(bare) else Ref("name", bare)
    if author_year(item) is not None:
        return author_year(item)
    return Ref("name", bare) if _looks_like_id(bare) else None


def ref_of(name: str, knows: KnowsName) -> Ref:
    """What a bare name refers to: "2", "doc-3", "https://...", "Ortiz, 2019"; any other text is a name."""
    return address_of(name) if is_address(name) else _item_ref(name, knows) or Ref("name", name)


def _looks_like_id(item: str) -> bool:
    """True for what nothing else than an id looks like: no spaces, letters and digits or a file's ending."""
    if " " in item or len(item) < 2 or item.lower() in _EDITORIAL:
        return False
    has_both = re.search(r"\d", item) is not None and re.search(r"[^\W\d_]", item) is not None
    is_file = re.fullmatch(r"[\w./-]+\.(?:pdf|md|txt|html?|docx?|csv|json|xml)(?:#[\w-]+)?", item, re.IGNORECASE)
    return bool(is_file) or (has_both and re.fullmatch(r"\^?[\w.:/#-]+", item) is not None)


def _is_data(text: str, match: re.Match[str], refs: tuple[Ref, ...], knows: KnowsName) -> bool:
    """True for brackets that hold data: an index, a vector, an interval, a year that an editor put in."""
    numbers = [ref for ref in refs if ref.kind == "number"]
    if not numbers:
        return False
    before, after = text[max(0, match.start() - 24) : match.start()], text[match.end() : match.end() + 2]
    if len(numbers) == 1 and numbers[0].low in _YEARS and numbers[0].text.isdigit():
        return not knows(numbers[0].text)
    if after[:1] in ("(", "=") or (after[:1] == "[" and numbers[0].low == 0):
        return True
    if before[-1:] == "]":  # [1][2]: as the bracket before it
        return False
    if _DATA_BEFORE.search(before):
        return True
    if numbers[0].low == 0:
        return len(refs) > 1 or before[-1:].isalnum() or before[-1:] == "_"
    return len(refs) == 1 and _is_index(before, after)


def _is_index(before: str, after: str) -> bool:
    """True for `items[3] is`, but not for `in Paris[3].` or `in Paris[3] and`."""
    word = re.search(r"[\w.]+$", before)
    if word is None:
        return False
    is_code_name = re.search(r"_|\w\.\w|^[a-z]$|^arr|[a-z][A-Z]", word[0].rstrip(".")) is not None
    return is_code_name or (after[:1] == "." and after[1:2].isalpha())


_RAISED = r"[¹²³⁴-⁹][⁰¹²³⁴-⁹]{0,2}"
_SUPERSCRIPT = re.compile(
    rf"(?:(?<=[.,;:!?)”\"])|(?<=[^\W\d_]{{3}})){_RAISED}(?:[⁻˒, ]{{0,2}}{_RAISED}){{0,8}}(?![\w⁰¹²³⁴-⁹])"
)
_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")


def superscripts(text: str, knows: KnowsName) -> Iterator[Mark]:
    """Raised numbers behind a word or a full stop; not those of a unit, "km²"."""
    for match in _SUPERSCRIPT.finditer(text):
        numbers = [(n.translate(_DIGITS), int(n.translate(_DIGITS))) for n in re.findall(r"[⁰¹²³⁴-⁹]+", match[0])]
        yield _mark(*match.span(), *(Ref("number", digits, number, number) for digits, number in numbers))


_IN_PARENTHESES = re.compile(
    r"\((?:(?P<labelled>(?:sources?|refs?|references?|cited from|citing|quoted from|via)\s*:\s*[^()\n]{1,200})"
    r"|(?P<id>[\w.:/#-]{2,60}))\)",
    re.IGNORECASE,
)
_SOURCE_LABEL = re.compile(r"^[^:]{1,20}:\s*")


def named_in_parentheses(text: str, knows: KnowsName) -> Iterator[Mark]:
    """Whatever stands behind "Source:" is meant as a source; alone between parentheses only the id of one is."""
    for match in _IN_PARENTHESES.finditer(text):
        if match["id"] and (match["id"].isdigit() or not knows(match["id"])):
            continue
        named = match["id"] or _SOURCE_LABEL.sub("", match["labelled"])
        items = [item.strip() for item in named.split(";") if item.strip()]
        refs = tuple(ref_of(item, knows) for item in items)
        if refs:
            yield _mark(*match.span(), *refs)


# ---- all of them


def find_marks(text: str, knows: KnowsName) -> list[Mark]:
    """The citations of a text in order, none inside another."""
    found: list[Mark] = []
    taken: list[tuple[int, int]] = []
    for finder in (links, addresses, brackets, superscripts, named_in_parentheses, author_years, spoken):
        for mark in finder(text, knows):
            if not _overlaps(mark, taken):
                found.append(mark)
        taken = sorted((mark.start, mark.end) for mark in found)
    return sorted(found, key=lambda mark: mark.start)


def _overlaps(mark: Mark, taken: list[tuple[int, int]]) -> bool:
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
