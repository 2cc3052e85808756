"""Which claim a citation stands for: the sentences of an answer, each with the citations that it rests on."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from evidencerails.checks.citations.marks import REPORTING, Mark, hidden_text
from evidencerails.exchange import Span
from evidencerails.text.claimable import clean
from evidencerails.text.claims import ExtractedClaim, extract_claims
from evidencerails.text.sentences import Splitter
from evidencerails.text.verbs import first_verb

MAX_POINTER = 160
"""Characters of the longest pointer ("For more information see")."""
MIN_CLAIM_WORDS = 2
"""What is left of a sentence without its citations has at least so many words, or it claims nothing."""


_WORD = re.compile(r"\w")
_BEHIND_LIST_MARK = re.compile(r"[^\s\-*•>|]")


class Statement(NamedTuple):
    """A sentence, or a part of one with a citation of its own."""

    span: Span
    text: str
    """Its wording without citations and without "according to"."""
    parts: tuple[str, ...]
    """The claims it was taken apart into, if there are several."""
    marks: tuple[Mark, ...]
    restates: bool = False
    """True if it says that it gives a source's own words or content."""
    shares: bool = False
    """True if its citations are those of other sentences too, so that each of them need not support it."""


def statements_of(
    response: str,
    marks: Sequence[Mark],
    hidden: Sequence[tuple[int, int]],
    *,
    paragraphs: bool,
    splitter: Splitter | None = None,
) -> list[Statement]:
    """The statements of an answer that make a claim, in order.

    A citation belongs to the sentence it stands in; after a full stop to the sentence before; at the head of a line to
    the sentence that follows. Of several citations in a sentence each covers the claims before it, if the sentence can
    be taken apart there. A mere pointer ("Source: [1]") passes its citations on to the sentence before.

    Args:
        hidden: offsets besides the marks that are not part of the answer's sentences.
        paragraphs: a citation also covers the sentences before it in its paragraph that have none.
    """
    blank = [offsets for mark in marks for offsets in mark.hidden]
    text = hidden_text(response, [*blank, *hidden])
    sentences = _sentences(text, splitter)
    owners = _owners(text, [group[0].sentence for group in sentences], marks)
    found: list[Statement] = []
    for group, own in zip(sentences, owners, strict=True):
        if is_pointer(group[0].sentence.text):
            if found and not found[-1].marks:
                found[-1] = found[-1]._replace(marks=tuple(own))
            continue
        if _claims_something(group[0].sentence.text):
            found += _split(response, group, own)
    return _with_paragraphs(response, found) if paragraphs else found


def _sentences(text: str, splitter: Splitter | None) -> list[list[ExtractedClaim]]:
    """The claims of the text, sentence by sentence."""
    groups: dict[tuple[int, int], list[ExtractedClaim]] = {}
    for claim in extract_claims(text, splitter):
        groups.setdefault((claim.sentence.start, claim.sentence.end), []).append(claim)
    return [groups[key] for key in sorted(groups)]


def _owners(text: str, sentences: Sequence[Span], marks: Sequence[Mark]) -> list[list[Mark]]:
    """The marks of each sentence. `text` has blanks where the marks stand."""

    @cache  # one line, and one place, may have thousands of citations
    def first_word(place: int, pattern: re.Pattern[str] = _WORD) -> int:
        found = pattern.search(text, place)
        return found.start() if found else len(text)

    def line_of(place: int) -> int:
        return text.rfind("\n", 0, place) + 1

    owners: list[list[Mark]] = [[] for _ in sentences]
    starts = [sentence.start for sentence in sentences]
    for mark in marks:
        before = bisect_right(starts, mark.start) - 1
        following, line = before + 1, line_of(mark.start)
        if before >= 0 and mark.start < sentences[before].end:
            owners[before].append(mark)
        elif (
            following < len(sentences)
            and line == line_of(starts[following])
            and mark.start < first_word(line, _BEHIND_LIST_MARK)
        ):
            owners[following].append(mark)
        elif before >= 0:
            end = sentences[before].end
            pointer = mark.start - end <= MAX_POINTER and is_pointer(text[end : mark.start])
            is_bare = pointer or first_word(end) >= mark.start
            if is_bare and text.count("\n", end, mark.start) <= 2:
                owners[before].append(mark)
    return owners


