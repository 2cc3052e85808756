"""A response in pieces: what is written again, and what has to stay word for word."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from evidencerails.exchange import Span
from evidencerails.report import Change, Finding
from evidencerails.text.sentences import split_sentences

_LIST_MARK = re.compile(r"(?:^|(?<=\n))[ \t]*(?:[-*•+]|\d{1,3}[.)])[ \t]+\Z")
_GAP = re.compile(r"[ \t]+")


@dataclass(frozen=True)
class Piece:
    """A span of the response and its current text."""

    before: Span
    text: str
    reason: str = ""
    """Why it was written again; empty for what was never touched."""
    findings: tuple[Finding, ...] = ()
    """What is wrong with it now."""

    @property
    def is_touched(self) -> bool:
        """True if a repair may have changed it."""
        return bool(self.reason)


def whole(response: str) -> tuple[Piece, ...]:
    """A response in one untouched piece."""
    return (Piece(Span.of(response, 0, len(response)), response),)


def joined(pieces: Iterable[Piece]) -> str:
    """The text as it stands now."""
    return "".join(piece.text for piece in pieces)


def with_flags(pieces: Sequence[Piece], findings: Sequence[Finding]) -> tuple[Piece, ...]:
    """The pieces, cut so that each sentence with a finding is one that carries its findings; the others carry none.

    The findings' spans count in the text as it stands now. A piece that was written before is flagged as a whole.
    """
    text = joined(pieces)
    ranges = _flagged_ranges(text, [f for f in findings if f.span is not None])
    cut: list[Piece] = []
    start = 0
    for piece in pieces:
        end = start + len(piece.text)
        own = [(max(a, start), min(b, end), found) for a, b, found in ranges if a < end and b > start]
        if piece.is_touched:
            cut.append(replace(piece, findings=tuple(f for _, _, found in own for f in found)))
        else:
            cut += _split(replace(piece, findings=()), [(a - start, b - start, found) for a, b, found in own])
        start = end
    return tuple(cut)


def _flagged_ranges(text: str, findings: Sequence[Finding]) -> list[tuple[int, int, list[Finding]]]:
    """Sentences with the findings in them, in order; a finding over several sentences makes one range of them."""
    found: list[tuple[int, int, list[Finding]]] = []
    sentences = split_sentences(text)
    spans = sorted(((f.span, f) for f in findings if f.span), key=lambda one: (one[0].start, one[0].end))
    for span, finding in spans:
        own = [s for s in sentences if s.start < span.end and s.end > span.start]
        start = min([s.start for s in own] + [span.start])
        end = max([s.end for s in own] + [span.end])
        if found and start < found[-1][1]:
            last = found[-1]
            found[-1] = (last[0], max(last[1], end), [*last[2], finding])
        else:
            found.append((start, end, [finding]))
    return found


def _split(piece: Piece, ranges: Sequence[tuple[int, int, list[Finding]]]) -> list[Piece]:
    parts: list[Piece] = []
    place = 0
    for start, end, found in ranges:
        if start > place:
            parts.append(_part(piece, place, start))
        parts.append(replace(_part(piece, start, end), findings=tuple(found)))
        place = end
    if place < len(piece.text) or not parts:
        parts.append(_part(piece, place, len(piece.text)))
    return parts


def _part(piece: Piece, start: int, end: int) -> Piece:
    at = piece.before.start
    text = piece.text[start:end]
    return Piece(Span(start=at + start, end=at + end, text=text), text)


def rewritten(pieces: Sequence[Piece], texts: Mapping[int, str]) -> tuple[Piece, ...]:
    """The pieces, those at these places with a new text. Where one is taken out, so are its gap and its list mark."""
    new = [
        replace(piece, text=texts[place], reason=piece.reason or _reason(piece), findings=())
        if place in texts
        else replace(piece, findings=())
        for place, piece in enumerate(pieces)
    ]
    for place, piece in enumerate(new):
        if piece.is_touched and not piece.text and pieces[place].text:
            _close_gap(new, place)
    return tuple(new)


def _close_gap(pieces: list[Piece], place: int) -> None:
    """Let a removed sentence take the blank behind it along, or the list mark before it with its line's end."""
    before = pieces[place - 1].text if place else ""
    after = pieces[place + 1].text if place + 1 < len(pieces) else ""
    if mark := _LIST_MARK.search(before):
        _take_along(pieces, place, -1, len(before) - mark.start())
        if after.startswith(("\n", "\r\n")):
            _take_along(pieces, place, +1, after.index("\n") + 1)
    elif gap := _GAP.match(after):
        _take_along(pieces, place, +1, gap.end())
    elif not after:
        _take_along(pieces, place, -1, len(before) - len(before.rstrip(" \t")))


def _take_along(pieces: list[Piece], place: int, side: int, count: int) -> None:
    """Move `count` characters of the neighbour on that side into the removed piece; the rest stays as it is."""
    removed, other = pieces[place], pieces[place + side]
    if count == 0:
        return
    if other.is_touched:
        text = other.text[count:] if side > 0 else other.text[: len(other.text) - count]
        pieces[place + side] = replace(other, text=text)
        return
    if side > 0:
        taken, rest = _part(other, 0, count), _part(other, count, len(other.text))
        span = Span(start=removed.before.start, end=taken.before.end, text=removed.before.text + taken.text)
    else:
        cut = len(other.text) - count
        taken, rest = _part(other, cut, len(other.text)), _part(other, 0, cut)
        span = Span(start=taken.before.start, end=removed.before.end, text=taken.text + removed.before.text)
    pieces[place + side], pieces[place] = rest, replace(removed, before=span)


def _reason(piece: Piece) -> str:
    return "; ".join(dict.fromkeys(finding.reason or finding.kind for finding in piece.findings)) or "flagged"


def is_kept(response: str, pieces: Sequence[Piece]) -> bool:
    """True if the pieces cover the response, and each untouched one still stands there word for word."""
    covered = "".join(piece.before.text for piece in pieces)
    return covered == response and all(piece.text == piece.before.text for piece in pieces if not piece.is_touched)


def changes_of(pieces: Sequence[Piece]) -> tuple[Change, ...]:
    """The spans whose text has changed."""
    return tuple(
        Change(before=piece.before, after=piece.text, reason=piece.reason)
        for piece in pieces
        if piece.is_touched and piece.text != piece.before.text
    )


def diff_of(response: str, text: str) -> str:
    """Unified diff of the two texts, a sentence a line; empty if they are equal."""
    lines = difflib.unified_diff(
        _sentence_lines(response), _sentence_lines(text), "response", "repaired", lineterm="", n=1
    )
    return "\n".join(lines)


def _sentence_lines(text: str) -> list[str]:
    return [" ".join(span.text.split()) for span in split_sentences(text)]
