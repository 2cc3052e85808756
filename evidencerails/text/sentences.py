"""Sentences of a text, with offsets: for prose, markdown, tokenised corpora and text without punctuation.

Everything here is linear in the length of the text and keeps the characters as they are, NUL and bidi marks included.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple, TypeAlias

from evidencerails.errors import InputError
from evidencerails.exchange import Span

MAX_SENTENCE_TOKENS = 160
"""Longer sentences are cut at clause or word boundaries, so that a claim fits an NLI model beside its evidence."""

PIECE_CHARACTERS = 4_000

Splitter: TypeAlias = "Callable[[str], Iterable[str | Span]]"
"""Makes sentences of a text: its own words, in their order, as strings or spans."""

BlockKind = Literal["prose", "heading", "item", "row", "code"]


class Block(NamedTuple):
    """A part of the text of one kind; list markers and table rules are outside of it."""

    kind: BlockKind
    start: int
    end: int


_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*(?P<language>\w*)")
_PROSE_LANGUAGES = frozenset(["markdown", "md", "mdx", "text", "txt", "plain", "plaintext", "quote", "csv", "tsv"])
"""Of a fence: what stands in it is no code. YAML, TOML and XML are code: most of them is settings."""
_HEADING = re.compile(r" {0,3}#{1,6}(?:\s|$)")
_ITEM = re.compile(r"\s*(?:[-*+•‣◦▪●–—]\s+(?:\[[ xX]\]\s+)?|\(?(?:\d{1,3}|[a-zA-Z])[.)]\s+(?=\S))")
_QUOTED = re.compile(r"\s*(?:>\s?)+")
_RULE = re.compile(r"[\s|:\-=_*+]*$")
_WRAPPED_LINE_CHARS = 55
"""A line at least this long without a full stop is taken as wrapped: its sentence goes on in the next line."""

_UNSEEN = "\u0000\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff"
_END = re.compile(
    rf"[.!?…]+[\"'”’»)\]*_{_UNSEEN}]*(?=\s|$)|[。！？｡][」』”’）】]*"
    r"|(?<=[a-z0-9][a-z0-9])[.!?](?=(?:The|It|He|She|They|This|These|There|In|On|We|You|Its|His|Her|Their)\s)"
)
"""Where a sentence may end: before white space, or glued to a word that begins one."""
_TAIL_WORD = re.compile(r"[^\s(\[\"“‘]*$")
_OPENERS = "\"'“”‘’«([*_`-–— \t\r\n\v\f\u00a0"

_NEVER_ENDS = frozenset(
    """mr mrs ms dr prof rev hon st sr fr gen col lt sgt capt cmdr adm maj gov sen rep pres supt mt ft vs v viz cf e.g
    i.e eg ie no nos vol pp p ch sec fig figs eq ed eds al ca approx dept univ est esp incl resp jan feb mar apr
    jun jul aug sep sept oct nov dec messrs mme mlle op art nr bros""".split()  # noqa: SIM905 - words read better than a list of strings
)
_MAY_END = frozenset(
    """etc inc ltd co corp plc llc jr sr bhd u.s u.k u.n e.u u.s.a d.c l.a n.y a.m p.m am pm b.c a.d b.c.e c.e ph.d m.d
    b.a m.a esq ave blvd rd hrs min max""".split()  # noqa: SIM905
)
_STARTERS = frozenset(
    """the a an this that these those it its he she they we i you his her their our my your in on at for from by with as
    after before when while although though if since because however but and so then there here also both many most some
    several all each one two three no not according during despite until under over what who where why how""".split()  # noqa: SIM905
)
_CLAUSE_END = re.compile(r"[;:,—–]\s|\s(?=(?:and|but|or|which|who|because|while|although|whereas|then|so)\s)")
_PIECE = re.compile(r"\w+|[^\w\s]")


def split_sentences(text: str) -> list[Span]:
    """The sentences of a text in order, each `text[start:end]`, without the white space around them.

    Everything but white space, list markers and rules lies in some span; a code block is one sentence a line.
    No span holds more than about `MAX_SENTENCE_TOKENS` tokens.
    """
    return [span for block in blocks(text) for span in block_sentences(text, block)]


def sentences_by(splitter: Splitter, text: str) -> list[Span]:
    """The sentences that a splitter of the user's makes of a text; one that is too long for a model is cut as ours are.

    Raises:
        InputError: it gives something else than parts of the text in their order, or leaves a word out.
    """
    found = splitter(text)
    if isinstance(found, str) or not isinstance(found, Iterable):
        raise InputError(f"the splitter gave {found!r:.80}; expected a list of sentences, as strings or Span")
    sentences: list[Span] = []
    at = 0
    for sentence in found:
        start, end = _place_of(sentence, text, at)
        _refuse_left_out(text[at:start])
        parts = _bounded(text, *_stripped(text, start, end))
        sentences += [Span.of(text, *part) for part in parts if part[0] < part[1]]
        at = end
    _refuse_left_out(text[at:])
    return sentences


def _place_of(sentence: object, text: str, begin: int) -> tuple[int, int]:
    """Where a sentence of a splitter stands, from `begin` on."""
    if isinstance(sentence, Span):
        start, words = sentence.start, sentence.text
    elif isinstance(sentence, str):
        start, words = text.find(sentence, begin), sentence
    else:
        raise InputError(f"the splitter gave {sentence!r:.80} as a sentence; expected a string or a Span")
    if start < begin or not text.startswith(words, start):
        raise InputError(
            f"the splitter gave {words!r:.80}, which does not stand in the text behind the sentence before it; a "
            "sentence must be the text's own words, unchanged and in their order"
        )
    return start, start + len(words)


def _refuse_left_out(text: str) -> None:
    if re.search(r"\w", text):
        raise InputError(
            f"the splitter left out {text.strip()!r:.80}, which would go unchecked; put it into a sentence"
        )


_PIECE_BOUNDARIES = (re.compile(r"(?<=[.!?])\s+|\n+"), re.compile(r"\s+"))


def pieces(text: str, size: int = PIECE_CHARACTERS) -> Iterator[str]:
    """The text in pieces of `size` to twice as many characters, cut after sentences if there are any, else at spaces.

    Together they are the text.
    """
    at = 0
    while len(text) - at > 2 * size:
        found = (boundary.search(text, at + size, at + 2 * size) for boundary in _PIECE_BOUNDARIES)
        end = next((match.end() for match in found if match), at + 2 * size)
        yield text[at:end]
        at = end
    yield text[at:]


def block_sentences(text: str, block: Block) -> list[Span]:
    """The sentences of one block."""
    if block.kind in ("heading", "row", "code"):
        bounds = [(block.start, block.end)]
    else:
        bounds = list(_prose_sentences(text, block.start, block.end))
    found: list[tuple[int, int]] = []
    for bound in bounds:
        start, end = _stripped(text, *bound)
        # A token has at least one character.
        found += [(start, end)] if end - start <= MAX_SENTENCE_TOKENS else _bounded(text, start, end)
    return [Span.of(text, start, end) for start, end in found if start < end]


def blocks(text: str) -> Iterator[Block]:
    """Headings, list items, table rows, lines of code and paragraphs of a text, in order."""
    fence, is_code, end = "", False, -1
    open_block: Block | None = None
    for line in text.split("\n"):
        start, end = end + 1, end + 1 + len(line)
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            if open_block:
                yield open_block
            open_block, fence = None, "" if fence else mark[1]
            is_code = bool(fence) and mark["language"].lower() not in _PROSE_LANGUAGES
            continue
        if is_code:
            yield Block("code", start, end)
            continue
        new = _line_block(line, start, end)
        if open_block and new and new.kind == "prose" and _goes_on(text, open_block, new):
            open_block = Block(open_block.kind, open_block.start, end)
            continue
        if open_block:
            yield open_block
        open_block = new
    if open_block:
        yield open_block


def _line_block(line: str, start: int, end: int) -> Block | None:
    """The block that a line outside code begins; None for blank lines and rules."""
    if _RULE.match(line):
        return None
    quoted = _QUOTED.match(line)
    if quoted:
        start += quoted.end()
        line = line[quoted.end() :]
    if _HEADING.match(line):
        return Block("heading", start, end)
    if line.lstrip().startswith("|") and line.count("|") > 1:
        return Block("row", start, end)
    item = _ITEM.match(line)
    if item and not (item[0].strip()[-1:] == "." and item[0].strip()[0].isalpha()):  # "J. Smith" is no list item
        return Block("item", start + item.end(), end)
    return Block("prose", start, end)


def _goes_on(text: str, block: Block, line: Block) -> bool:
    """True if the line continues the paragraph or item: wrapped text, or a line that starts in lower case."""
    if block.kind not in ("prose", "item"):
        return False
    last_start = max(text.rfind("\n", block.start, block.end) + 1, block.start)
    before, after = text[last_start : block.end].rstrip(), text[line.start : line.end].lstrip()
    if not before or before[-1] in ".!?…:。！？":
        return after[:1].islower() and before[-1:] != ":" and len(before) >= _WRAPPED_LINE_CHARS
    return after[:1].islower() or len(before) >= _WRAPPED_LINE_CHARS or _HANGING.search(before) is not None


_HANGING = re.compile(
    r"(?:^|\s)(?:a|an|the|of|in|on|at|by|to|from|for|with|and|or|but|is|are|was|were|has|have|had|be|been|than|its|his|"
    r"her|their|not)$|,$",
    re.IGNORECASE,
)
"""Ends of a line at which no sentence ends: narrow columns are wrapped after them too."""


def _prose_sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    head = text[start : min(end, start + 4000)]
    letters = sum(c.isalpha() for c in head)
    # In corpora in lower case a small letter after a full stop still starts a sentence.
    is_lower_cased = letters > 0 and sum(c.isupper() for c in head) <= 0.005 * letters
    begin = start
    for mark in _END.finditer(text, start, end):
        if _is_boundary(text, mark, begin, end, is_lower_cased):
            yield begin, mark.end()
            begin = mark.end()
    if begin < end:
        yield begin, end


def _is_boundary(text: str, mark: re.Match[str], begin: int, end: int, is_lower_cased: bool) -> bool:
    signs = mark[0]
    if signs[0] in "。！？｡":
        return True
    following = text[mark.end() : min(end, mark.end() + 40)].lstrip(_OPENERS)
    if not following:
        return True
    before = text[max(begin, mark.start() - 24) : mark.start()]
    is_apart = before[-1:].isspace()  # tokenised text: "old ."
    starts_low = following[0].islower()
    if signs[0] != "." or signs.startswith(".."):
        return not starts_low or is_apart or (is_lower_cased and signs[0] in "!?")
    return _stop_ends(before.rstrip(), following, starts_low and not (is_apart or is_lower_cased))


def _stop_ends(before: str, following: str, is_midway: bool) -> bool:
    """True if the full stop between the texts ends a sentence; `is_midway`: a small letter follows in cased text."""
    word = _TAIL_WORD.search(before)
    last = word[0] if word else ""
    is_initial = len(last) == 1 and (last.isupper() or (last.isalpha() and following[0].islower()))
    last = last.lower()
    next_word = re.match(r"\w+", following)
    starts = bool(next_word and next_word[0].lower() in _STARTERS)
    if is_midway or last in _NEVER_ENDS:
        return False
    if last in _MAY_END or is_initial or re.fullmatch(r"(?:[a-z]\.)+[a-z]", last):
        return starts
    return not (last.isdigit() and following[0].isdigit() and before[-len(last) - 1 :][:1].isspace() and len(last) < 3)


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _bounded(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The sentence, cut into pieces of at most `MAX_SENTENCE_TOKENS` estimated tokens."""
    if end - start <= MAX_SENTENCE_TOKENS:  # a token has at least one character
        yield start, end
        return
    begin, cost, word_end = start, 0, start
    for piece in _pieces(text, start, end):
        piece_cost = _tokens(piece[2])
        if cost + piece_cost > MAX_SENTENCE_TOKENS and piece[0] > begin:
            cut = _clause_end(text, begin, piece[0]) or (word_end if word_end > begin else piece[0])
            yield _stripped(text, begin, cut)
            begin, cost = cut, sum(_tokens(p[2]) for p in _pieces(text, cut, piece[0]))
        cost += piece_cost
        # Not inside brackets of one word: "[1]" cut in two is a citation no more, and "1]" no claim.
        if piece[2] not in "([{" and text[piece[1] : piece[1] + 1] not in (")", "]", "}"):
            word_end = piece[1]
    yield _stripped(text, begin, end)


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int, str]]:
    """Words and signs with offsets; a run of letters longer than a word can be is cut up."""
    for match in _PIECE.finditer(text, start, end):
        for at in range(match.start(), match.end(), 40):
            stop = min(at + 40, match.end())
            yield at, stop, text[at:stop]


def _tokens(piece: str) -> int:
    """About how many word pieces a model makes of it, rather too many than too few."""
    return (len(piece) + 4) // 5 if piece.isascii() else len(piece)


def _clause_end(text: str, start: int, end: int) -> int | None:
    """Where to cut before `end`: after the last clause sign in the second half of that part."""
    middle = start + (end - start) // 2
    found = None
    for match in _CLAUSE_END.finditer(text, middle, end):
        found = match.end()
    return found
