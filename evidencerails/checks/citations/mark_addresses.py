"""Citations by address: markdown links, URLs, DOIs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from evidencerails.checks.citations.mark_types import MAX_BRACKET, KnowsName, Mark, Ref

_LINK = re.compile(
    rf"(!?)\[([^\[\]\n]{{1,{MAX_BRACKET}}})\]\(<?((?:[^()\s<>]|\([^()\s<>]{{0,100}}\)){{1,2000}})>?(?:\s+\"[^\"\n]{{0,200}}\")?\)"
)

_URL = re.compile(r"(?<![\w@])(?:https?://|www\.)[^\s<>\[\]\"'“”‘’`{}|\\^]{3,2000}", re.IGNORECASE)

_DOI = re.compile(r"(?<![\w/.])(?:doi:?\s{0,2})?10\.\d{4,9}/[^\s\"<>\[\]{}]{1,300}", re.IGNORECASE)

_TRAILING = ".,;:!?'\"*_”’"

_LABEL_ONLY = re.compile(
    r"\W*(?:\^?\d{1,4}|source|link|ref|reference|here|see|cite|citation|url|doi)\W*", re.IGNORECASE
)


def links(text: str, knows: KnowsName) -> Iterator[Mark]:
    """Markdown links, with their words left to the sentence; images, which cite nothing."""
    for match in _LINK.finditer(text):
        target = match[3]
        if match[1]:  # an image
            yield Mark(match.start(), match.end(), (), ())
            continue
        refs = (address_of(target),) if is_address(target) else (Ref("name", target),) if knows(target) else ()
        is_label = _LABEL_ONLY.fullmatch(match[2]) is not None
        inside = ((match.start(), match.start(2)), (match.end(2), match.end()))
        yield Mark(match.start(), match.end(), refs, ((match.start(), match.end()),) if is_label else inside)


def is_address(target: str) -> bool:
    """True for what begins as a URL or DOI does."""
    return re.match(r"https?://|www\.|doi:|10\.\d{4,9}/", target, re.IGNORECASE) is not None


def address_of(target: str) -> Ref:
    """The URL or DOI of an address."""
    doi = re.search(r"10\.\d{4,9}/.+", target)
    is_doi = doi is not None and re.match(r"(?:https?://)?(?:dx\.)?doi\.org/|doi:|10\.", target, re.IGNORECASE)
    return Ref("doi", doi[0]) if doi and is_doi else Ref("url", target)


def urls(text: str, knows: KnowsName) -> Iterator[Mark]:
    """Bare URLs, without the punctuation of their sentence."""
    for match in _URL.finditer(text):
        target = _trimmed(match[0])
        start, end = match.start(), match.start() + len(target)
        if text[start - 1 : start] in ("<", "(") and text[end : end + 1] in (">", ")"):
            start, end = start - 1, end + 1
        yield Mark(start, end, (address_of(target),), ((start, end),))


def dois(text: str, knows: KnowsName) -> Iterator[Mark]:
    """Bare DOIs."""
    for match in _DOI.finditer(text):
        shown = _trimmed(match[0])
        start, end = match.start(), match.start() + len(shown)
        doi = shown[shown.index("10.") :]
        if text[start - 1 : start] == "(" and text[end : end + 1] == ")":
            start, end = start - 1, end + 1
        yield Mark(start, end, (Ref("doi", doi),), ((start, end),))


def _trimmed(address: str) -> str:
    """The address without the punctuation of its sentence, and without a bracket that it does not open."""
    while address and (address[-1] in _TRAILING or (address[-1] == ")" and address.count(")") > address.count("("))):
        address = address[:-1]
    return address
