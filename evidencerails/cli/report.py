"""`evidencerails report`: what was kept over a time, for people or programs."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import typer

from evidencerails.cli.errors import CliError
from evidencerails.cli.span import seconds_of
from evidencerails.cli.store_place import CONFIG, STORE, opened, settings_for
from evidencerails.cli.terminal import say


def report(
    since: str = typer.Option("7d", "--since", metavar="TIME", help="How far back: 30m, 12h, 7d, 2w."),
    html: Path | None = typer.Option(
        None, "--html", metavar="FILE", help="Write one HTML page: no script, nothing loaded."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
    config: Path | None = CONFIG,
    store: str | None = STORE,
) -> int:
    """Rates, findings, scores, cost, error budget, shifts and the worst answers of the stored reports.

    evidencerails report --since 7d --html report.html

    Exit code: 0, or 2 for wrong usage.
    """
    begin, settings = time.time() - seconds_of(since), settings_for(config, store)
    if html is not None and (html.is_dir() or not html.resolve().parent.is_dir()):
        raise CliError(f"cannot write {str(html)!r}; give the path of a file in a folder that exists")
    from evidencerails.service.trends import trends

    with opened(settings) as kept:
        found = trends(kept, settings, begin)
    if html is not None:
        _write(html, found, begin)
        say(f"wrote {html}")
    if as_json:
        print(json.dumps(_plain(found), indent=2, default=str))
    elif html is None:
        _print(found)
    return 0


def _write(file: Path, found: dict[str, Any], begin: float) -> None:
    from evidencerails.service.templating import standalone

    text = standalone("standalone.html", since=begin, until=time.time(), **found)
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CliError(f"cannot write {str(file)!r}: {error.strerror}; give another path") from None


KEPT = ("reports", "rate", "unverified", "cost", "findings", "groups", "attribution", "retrieval", "worst")


def _plain(found: dict[str, Any]) -> dict[str, Any]:
    view = found["view"]
    return {
        **{name: found[name] for name in KEPT},
        "trend": [{"from": bar.label, "hallucinated": bar.value} for bar in found["trend"].bars],
        "budget": {**view.budget._asdict(), "left": view.budget.left},
        "cusum": view.cusum.chart._asdict() if view.cusum.chart else None,
        "shifts": [
            {**shift._asdict(), "change": shift.change._asdict() if shift.change else None}
            for shift in view.cusum.shifts
        ],
        "regressions": [
            {**one._asdict(), "changes": [change._asdict() for change in one.changes]} for one in view.regressions
        ],
    }


def _print(found: dict[str, Any]) -> None:
    from evidencerails.cli.monitor import summary_lines

    for line in summary_lines(found):
        print(line)
