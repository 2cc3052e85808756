"""Windows of evidence as the model reads them: whole passages beside each other, or the parts of long ones that matter.

In: passages and claims. Out: `EvidenceWindow`s, shared by as many claims as possible (evidence is read once, whatever
stands beside it), and for each claim which of them to read. Where all the evidence fits into one window, that is the
window of every claim. Otherwise each claim names the parts that share most with it, and the named parts are put
together in the order of the evidence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from evidencerails.exchange import Passage, Span
from evidencerails.nli.windows import Window, WindowIndex, build_windows, content_terms
from evidencerails.text.sentences import split_sentences

WINDOW_TOKENS = 380
"""Evidence of one window; the model was trained with up to 400 tokens beside its claims."""
PART_TOKENS = 110
"""A part of a long passage: three to six sentences."""
PART_OVERLAP_TOKENS = 25
PARTS_A_CLAIM = 4
"""Parts of long evidence that are read for one claim."""
MAX_HEADING_WORDS = 14
SEPARATOR = "\n\n"
_DIGIT = re.compile(r"\d")
_HEADING = re.compile(r"^#{1,6} .+$", re.MULTILINE)

TokenCount = Callable[[str], int]


@dataclass(frozen=True)
class EvidenceWindow:
    """Parts of the evidence that are read as one premise."""

    parts: tuple[Window, ...]

    @property
    def text(self) -> str:
        """The premise: parts one after the other, a part from the middle of a passage under its heading."""
        return SEPARATOR.join(_with_heading(part) for part in self.parts)

    def sentences(self) -> Iterator[tuple[Passage, Span]]:
        """Each sentence with its passage, as a span of the passage's text."""
        for part in self.parts:
            found = split_sentences(part.text) or [Span.of(part.text, 0, len(part.text))]
            for sentence in found:
                yield part.passage, Span.of(part.passage.text, part.start + sentence.start, part.start + sentence.end)

    def decisive_sentence(self, claim: str) -> tuple[Passage, Span] | None:
        """The sentence that shares most content with the claim; None if the window has none.

        Where the claim has a number, one that has a number too and shares at least half as much comes first: there the
        two are compared.
        """
        terms = content_terms(claim)
        found = [(passage, span, _shared(terms, span.text)) for passage, span in self.sentences()]
        if not found:
            return None
        most = max(shared for _, _, (shared, _) in found)
        wants_number = any(term[0].isdigit() for term in terms)

        def rank(one: tuple[Passage, Span, tuple[float, int]]) -> tuple[bool, tuple[float, int]]:
            compares = wants_number and _DIGIT.search(one[1].text) is not None and one[2][0] >= most / 2
            return compares, one[2]

        passage, span, _ = max(found, key=rank)
        return passage, span


def _shared(terms: set[str], sentence: str) -> tuple[float, int]:
    """How much of a claim a sentence has; of equals the shorter one, and no question."""
    own = content_terms(sentence)
    weight = sum(1.5 if term[0].isdigit() else 1.0 for term in terms & own)
    return weight - (0.5 if sentence.rstrip().endswith("?") else 0.0), -len(sentence)


def _with_heading(part: Window) -> str:
    heading = heading_of(part.passage.text, part.start)
    return f"{heading}\n{part.text}" if heading else part.text


def heading_of(text: str, start: int) -> str:
    """The heading under which a place of a passage stands; empty if it has none, or the part begins with it."""
    if start == 0:
        return ""
    headings = [match[0] for match in _HEADING.finditer(text, 0, start)]
    if headings:
        return headings[-1]
    first = text[:start].lstrip().partition("\n")[0].strip()
    is_title = (
        first
        and "\n" in text[:start].strip() + text[start - 1 : start]
        and len(first.split()) <= MAX_HEADING_WORDS
        and first[-1] not in ".!?,;"
    )
    return first if is_title else ""


@dataclass(frozen=True)
class Selection:
    """Windows of some evidence, and for each claim the places of those it is read in."""

    windows: tuple[EvidenceWindow, ...]
    places: tuple[tuple[int, ...], ...]
    parts: tuple[Window, ...]
    """Everything that could have been read."""


