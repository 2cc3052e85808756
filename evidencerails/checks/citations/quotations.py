"""Quotations in an answer, and whether a source has their words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from evidencerails.exchange import Span

MAX_QUOTATION = 1_500
"""Characters of the longest text between two quotation marks that is read as a quotation."""

_QUOTED = re.compile(
    rf"“([^“”\n]{{1,{MAX_QUOTATION}}})”|„([^„“”\n]{{1,{MAX_QUOTATION}}})[“”]|«\s?([^«»\n]{{1,{MAX_QUOTATION}}}?)\s?»"
    rf"|(?<![\w\"])\"([^\"\n]{{1,{MAX_QUOTATION}}})\"(?![\w\"])"
)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?|[%$£€]")
_GAP = re.compile(r"\[[^\[\]]{0,80}\]|\(\s*(?:\.{3}|…)\s*\)|\.{3,}|…")
"""What an editor left out or put in: "the bridge ... opened", "[it] opened"."""


class Quotation(NamedTuple):
    """Words that an answer puts into quotation marks."""

    span: Span
    """Where it stands in the answer, without the marks."""
    words: str
    """Its words; other than the span's text only where the answer escapes them."""


def find_quotations(text: str, min_words: int) -> list[Quotation]:
    """The quotations of a text with at least so many words, in order."""
    found = []
    for match in _QUOTED.finditer(text):
        group = match.lastindex or 0
        if len(_WORD.findall(match[group])) >= min_words:
            found.append(Quotation(Span.of(text, match.start(group), match.end(group)), match[group]))
    return found


def gaps(quotation: Quotation) -> list[tuple[int, int]]:
    """Where in the answer a quotation says that an editor left something out or put something in."""
    start = quotation.span.start
    return [(start + match.start(), start + match.end()) for match in _GAP.finditer(quotation.words)]


def is_verbatim(words: str, sources: Iterable[str]) -> bool:
    """True if one of the sources has these words in this order.

    Case, punctuation and white space do not count; what an editor marked as left out or put in may be anything, but
    what stands before it comes before what stands after it.
    """
    runs = [run for part in _GAP.split(words) if (run := _running(part))]
    return bool(runs) and any(_has_runs(_running(source), runs) for source in sources)


def likeness(words: str, sources: Sequence[str]) -> float:
    """How similar the most similar passage of the sources is to the words, in [0, 1] (rapidfuzz's partial ratio)."""
    from rapidfuzz import fuzz

    said = _running(words)
    return max((fuzz.partial_ratio(said, _running(source)) / 100 for source in sources), default=0.0)


@lru_cache(maxsize=256)
def _running(text: str) -> str:
    """The words in lower case between single spaces, a space at either end; empty without any."""
    words = _WORD.findall(text.lower().replace("’", "'").replace("\u00ad", ""))
    return f" {' '.join(words)} " if words else ""


def _has_runs(text: str, runs: Sequence[str]) -> bool:
    at = 0
    for run in runs:
        place = text.find(run, at)
        if place < 0:
            return False
        at = place + len(run) - 1
    return True
