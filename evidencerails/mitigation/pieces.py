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
        return bool(self.reason)


def whole(response: str) -> tuple[Piece, ...]:
    return (Piece(Span.of(response, 0, len(response)), response),)


def joined(pieces: Iterable[Piece]) -> str:
    return "".join(piece.text for piece in pieces)


def with_flags(pieces: Sequence[Piece], findings: Sequence[Finding]) -> tuple[Piece, ...]:
    """The pieces, cut so that each sentence with a finding is one that carries its findings; the others carry none.

    The findings' spans count in the text as it stands now. A piece that was written before is flagged as a whole.
    """
    ranges = _flagged_ranges(joined(pieces), findings)
    cut: list[Piece] = []
    start = 0
    for piece in pieces:
        end, place = start + len(piece.text), 0
        own = [(max(a, start) - start, min(b, end) - start, found) for a, b, found in ranges if a < end and b > start]
        if piece.is_touched:
            cut.append(replace(piece, findings=tuple(finding for *_, found in own for finding in found)))
        else:
            for first, last, found in own:
                cut += [_part(piece, place, first)] if first > place else []
                cut.append(_part(piece, first, last, found))
                place = last
            cut += [_part(piece, place, len(piece.text))] if place < len(piece.text) or not own else []
        start = end
    return tuple(cut)


def _flagged_ranges(text: str, findings: Sequence[Finding]) -> list[tuple[int, int, list[Finding]]]:
    """Sentences with the findings in them, in order; a finding over several sentences makes one range of them."""
    found: list[tuple[int, int, list[Finding]]] = []
    sentences = split_sentences(text)
    spans = sorted(((f.span, f) for f in findings if f.span), key=lambda one: (one[0].start, one[0].end))
    for span, finding in spans:
        own = [span, *(s for s in sentences if s.start < span.end and s.end > span.start)]
        start, end, together = min(s.start for s in own), max(s.end for s in own), [finding]
        if found and start < found[-1][1]:
            start, last, before = found.pop()
            end, together = max(last, end), [*before, finding]
        found.append((start, end, together))
    return found


def _part(piece: Piece, start: int, end: int, findings: Iterable[Finding] = ()) -> Piece:
    at, text = piece.before.start, piece.text[start:end]
    return Piece(Span(start=at + start, end=at + end, text=text), text, findings=tuple(findings))


def rewritten(pieces: Sequence[Piece], texts: Mapping[int, str]) -> tuple[Piece, ...]:
    """The pieces, those at these places with a new text. Where one is taken out, so are its gap and its list mark."""
    new = [replace(piece, findings=()) for piece in pieces]
    for place, text in texts.items():
        reasons = dict.fromkeys(finding.reason or finding.kind for finding in pieces[place].findings)
        new[place] = replace(new[place], text=text, reason=new[place].reason or "; ".join(reasons) or "flagged")
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
    if not count:
        return
    removed, other = pieces[place], pieces[place + side]
    cut = count if side > 0 else len(other.text) - count
    taken, rest = (_part(other, 0, cut), _part(other, cut, len(other.text)))[::side]
    if other.is_touched:
        pieces[place + side] = replace(other, text=rest.text)
        return
    first, last = (removed.before, taken.before)[::side]
    pieces[place + side] = rest
    pieces[place] = replace(removed, before=Span(start=first.start, end=last.end, text=first.text + last.text))


def is_kept(response: str, pieces: Sequence[Piece]) -> bool:
    """True if the pieces cover the response, and each untouched one still stands there word for word."""
    covered = "".join(piece.before.text for piece in pieces)
    return covered == response and all(piece.text == piece.before.text for piece in pieces if not piece.is_touched)


def changes_of(pieces: Sequence[Piece]) -> tuple[Change, ...]:
    changed = (piece for piece in pieces if piece.is_touched and piece.text != piece.before.text)
    return tuple(Change(before=piece.before, after=piece.text, reason=piece.reason) for piece in changed)


def diff_of(response: str, text: str) -> str:
    """Unified diff of the two texts, a sentence a line; empty if they are equal."""
    one, two = ([" ".join(span.text.split()) for span in split_sentences(side)] for side in (response, text))
    return "\n".join(difflib.unified_diff(one, two, "response", "repaired", lineterm="", n=1))
