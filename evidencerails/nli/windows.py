"""Evidence cut into token windows that a model can read, and the lexical prefilter that picks those worth reading.

In: passages and claims. Out: windows, and for each claim which of them to read. Nothing is cut silently: the windows of
a passage cover all its characters, overlap, and begin and end at sentence boundaries where there are any; what the
prefilter leaves unread is counted by `coverage`. A window is read once, and always the same, whatever claims stand
beside it. Passages are not joined for reading: the model assigns values to their owners far better in one passage than
among several.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import NamedTuple

from evidencerails.exchange import Passage, Span
from evidencerails.text.records import heading_of, record_cuts, with_heads
from evidencerails.text.sentences import split_sentences

DEFAULT_MAX_TOKENS = 512
"""Longest pair, special tokens included, of a model that does not state its own."""
DEFAULT_WINDOW_TOKENS = 160
"""A small cross-encoder stays sharp over a handful of sentences; a passage of 120 words fits whole."""
DEFAULT_OVERLAP_TOKENS = 40
"""One to two sentences, so that a fact stated across a boundary is whole in one of the two windows."""
SPECIAL_TOKENS = 3
"""[CLS] premise [SEP] hypothesis [SEP]."""
TAIL_SLACK = 1.15
"""A rest at most this much longer than a window is read whole: a window of a few leftover words helps nobody."""
MIN_KEPT_WINDOWS = 4
"""The prefilter keeps at least so many, however clear the best one is."""
RELATIVE_FLOOR = 0.5
"""Windows that share less than this part of the best window's weight with the claim are left unread."""

CONTEXT_WEIGHT = 0.5
MAX_CONTEXT = 1000
"""Characters at the end of the context that are heeded: a question, not a pasted document."""

TokenOffsets = Callable[[str], "list[tuple[int, int]]"]

ESTIMATED_FROM = 20_000
"""Characters of a passage from which its windows are cut by an estimate of its tokens. A window that is too long after
all is still read to its end, in parts."""
_ESTIMATED_TOKEN = re.compile(r"[A-Za-z]{1,9}(?![A-Za-z])|[A-Za-z]{4}|[0-9]{1,3}|[^A-Za-z0-9\s]")
"""A word of up to nine letters, four letters of a longer one, up to three digits, a mark."""
# Look-behinds instead of a leading run of stops: time stays linear in a text of nothing but full stops.
_BOUNDARY = re.compile(r"[.!?…][\"'”’»)\]]?\s+|[。！？]|\n+")
_WORD = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)?")
_CJK = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\u3040-\u30ff]")
_STOP_WORDS = frozenset(
    """a an the this that these those it its he she they them his her their we you i me my our your who whom which
    what when where why how is are was were be been being am do does did has have had having will would can
    could shall should may might must not no nor and or but if then than so as of at by for from in into on
    onto out over to up with about after before between during through under again there here all any both
    each more most other some such only own same too very just also said says""".split()  # noqa: SIM905 - words read better than a list of strings
)
_PREFIX_LENGTH = 5
_PREFIX_WEIGHT = 0.5  # "announcement" and "announced" agree in their beginning only
_RARE_WINDOWS = 2  # a word in one place stands in two windows, as they overlap
_NUMBER_WEIGHT = 1.5  # numbers and dates distinguish passages better than words of the same rarity


@dataclass(frozen=True)
class Window:
    """A part of one passage, short enough for the model: `passage.text[start:end]`."""

    passage: Passage
    start: int
    end: int

    @property
    def text(self) -> str:
        """The window's text, verbatim."""
        return self.passage.text[self.start : self.end]


class Coverage(NamedTuple):
    """How much of the evidence was read."""

    windows: int
    read_windows: int
    read_characters: int
    """Characters of the evidence inside at least one window that was read."""
    share: float
    """Read share of the evidence's characters, in [0, 1]; 1.0 if there is no evidence."""


