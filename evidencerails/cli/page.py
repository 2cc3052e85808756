"""A report as one HTML page that stands alone: no script, no request, and nothing in it that its texts could change."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from evidencerails.cli.render import marks
from evidencerails.cli.terminal import visible
from evidencerails.text.html import templates_of

if TYPE_CHECKING:
    from evidencerails.report import Redaction, Report

FOLDER = Path(__file__).resolve().parent
ABOUT = {
    "supported": "The evidence says so.",
    "partially_supported": "The evidence says a part of it.",
    "contradicted": "The evidence says otherwise.",
    "absent": "The evidence does not say it.",
    "unevaluatable": "It could not be checked.",
}


class Piece(NamedTuple):
    """A stretch of the answer; `label` is empty for words that nothing is wrong with."""

    text: str
    label: str = ""
    claim: int = 0


def page(
    report: Report,
    answer: str,
    *,
    redaction: Redaction = "off",
    expose_evidence: bool = True,
    debug_claims: bool = False,
) -> str:
    """The page. Texts of others are data: escaped, with control and bidirectional characters spelled out.

    Args:
        redaction: replaces answer and evidence text by hashes, or leaves it out.
        expose_evidence: without it no words of the evidence are in the page.
        debug_claims: adds what was extracted, if the check `claims` ran.
    """
    from markupsafe import Markup

    environment = templates_of(FOLDER)
    style = (FOLDER / "page.css").read_text(encoding="utf-8")
    return environment.get_template("page.html.j2").render(
        report=_harmless(report.plain(max_bytes=2**62, redaction=redaction, expose_evidence=expose_evidence)),
        pieces=_pieces(report, answer) if redaction == "off" else [],
        redaction=redaction,
        evidence_hidden=not expose_evidence,
        extraction=_extraction(report, answer, redaction) if debug_claims else None,
        about=ABOUT,
        style=Markup(style),
        style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
    )


def notebook_view(report: Report) -> str:
    """The report as a part of a notebook's page: marked words, claims and evidence, escaped, without a style sheet.

    A report does not hold its answer: what stands between its claims is shown as an ellipsis.
    """
    from evidencerails.cli.render import words_of

    plain = _harmless(report.plain(max_bytes=2**62))
    template = templates_of(FOLDER).get_template("notebook.html.j2")
    return template.render(report=plain, pieces=_pieces(report, words_of(report)))


def _pieces(report: Report, answer: str) -> list[Piece]:
    pieces, place = [], 0
    for mark in marks(report, answer):
        pieces.append(Piece(visible(answer[place : mark.start])))
        pieces.append(Piece(visible(answer[mark.start : mark.end]), mark.label, mark.claim))
        place = mark.end
    return [piece for piece in (*pieces, Piece(visible(answer[place:]))) if piece.text]


def _extraction(report: Report, answer: str, redaction: Redaction) -> Any:
    from evidencerails.cli.extraction import extraction_of

    return extraction_of(report, answer, redaction)


def _harmless(value: Any) -> Any:
    """Plain data with every text made visible: escaping alone lets bidirectional controls through."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, Mapping):
        return {key: _harmless(item) for key, item in value.items()}
    return [_harmless(item) for item in value] if isinstance(value, (list, tuple)) else value
