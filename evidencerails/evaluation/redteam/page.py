"""A run of the red team as one HTML page that stands alone: no script, no request; texts of others are only text."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evidencerails.cli.terminal import visible
from evidencerails.evaluation.redteam.told import TITLES, category_rows, dimension_rows, score_told, summary, wanted
from evidencerails.evaluation.report import page as evaluation_page
from evidencerails.text.html import templates_of

FOLDER = Path(__file__).resolve().parent
BAR_WIDTH = 160
"""Of a score of 1, in pixels."""


def page(data: Mapping[str, Any]) -> str:
    """The page: escaped, with control and bidirectional characters spelled out."""
    from markupsafe import Markup

    environment = templates_of(FOLDER)
    style = (evaluation_page.FOLDER / "page.css").read_text(encoding="utf-8")
    rows = zip(category_rows(data), wanted(data).values(), strict=True)
    return environment.get_template("page.html.j2").render(
        run=data["run"],
        score=score_told(data["score"]),
        lines=[visible(line) for line in summary(data)],
        titles=TITLES,
        categories=[{"cells": row, "bar": round((one["value"] or 0) * BAR_WIDTH)} for row, one in rows],
        dimensions=list(dimension_rows(data)),
        failures=[{name: visible(str(value)) for name, value in one.items()} for one in data["failures"]],
        style=Markup(style),
        style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
    )
