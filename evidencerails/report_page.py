"""A report for people: the marked words of its answer, one HTML page that stands alone, a notebook's view."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Protocol

from evidencerails.text.html import FOLDER, inline_style, templates_of
from evidencerails.text.values import bare_word, is_function_word
from evidencerails.text.visible import all_visible, visible

ABOUT = {
    "supported": "The evidence says so.",
    "partially_supported": "The evidence says a part of it.",
    "contradicted": "The evidence says otherwise.",
    "absent": "The evidence does not say it.",
    "unevaluatable": "It could not be checked.",
}
MARKED = ("contradicted", "absent", "partially_supported")
MOST_WORDS = 0.6
"""If more of a claim's words than this share are missing from its evidence, marking single words says nothing."""
SHORTEST_MARKED = 4
"""Shorter words without a digit are mostly particles and auxiliaries."""
_WORD = re.compile(r"\w+(?:[.,'’:/-]\w+)*")


class Report(Protocol):
    """What a page reads of a report: its plain data. `report.Report` is one."""

    def plain(
        self, *, max_bytes: int | None = ..., redaction: Any = ..., expose_evidence: bool = ...
    ) -> dict[str, Any]:
        """JSON-ready data."""
        ...


class Mark(NamedTuple):
    """Words of the answer to mark, by character offsets."""

    start: int
    end: int
    label: str
    """Why: the label of a claim, or the kind of a finding."""
    claim: int = 0
    """Number of the claim in the report, from 1; 0 for a finding that belongs to none."""


class Piece(NamedTuple):
    """A part of the answer; `label` is empty for words that nothing is wrong with."""

    text: str
    label: str = ""
    claim: int = 0


def page(
    report: Report,
    answer: str,
    *,
    redaction: str = "off",
    expose_evidence: bool = True,
    extraction: Any = None,
) -> str:
    """The report as one HTML page.

    Args:
        redaction: replaces answer and evidence text by hashes, or leaves it out.
        expose_evidence: without it no words of the evidence are in the page.
        extraction: what was extracted as a claim, to be shown too: `claims`, `dropped` and `notes`.
    """
    style, style_hash = inline_style(FOLDER / "report.css")
    return _rendered(
        "report.html.j2",
        style=style,
        style_hash=style_hash,
        report=report.plain(max_bytes=None, redaction=redaction, expose_evidence=expose_evidence),
        pieces=pieces_of(report.plain(max_bytes=None), answer) if redaction == "off" else [],
        redaction=redaction,
        evidence_hidden=not expose_evidence,
        extraction=extraction,
        about=ABOUT,
    )


def notebook_view(report: Report) -> str:
    """The report as a part of a notebook's page: marked words, claims and evidence, escaped, without a style sheet.

    A report does not hold its answer: what stands between its claims is shown as an ellipsis.
    """
    plain = report.plain(max_bytes=None)
    return _rendered("notebook.html.j2", report=plain, pieces=pieces_of(plain, words_of(plain)))


def _rendered(template: str, **values: Any) -> str:
    return templates_of(FOLDER).get_template(template).render(all_visible(values))


def pieces_of(report: Mapping[str, Any], answer: str) -> list[Piece]:
    """The answer cut at the words that a report's plain data marks, its texts made harmless."""
    pieces, place = [], 0
    for mark in _joined_marks(report, answer):
        pieces.append(Piece(visible(answer[place : mark.start])))
        pieces.append(Piece(visible(answer[mark.start : mark.end]), mark.label, mark.claim))
        place = mark.end
    return [piece for piece in (*pieces, Piece(visible(answer[place:]))) if piece.text]


def words_of(report: Mapping[str, Any]) -> str:
    """The answer as far as a report holds it, each word in its place; an ellipsis where words are missing."""
    spans = [item["span"] for item in (*report["claims"], *report["findings"]) if item["span"] is not None]
    answer = ["\0"] * max((span["end"] for span in spans), default=0)
    for span in spans:
        answer[span["start"] : span["end"]] = span["text"]
    return re.sub("\0+", lambda gap: "…".center(len(gap[0])) if len(gap[0]) > 2 else " " * len(gap[0]), "".join(answer))


def _joined_marks(report: Mapping[str, Any], answer: str) -> list[Mark]:
    """The offending words of an answer in order, none in two marks; neighbours of one claim are joined."""
    out: list[Mark] = []
    for mark in sorted(_marks(report["claims"], report["findings"], answer)):
        last = out[-1] if out else None
        if last and mark.start <= last.end + 1 and (mark.label, mark.claim) == (last.label, last.claim):
            out[-1] = last._replace(end=max(mark.end, last.end))
        elif last and mark.start < last.end:
            if mark.end > last.end:
                out.append(mark._replace(start=last.end))
        else:
            out.append(mark)
    return out


def _marks(claims: list[dict[str, Any]], findings: list[dict[str, Any]], answer: str) -> Iterable[Mark]:
    """Those of claims and of findings; where they meet, what is about fewer words says more closely what is wrong."""
    marked = [(one, mark) for one in enumerate(claims, start=1) for mark in _marks_in_claim(*one, answer)]
    for finding in findings:
        if finding["span"] is None or finding["kind"] == "unsupported_claim":
            continue
        start, end = finding["span"]["start"], finding["span"]["end"]
        met = [one for one in marked if one[1].start < end and start < one[1].end]
        if all(end - start < claim["span"]["end"] - claim["span"]["start"] for (_, claim), _ in met):
            yield Mark(start, end, finding["kind"])
            marked = [one for one in marked if one not in met]
    yield from (mark for _, mark in marked)


def _marks_in_claim(number: int, claim: dict[str, Any], answer: str) -> list[Mark]:
    """The words of a claim that its evidence lacks; the whole claim if there are none, or mostly such words, or if the
    report hides what the evidence says."""
    if claim["label"] not in MARKED:
        return []
    spans = [(one["start"], one["end"]) for one in claim["spans"] or (claim["span"],)]
    quotes = [quote["span"] for quote in claim["evidence"]]
    if any(len(quote.get("text", "")) != quote["end"] - quote["start"] for quote in quotes):  # left out, or a hash
        return [Mark(*span, claim["label"], number) for span in spans]
    known = {word.casefold() for quote in quotes for word in _WORD.findall(quote["text"])}
    words = [word for span in spans for word in _WORD.finditer(answer, *span)]
    unknown = [word for word in words if word.group().casefold() not in known and _says_something(word.group())]
    if unknown and len(unknown) <= MOST_WORDS * len(words):
        spans = [word.span() for word in unknown]
    return [Mark(*span, claim["label"], number) for span in spans]


def _says_something(word: str) -> bool:
    is_content = len(word) >= SHORTEST_MARKED and not is_function_word(bare_word(word))
    return is_content or any(character.isdigit() for character in word)
