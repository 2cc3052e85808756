"""What the pages show: their templates, in which all that is put in is escaped and made visible, and plain values."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evidencerails.report_page import Piece, pieces_of
from evidencerails.text.html import inline_style, templates_of
from evidencerails.text.visible import all_visible
from evidencerails.version import __version__

if TYPE_CHECKING:
    from jinja2 import Environment

    from evidencerails.operations.review.package import Package
    from evidencerails.operations.store.queries import Summary

QUANTILES = {"Median": 0.5, "95th percentile": 0.95, "99th percentile": 0.99}
FOLDER = Path(__file__).resolve().parent


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = templates_of(FOLDER / "templates")
    environment.filters |= {"moment": moment, "words": lambda text: str(text).replace("_", " ")}
    return environment


def render(name: str, **values: Any) -> str:
    """A template of the package with these values; an unknown name is an error."""
    return _environment().get_template(name).render(version=__version__, **all_visible(values))


def standalone(name: str, **values: Any) -> str:
    """The same as one file with its style inside, which its content security policy allows by hash."""
    style, digest = inline_style(FOLDER / "static" / "style.css")
    return render(name, style=style, style_hash=digest, **values)


def answer_of(package: Package) -> str:
    """The answer that a package's claims and findings are about; another text may go out in its place."""
    return str(package.context.get("response") or package.output)


def review_pieces(package: Package) -> list[Piece]:
    """The answer of a package cut at its marked words; a claim's number is its place among the flagged ones."""
    plain = package.model_dump(mode="json")
    return pieces_of({"claims": plain["flagged_claims"], "findings": plain["findings"]}, answer_of(package))


def moment(seconds: float | None) -> str:
    """A time for people, in UTC."""
    if seconds is None:
        return "-"
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S")


def share(part: float, whole: float) -> str:
    """A percentage; a dash of nothing."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


def latency_and_cost(rows: Sequence[Summary]) -> list[tuple[str, str]]:
    """Milliseconds a report and LLM work, in words."""
    times = [row.total_ms for row in rows if row.total_ms is not None]
    quantiles = np.quantile(times, [*QUANTILES.values()], method="inverted_cdf") if times else ()
    lines = [(f"{name} of a report", f"{ms:.0f} ms") for name, ms in zip(QUANTILES, quantiles, strict=False)]
    calls, tokens = sum(row.llm_calls for row in rows), sum(row.llm_tokens for row in rows)
    per = f"{calls / len(rows):.2f} calls, {tokens / len(rows):.0f} tokens" if rows else "-"
    return [*lines, ("LLM calls", str(calls)), ("LLM tokens", str(tokens)), ("LLM work a report", per)]