def _split(response: str, group: Sequence[ExtractedClaim], marks: Sequence[Mark]) -> list[Statement]:
    """The statements of one sentence: one for each of its citations, if they separate its claims."""
    sentence = group[0].sentence
    bounds = _places(response, marks)
    if len(bounds) > 1 and len(group) > 1:
        shares: list[list[ExtractedClaim]] = [[] for _ in bounds]
        for claim in group:
            place = next((n for n, bound in enumerate(bounds) if claim.span.end <= bound[0].end), len(bounds) - 1)
            shares[place].append(claim)
        if all(shares) and len(group) == sum(map(len, shares)):
            return [
                _statement(response, share, tuple(bound), share[0].span.start, share[-1].span.end)
                for share, bound in zip(shares, bounds, strict=True)
            ]
    if len(bounds) > 1 and len(group) == 1 and (cut := _cut_at_marks(response, group[0], bounds)):
        return cut
    return [_statement(response, group, tuple(marks), sentence.start, sentence.end)]


_CONNECTIVE = re.compile(
    r"(?P<sign>[\s,;]*)(?P<word>(?:and|but|while|whereas|although|however|yet|so)\b,?)?\s*", re.IGNORECASE
)
MIN_PIECE_WORDS = 4
"""Words of a piece behind "; " or ", and" in which no verb is seen that may still be a clause of its own."""


def _cut_at_marks(response: str, claim: ExtractedClaim, bounds: Sequence[Sequence[Mark]]) -> list[Statement]:
    """A sentence that no rule takes apart, cut behind its citations; empty unless each piece reads as a clause."""
    at = claim.sentence.start
    found: list[Statement] = []
    for bound in bounds:
        joint = _CONNECTIVE.match(response, at, bound[0].start) if found else None
        start = joint.end() if joint else at
        text = tidy(clean(response[start : bound[0].start]))
        is_joined = joint is None or ";" in joint["sign"] or ("," in joint["sign"] and bool(joint["word"]))
        if not _is_clause(text, is_joined):
            return []
        found.append(Statement(Span.of(response, start, bound[-1].end), _capital(text), (), tuple(bound)))
        at = bound[-1].end
    return [] if re.search(r"\w", response[at : claim.sentence.end]) else found


def _is_clause(text: str, is_joined: bool) -> bool:
    """True for words with a verb behind a subject, and for enough words behind a sign that joins clauses."""
    first, _, rest = text.partition(" ")
    if first[:1].islower() and first_verb(first) == 0:  # "was closed": its subject stands before the citation
        return False
    if first_verb(rest) is not None:
        return True
    return is_joined and len(text.split()) >= MIN_PIECE_WORDS


def _places(response: str, marks: Sequence[Mark]) -> list[list[Mark]]:
    """The marks, those that stand together as one: "[1][2]"."""
    places: list[list[Mark]] = []
    for mark in marks:
        if places and not re.search(r"\w", response[places[-1][-1].end : mark.start]):
            places[-1].append(mark)
        else:
            places.append([mark])
    return places


def _statement(
    response: str, group: Sequence[ExtractedClaim], marks: tuple[Mark, ...], start: int, end: int
) -> Statement:
    is_whole = (start, end) == (group[0].sentence.start, group[0].sentence.end)
    is_row = is_whole and group[0].sentence.text.lstrip().startswith("|")
    texts = tuple(tidy(claim.text) for claim in group)
    raw = tidy(clean(group[0].sentence.text)) if is_whole and not is_row else " ".join(texts)
    spoken = any(mark.is_spoken for mark in marks)
    text, restates = without_attribution(raw, spoken=spoken)
    parts = texts if len(texts) > 1 and not restates else ()
    return Statement(Span.of(response, start, end), text, parts, marks, restates)