class EvidenceIndex:
    """Evidence cut once, for all claims and checks of a response.

    Args:
        token_offsets: the model's own tokenizer, see `NliModel.token_offsets`.
        room: most tokens of a window beside the longest claim.
    """

    def __init__(
        self, passages: Sequence[Passage], token_offsets: Callable[[str], list[tuple[int, int]]], room: int
    ) -> None:
        self._size = min(WINDOW_TOKENS, room)
        # In an order of their own, each once: what a retriever puts first must not decide.
        passages = sorted({passage.text: passage for passage in reversed(passages)}.values(), key=lambda p: p.text)
        whole = build_windows(passages, 0, token_offsets, window_tokens=self._size, overlap_tokens=0)
        texts = [passage.text for passage in passages if passage.text.strip()]
        # A token has at least one character: counting is needed only where it may matter.
        short = sum(map(len, texts)) < 12 * self._size
        self._fits = (
            short and len(whole) == len(texts) and sum(len(token_offsets(text)) + 2 for text in texts) <= self._size
        )
        if self._fits:
            self.parts = whole
        else:
            size = min(PART_TOKENS, self._size)
            overlap = min(PART_OVERLAP_TOKENS, size // 4)
            self.parts = build_windows(passages, 0, token_offsets, window_tokens=size, overlap_tokens=overlap)
        self._tokens = {} if self._fits else {part: len(token_offsets(part.text)) for part in _first(self.parts, 400)}
        self._index = None if self._fits else WindowIndex(self.parts)

    def select(self, claims: Sequence[str], context: str = "", parts_a_claim: int = PARTS_A_CLAIM) -> Selection:
        """The windows for some claims; `context` is what they answer, such as the user's question."""
        if not self.parts:
            return Selection((), tuple(() for _ in claims), ())
        if self._fits or self._index is None:
            window = EvidenceWindow(tuple(self.parts))
            return Selection((window,), tuple((0,) for _ in claims), tuple(self.parts))
        chosen = [self._best(claim, context, parts_a_claim) for claim in claims]
        named = set().union(*chosen) if chosen else set()
        order = [part for part in self.parts if part in named]
        windows = list(self._joined(order))
        places = tuple(
            tuple(place for place, window in enumerate(windows) if _holds_any(window, parts)) for parts in chosen
        )
        return Selection(tuple(windows), places, tuple(self.parts))

    def joined(self, claim: str, context: str = "") -> EvidenceWindow | None:
        """One window of the parts that share most with a claim that needs two passages; None if there are none."""
        if self._index is None:
            return None
        best = self._best(claim, context, PARTS_A_CLAIM - 1)
        return next(iter(self._joined([part for part in self.parts if part in best])), None)

    def _best(self, claim: str, context: str, count: int) -> set[Window]:
        assert self._index is not None
        return set(self._index.select(claim, count, context)[:count])

    def _joined(self, parts: Sequence[Window]) -> Iterator[EvidenceWindow]:
        """The parts in windows of at most the size; neighbours that overlap become one stretch."""
        batch: list[Window] = []
        size = 0
        for part in parts:
            tokens = self._tokens.get(part) or PART_TOKENS
            if batch and size + tokens > self._size:
                yield EvidenceWindow(tuple(batch))
                batch, size = [], 0
            if batch and batch[-1].passage is part.passage and part.start <= batch[-1].end:
                batch[-1] = Window(part.passage, batch[-1].start, max(part.end, batch[-1].end))
            else:
                batch.append(part)
            size += tokens
        if batch:
            yield EvidenceWindow(tuple(batch))


def _first(parts: Sequence[Window], count: int) -> Sequence[Window]:
    """Parts whose tokens are counted; of very long evidence the estimate will do."""
    return parts[:count]


def _holds_any(window: EvidenceWindow, parts: set[Window]) -> bool:
    return any(
        own.passage is part.passage and own.start <= part.start and part.end <= own.end
        for own in window.parts
        for part in parts
    )
