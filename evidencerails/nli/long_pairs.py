"""Pairs of evidence and claim that are longer than a model reads: cut into parts, whose scores are put together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from evidencerails.nli.base import ENTAILMENT, LABELS, NEUTRAL, Pair
from evidencerails.nli.windows import DEFAULT_OVERLAP_TOKENS, TokenOffsets, premise_room

if TYPE_CHECKING:
    from evidencerails.nli.base import Scores

AnyPair = TypeVar("AnyPair")
SLACK_TOKENS = 8
"""A part of a text may have a few more tokens by itself than inside the whole: words are cut at its ends."""


def token_ranges(count: int, room: int) -> Iterator[tuple[int, int]]:
    """Overlapping ranges of at most `room` that cover `range(count)`; a single one if they fit."""
    if count <= room:
        yield 0, count
        return
    overlap = min(DEFAULT_OVERLAP_TOKENS, room // 4)
    for first in range(0, count - overlap, room - overlap):
        yield first, min(first + room, count)


def text_parts(pair: Pair, max_tokens: int, token_offsets: TokenOffsets) -> list[list[Pair]]:
    """Pairs that fit the model and together stand for `pair`: a line for each part of the hypothesis."""
    premise, hypothesis = pair
    # A token has at least one character: most pairs need no counting.
    if len(premise) + len(hypothesis) <= max_tokens - SLACK_TOKENS:
        return [[pair]]
    evidence, claim = token_offsets(premise), token_offsets(hypothesis)
    limit = max_tokens - SLACK_TOKENS
    room = premise_room(len(claim), limit)
    return [
        [(evidence_part, claim_part) for evidence_part in _cut(premise, evidence, room)]
        for claim_part in _cut(hypothesis, claim, limit // 2)
    ]


def combined(grid: Sequence[Sequence[Scores]]) -> Scores:
    """One row of scores for a pair from those of its parts.

    Of the parts of the premise the one that says most about the hypothesis counts (least neutral); of the parts of the
    hypothesis the least entailed one, as a claim is supported only if all of it is.
    """
    lines = [min(line, key=lambda row: float(row[NEUTRAL])) for line in grid]
    return min(lines, key=lambda row: float(row[ENTAILMENT]))


def scores_in_parts(
    pairs: Sequence[AnyPair], split: Callable[[AnyPair], list[list[AnyPair]]], score: Callable[[list[AnyPair]], Scores]
) -> Scores:
    """Scores of all pairs, of texts or of tokens, shape (n, 3), where `score` reads only pairs that fit."""
    import numpy as np

    if not pairs:
        return np.zeros((0, len(LABELS)), dtype=np.float32)
    grids = [split(pair) for pair in pairs]
    rows = iter(score([part for grid in grids for line in grid for part in line]))
    return np.stack([combined([[next(rows) for _ in line] for line in grid]) for grid in grids])


def _cut(text: str, offsets: Sequence[tuple[int, int]], room: int) -> list[str]:
    """The text in parts of at most `room` tokens; no character is lost."""
    parts = []
    for first, last in token_ranges(len(offsets), room):
        start = offsets[first][0] if first else 0
        parts.append(text[start : offsets[last][0] if last < len(offsets) else len(text)])
    return parts