def _with_paragraphs(response: str, found: list[Statement]) -> list[Statement]:
    covered = list(found)
    for place in range(len(found) - 2, -1, -1):
        here, after = covered[place], covered[place + 1]
        if not here.marks and "\n" not in response[here.span.end : after.span.start]:
            covered[place] = here._replace(marks=after.marks, shares=True)
            covered[place + 1] = after._replace(shares=True)
    return covered


_POINTER = re.compile(
    r"\W*(?:(?:see|source|sources|reference|references|read more|learn more|more|link|via|cf|visit|for details|"
    r"for (?:more|further|full) (?:information|details|reading)|further reading|"
    r"you can (?:find|read) (?:more|it|this))\b[\w\s,]{0,60}[:.]?\W*)",
    re.IGNORECASE,
)


def is_pointer(sentence: str) -> bool:
    """True for a sentence that only says where to look."""
    return _POINTER.fullmatch(clean(sentence)) is not None


def _claims_something(sentence: str) -> bool:
    words = re.findall(r"[\u2e80-\u9fff]|\w+", clean(sentence))  # Chinese and Japanese set no space between words
    return len(words) >= MIN_CLAIM_WORDS or re.search(r"\d", sentence) is not None


def tidy(text: str) -> str:
    """The text without what a citation that was taken out leaves behind."""
    text = re.sub(r"\(\s*(?:see|cf\.?|e\.g\.,?|source|sources)?\s*:?\s*[,;]*\s*\)", "", text, flags=re.IGNORECASE)
    text = re.sub(r"\s+([.,;:!?])", r"\1", text)
    text = re.sub(r"([,;])(?=[.,;!?])", "", text)
    return re.sub(r"\s{2,}", " ", text).strip(" ,;")


_ACCORDING = re.compile(
    r"^(?:according to|as (?:stated|shown|noted|described|reported|mentioned|explained|said|seen|given) (?:in|by)|"
    r"as per|per|based on|in|from|by)\b(?P<who>[^,\n]{0,60}),\s+(?=\w)",
    re.IGNORECASE,
)
_SOURCE_WORD = (
    r"(?:source|document|doc|passage|article|paper|report|study|text|reference|page|site|website|handbook|manual|policy|"
    r"context|evidence|guide)s?"
)
_IT_SAYS = re.compile(
    rf"^(?:(?:(?:the|this|that|both)\s+)?(?:[\w-]+\s+){{0,2}}{_SOURCE_WORD}\s+(?:also\s+|explicitly\s+|clearly\s+)?)?{REPORTING}"
    r"(?:\s+that)?\s*[:,]?\s+(?=\S)",
    re.IGNORECASE,
)
_SPOKEN_SAYS = re.compile(rf"^[^.,;:\n]{{1,120}}?,?\s+(?:\w+ly\s+)?{REPORTING}(?:\s+that)?\s*[:,]?\s+(?=\S)")


def without_attribution(text: str, *, spoken: bool = False) -> tuple[str, bool]:
    """The statement without the words that attribute it, and whether it had any: "According to [1], ..."."""
    match = _ACCORDING.match(text)
    if match and (not match["who"].strip() or re.search(rf"\b{_SOURCE_WORD}\b|^\s*to\b", match["who"], re.IGNORECASE)):
        return _capital(text[match.end() :]), True
    match = re.match(r"^according to\b[^,\n]{0,60},\s+", text, re.IGNORECASE)
    if match:
        return _capital(text[match.end() :]), True
    match = _SPOKEN_SAYS.match(text) if spoken else _IT_SAYS.match(text)
    if match and len(text[match.end() :].split()) >= MIN_CLAIM_WORDS:
        return _capital(text[match.end() :]), True
    return text, False


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