def encodable(text: str) -> str:
    """The text with lone surrogates, which no tokenizer and no JSON can carry, replaced by `?`; offsets stay."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def premise_room(hypothesis_tokens: int, max_tokens: int = DEFAULT_MAX_TOKENS) -> int:
    """Tokens left for the premise in a pair; a claim longer than half the pair is scored in parts of half a pair."""
    return max_tokens - SPECIAL_TOKENS - min(hypothesis_tokens, max_tokens // 2)


def build_windows(
    passages: Iterable[Passage],
    hypothesis_tokens: int,
    token_offsets: TokenOffsets,
    *,
    max_tokens: int = DEFAULT_MAX_TOKENS,
    window_tokens: int | None = None,
    overlap_tokens: int | None = None,
) -> list[Window]:
    """Windows over all passages, in order; blank passages have none. Time is linear in the text.

    Args:
        hypothesis_tokens: tokens of the longest claim that will be paired with them.
        token_offsets: the model's own tokenizer, see `NliModel.token_offsets`.
        max_tokens: longest pair of the model.
        window_tokens: wished size (default 160), made smaller where the pair would not fit.
        overlap_tokens: wished overlap of neighbours (default 40), at most half a window.
    """
    room = premise_room(hypothesis_tokens, max_tokens)
    size = min(window_tokens or DEFAULT_WINDOW_TOKENS, room)
    overlap = min(DEFAULT_OVERLAP_TOKENS if overlap_tokens is None else overlap_tokens, size // 2)
    longest = min(int(size * TAIL_SLACK), room)
    windows = []
    for passage in passages:
        is_one = "\n" not in passage.text and passage.text.lstrip()[:1] not in ("{", "[")
        cuts = [0, *(() if is_one else record_cuts(passage.text)), len(passage.text)]
        for start, end in pairwise(cuts):
            text = passage.text[start:end]
            if len(text) <= longest:  # a token has at least one character
                offsets = [(0, len(text))]
            else:
                offsets = _window_offsets(text, token_offsets, size, overlap, longest)
            if text.strip():
                windows += [Window(passage, start + first, start + last) for first, last in offsets]
    return windows


def _window_offsets(
    text: str, token_offsets: TokenOffsets, size: int, overlap: int, longest: int
) -> list[tuple[int, int]]:
    """Character offsets of the windows of one text; the first begins at 0, the last ends at the text's end."""
    if len(text) < ESTIMATED_FROM or not text.isascii():
        starts = [start for start, _ in token_offsets(text)]
    else:  # estimated from its words, several times as fast
        starts = [match.start() for match in _ESTIMATED_TOKEN.finditer(text)]
    count = len(starts)
    if count <= longest:
        return [(0, len(text))]
    sentence_tokens = _sentence_tokens(text, starts)
    offsets = []
    first = 0
    while count - first > longest:
        last = _last_boundary(sentence_tokens, first + size // 2, first + size) or first + size
        offsets.append((starts[first] if first else 0, starts[last]))
        wished = last - overlap
        # never before first + 1, or the loop would stand still
        first = max(first + 1, _first_boundary(sentence_tokens, wished, last) or wished)
    offsets.append((starts[first] if first else 0, len(text)))
    return offsets


def _sentence_tokens(text: str, starts: Sequence[int]) -> list[int]:
    """Places in the token list where a sentence begins, rising."""
    places = (bisect_left(starts, match.end()) for match in _BOUNDARY.finditer(text))
    return sorted({place for place in places if 0 < place < len(starts)})


def _last_boundary(boundaries: Sequence[int], low: int, high: int) -> int | None:
    """The last boundary in [low, high]."""
    place = bisect_right(boundaries, high) - 1
    return boundaries[place] if place >= 0 and boundaries[place] >= low else None


def _first_boundary(boundaries: Sequence[int], low: int, high: int) -> int | None:
    """The first boundary in [low, high)."""
    place = bisect_left(boundaries, low)
    return boundaries[place] if place < len(boundaries) and boundaries[place] < high else None


class WindowIndex:
    """Finds the windows that share the most telling words with a claim. Built once, asked for each claim.

    The weight of a shared word is its rarity among the windows (as in BM25, without term frequency or length: windows
    are of one size). Numbers count more, word beginnings stand in for inflected forms, and words of which only a few
    windows exist are always followed.
    """

    def __init__(self, windows: Sequence[Window]) -> None:
        self.windows = list(windows)
        self._postings: dict[str, list[int]] = {}
        for place, window in enumerate(self.windows):
            for term in content_terms(window.text):
                self._postings.setdefault(term, []).append(place)

    def select(self, hypothesis: str, limit: int, context: str = "") -> list[Window]:
        """At most `limit` windows for this claim, in evidence order; all of them if there are no more.

        `context` is what the claim answers, such as the user's question; its words count half. "In 1999." says where to
        look only together with it: among 100 kB of other passages the right one is kept for 93 % of the answers of
        HaluEval-QA without the question, and for 99.5 % with it.

        Fewer are kept where the best ones are clearly ahead. A claim that shares no word with the evidence gets
        evenly spread windows, so that it is judged against something.
        """
        if len(self.windows) <= min(limit, MIN_KEPT_WINDOWS):
            return list(self.windows)
        weights = self._weights(hypothesis, context)
        ranked = sorted(weights, key=lambda place: (-weights[place], place))
        if not ranked:
            return self._spread(min(limit, MIN_KEPT_WINDOWS))
        floor = weights[ranked[0]] * RELATIVE_FLOOR
        rare = self._places_of_rare_words(hypothesis)
        near = [place for rank, place in enumerate(ranked) if rank < MIN_KEPT_WINDOWS or weights[place] >= floor]
        kept = dict.fromkeys([*near[: max(1, limit - len(rare))], *(p for p in ranked if p in rare), *near])
        return [self.windows[place] for place in sorted(list(kept)[:limit])]

    def _places_of_rare_words(self, hypothesis: str) -> set[int]:
        found = (self._postings.get(term, ()) for term in content_terms(hypothesis) if not term.endswith("*"))
        return {place for places in found if len(places) <= _RARE_WINDOWS for place in places}

    def _weights(self, hypothesis: str, context: str) -> dict[int, float]:
        weights: dict[int, float] = {}
        own = content_terms(hypothesis)
        for terms, share in ((own, 1.0), (content_terms(context[-MAX_CONTEXT:]) - own, CONTEXT_WEIGHT)):
            for term in terms:
                places = self._postings.get(term, ())
                weight = share * _term_weight(term, len(places), len(self.windows))
                for place in places:
                    weights[place] = weights.get(place, 0.0) + weight
        return weights

    def _spread(self, count: int) -> list[Window]:
        step = len(self.windows) / count
        return [self.windows[int(place * step)] for place in range(count)]


def coverage(windows: Iterable[Window], read: Iterable[Window]) -> Coverage:
    """How much of the evidence in `windows` lies in the windows of `read`; overlaps count once."""
    every, some = set(windows), set(read)
    characters = [0, 0]
    for place, chosen in enumerate((every, some)):
        reached, passage = 0, None
        for window in sorted(chosen, key=lambda w: (id(w.passage), w.start)):
            if window.passage is not passage:
                passage, reached = window.passage, 0
            characters[place] += max(0, window.end - max(window.start, reached))
            reached = max(reached, window.end)
    there, seen = characters
    return Coverage(len(every), len(some), seen, share=seen / there if there else 1.0)


def _term_weight(term: str, count: int, total: int) -> float:
    rarity = math.log((total + 1) / (count + 0.5))
    kind = _PREFIX_WEIGHT if term.endswith("*") else _NUMBER_WEIGHT if term[0].isdigit() else 1.0
    return max(rarity, 0.0) * kind


def content_terms(text: str) -> set[str]:
    """What distinguishes texts: stems and beginnings (ending in `*`) of words that carry meaning, and numbers."""
    return {term for word in set(_WORD.findall(text.lower())) for term in _word_terms(word)}


def stems_of(text: str) -> frozenset[str]:
    """The stems of a text's content words, and its numbers."""
    return frozenset(term for term in content_terms(text) if not term.endswith("*"))


@lru_cache(maxsize=20_000)
def _word_terms(word: str) -> tuple[str, ...]:
    """Index terms of one lower-cased word: its stem, good enough to match, and its beginning; none for stop words."""
    if word[0].isdigit():
        return (word.replace(",", "").rstrip("."),)
    if _CJK.search(word):
        return tuple(word[place : place + 2] for place in range(max(1, len(word) - 1)))
    word = re.sub(r"['’]\w{1,2}$", "", word)
    if word in _STOP_WORDS or len(word) < 2:
        return ()
    for ending, least in (("ies", 5), ("ing", 6), ("ed", 5), ("es", 5), ("s", 4), ("ly", 6)):
        if word.endswith(ending) and len(word) >= least and not word.endswith("ss"):
            word = word[: -len(ending)] + ("y" if ending == "ies" else "")
            break
    return (word, word[:_PREFIX_LENGTH] + "*") if len(word) > _PREFIX_LENGTH else (word,)


# ---- the windows that some claims are read in

JOINED_TOKENS = 380
"""Parts read together; the model was trained with up to 400 tokens of evidence."""
JOINED_PARTS = 4
PARTS_A_CLAIM = 6
"""Windows that are read for one claim."""
SEPARATOR = "\n\n"
_DIGIT = re.compile(r"\d")
_COLUMNS = re.compile(r"[|\t;,]")


@dataclass(frozen=True)
class EvidenceWindow:
    """Parts of the evidence that are read as one premise."""

    parts: tuple[Window, ...]

    @cached_property
    def text(self) -> str:
        """The premise: parts one after the other, a part from the middle of a passage under its heading, rows of tables
        with the heads of their columns."""
        texts = []
        for part in self.parts:
            heading = heading_of(part.passage.text, part.start) if part.start else ""
            text = with_heads(part.passage.text, part.start, part.end) if _COLUMNS.search(part.text) else part.text
            texts.append(f"{heading}\n{text}" if heading else text)
        return SEPARATOR.join(texts)

    def decisive_sentence(self, claim: str) -> tuple[Passage, Span] | None:
        """The sentence that shares most content with the claim, with its passage, as a span of that passage's text;
        None if the window has none. Of equals the shorter one, and no question.

        Where the claim has a number, one that has a number too and shares at least half as much comes first: there the
        two are compared.
        """
        terms = content_terms(claim)
        wants_number = any(term[0].isdigit() for term in terms)
        found: list[tuple[float, Span, Window]] = []
        for part in self.parts:
            for sentence in split_sentences(part.text) or [Span.of(part.text, 0, len(part.text))]:
                shared = sum(1.5 if term[0].isdigit() else 1.0 for term in terms & content_terms(sentence.text))
                found.append((shared - 0.5 * sentence.text.rstrip().endswith("?"), sentence, part))
        if not found:
            return None
        enough = max(weight for weight, _, _ in found) / 2
        has_number = {one[1]: wants_number and _DIGIT.search(one[1].text) is not None for one in found}
        _, span, part = max(found, key=lambda one: (has_number[one[1]] and one[0] >= enough, one[0], -len(one[1].text)))
        return part.passage, Span.of(part.passage.text, part.start + span.start, part.start + span.end)


class Selection(NamedTuple):
    """Windows of some evidence, and for each claim the places of those it is read in."""

    windows: tuple[EvidenceWindow, ...]
    places: tuple[tuple[int, ...], ...]
    coverage: Coverage


class EvidenceIndex:
    """Evidence cut once, for all claims and checks of a response.

    Args:
        token_offsets: the model's own tokenizer, see `NliModel.token_offsets`.
        room: most tokens of a window beside the longest claim.
    """

    def __init__(self, passages: Sequence[Passage], token_offsets: TokenOffsets, room: int) -> None:
        # In an order of their own, each once: what a retriever puts first must not decide.
        passages = sorted({passage.text: passage for passage in reversed(passages)}.values(), key=lambda p: p.text)
        size = min(DEFAULT_WINDOW_TOKENS, room)
        overlap = min(DEFAULT_OVERLAP_TOKENS, size // 4)
        self.parts = build_windows(passages, 0, token_offsets, window_tokens=size, overlap_tokens=overlap)
        self._order = {part: place for place, part in enumerate(self.parts)}
        self._room = min(JOINED_TOKENS, room)
        self._token_offsets = token_offsets
        self._index: WindowIndex | None = None

    def select(self, claims: Sequence[str], context: str = "") -> Selection:
        """The windows for some claims; `context` is what they answer, such as the user's question."""
        chosen = [self._best(claim, context, PARTS_A_CLAIM) for claim in claims]
        named = sorted(set().union(*chosen), key=self._order.__getitem__)
        order = {part: place for place, part in enumerate(named)}
        places = tuple(tuple(sorted(order[part] for part in parts)) for parts in chosen)
        windows = tuple(EvidenceWindow((part,)) for part in named)
        return Selection(windows, places, coverage(self.parts, named))

    def joined(self, claim: str, context: str = "") -> EvidenceWindow | None:
        """The parts that share most with a claim as one window, for one that needs two; None if two do not fit."""
        best = self._best(claim, context, JOINED_PARTS)
        parts: list[Window] = []
        left = self._room
        for part in sorted(best, key=self._order.__getitem__):
            tokens = len(self._token_offsets(part.text)) + 2
            overlaps = parts and parts[-1].passage is part.passage and part.start < parts[-1].end
            if tokens <= left and not overlaps:
                parts.append(part)
                left -= tokens
        return EvidenceWindow(tuple(parts)) if len(parts) > 1 else None

    def _best(self, claim: str, context: str, count: int) -> set[Window]:
        if len(self.parts) <= count:
            return set(self.parts)
        self._index = self._index or WindowIndex(self.parts)
        return set(self._index.select(claim, count, context)[:count])
