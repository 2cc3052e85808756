"""Windows of evidence as the model reads them: short passages whole, long ones in overlapping parts, one by one.

In: passages and claims. Out: `EvidenceWindow`s, shared by all claims that they may decide (a window is read once, and
always the same, whatever claims stand beside it), and for each claim which of them to read. Where there are many, a
claim names those that share most with it. Passages are not joined for reading: the model assigns values to their owners
far better in one passage than among several.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from evidencerails.exchange import Passage, Span
from evidencerails.nli.windows import Coverage, Window, WindowIndex, build_windows, content_terms, coverage
from evidencerails.text.sentences import split_sentences

PART_TOKENS = 160
"""Longest window; a passage of some 120 words fits whole."""
PART_OVERLAP_TOKENS = 40
JOINED_TOKENS = 380
"""Parts read together; the model was trained with up to 400 tokens of evidence."""
JOINED_PARTS = 4
PARTS_A_CLAIM = 6
"""Windows that are read for one claim."""
MAX_HEADING_WORDS = 14
SEPARATOR = "\n\n"
_DIGIT = re.compile(r"\d")
_HEADING = re.compile(r"^#{1,6} .+$", re.MULTILINE)


@dataclass(frozen=True)
class EvidenceWindow:
    """Parts of the evidence that are read as one premise."""

    parts: tuple[Window, ...]

    @property
    def text(self) -> str:
        """The premise: parts one after the other, a part from the middle of a passage under its heading."""
        texts = []
        for part in self.parts:
            heading = heading_of(part.passage.text, part.start)
            texts.append(f"{heading}\n{part.text}" if heading else part.text)
        return SEPARATOR.join(texts)

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

    def coverage(self) -> Coverage:
        """How much of the evidence is read for the claims."""
        used = {place for places in self.places for place in places}
        return coverage(self.parts, [part for place in used for part in self.windows[place].parts])


class EvidenceIndex:
    """Evidence cut once, for all claims and checks of a response.

    Args:
        token_offsets: the model's own tokenizer, see `NliModel.token_offsets`.
        room: most tokens of a window beside the longest claim.
    """

    def __init__(
        self, passages: Sequence[Passage], token_offsets: Callable[[str], list[tuple[int, int]]], room: int
    ) -> None:
        # In an order of their own, each once: what a retriever puts first must not decide.
        passages = sorted({passage.text: passage for passage in reversed(passages)}.values(), key=lambda p: p.text)
        size = min(PART_TOKENS, room)
        overlap = min(PART_OVERLAP_TOKENS, size // 4)
        self.parts = build_windows(passages, 0, token_offsets, window_tokens=size, overlap_tokens=overlap)
        self._room = min(JOINED_TOKENS, room)
        self._token_offsets = token_offsets
        self._index = WindowIndex(self.parts)

    def select(self, claims: Sequence[str], context: str = "") -> Selection:
        """The windows for some claims; `context` is what they answer, such as the user's question."""
        if not self.parts:
            return Selection((), tuple(() for _ in claims), ())
        chosen = [self._best(claim, context, PARTS_A_CLAIM) for claim in claims]
        named = [part for part in self.parts if any(part in parts for parts in chosen)]
        order = {part: place for place, part in enumerate(named)}
        places = tuple(tuple(sorted(order[part] for part in parts)) for parts in chosen)
        return Selection(tuple(EvidenceWindow((part,)) for part in named), places, tuple(self.parts))

    def joined(self, claim: str, context: str = "") -> EvidenceWindow | None:
        """The parts that share most with a claim as one window, for one that needs two; None if two do not fit."""
        best = self._best(claim, context, JOINED_PARTS)
        parts: list[Window] = []
        left = self._room
        for part in (part for part in self.parts if part in best):
            tokens = len(self._token_offsets(part.text)) + 2
            overlaps = parts and parts[-1].passage is part.passage and part.start < parts[-1].end
            if tokens <= left and not overlaps:
                parts.append(part)
                left -= tokens
        return EvidenceWindow(tuple(parts)) if len(parts) > 1 else None

    def _best(self, claim: str, context: str, count: int) -> set[Window]:
        if len(self.parts) <= count:
            return set(self.parts)
        return set(self._index.select(claim, count, context)[:count])
