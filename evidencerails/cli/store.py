"""`evidencerails store`: what is kept, out of it, and away with what is old."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import get_args

import typer

from evidencerails.cli.common import (
    CONFIG,
    JSON,
    SECONDS,
    STORE,
    TYPER_OPTIONS,
    CliError,
    one_of,
    opened,
    refuse_unwritable,
    say,
    settings_for,
)
from evidencerails.report import Status

app = typer.Typer(**TYPER_OPTIONS, no_args_is_help=True, help="The store of reports: status, export, retention.")


@app.command("status")
def status(as_json: bool = JSON, config: Path | None = CONFIG, store: str | None = STORE) -> int:
    """Show how many reports are stored."""
    from evidencerails.operations.store import queries

    with opened(settings_for(config, store)) as kept:
        counts = {str(c.value): c.reports for c in queries.counts(kept.engine, "status")}
    data = {"reports": sum(counts.values()), "by_status": counts}
    if as_json:
        print(json.dumps(data, indent=2))
    else:
        parts = ", ".join(f"{count} {name}" for name, count in counts.items())
        print(f"{data['reports']} reports ({parts or 'none'})")
    return 0


@app.command("export")
def export(
    to: str = typer.Argument("-", metavar="FILE", help="Where to; - is standard output."),
    as_: str = typer.Option("jsonl", "--format", help="jsonl: everything that is kept; csv: the columns."),
    since_days: float | None = typer.Option(None, "--since-days", min=0, help="Only reports of the last days."),
    status_: str | None = typer.Option(None, "--status", help="grounded, hallucinated or unverified."),
    config: Path | None = CONFIG,
    store: str | None = STORE,
) -> int:
    """Write reports to a file, in the order in which they came."""
    one_of("format", as_, ("jsonl", "csv"))
    one_of("status", status_, get_args(Status))
    from evidencerails.operations.store import queries
    from evidencerails.operations.store.queries import export as write

    with opened(settings_for(config, store)) as kept:
        since = None if since_days is None else kept.now() - since_days * SECONDS["d"]
        reports = queries.each(kept.engine, queries.Filter(status=status_, since=since))
        if to == "-":
            count = write(reports, sys.stdout, as_)  # type: ignore[arg-type]
        else:
            refuse_unwritable(Path(to), inputs=[kept.file, config])
            try:
                with Path(to).open("w", encoding="utf-8", newline="") as stream:
                    count = write(reports, stream, as_)  # type: ignore[arg-type]
            except OSError as error:
                raise CliError(f"cannot write {to!r}: {error.strerror}; give another path") from None
    say(f"{count} reports")
    return 0


@app.command("purge")
def purge(
    force: bool = typer.Option(False, "--force", help="Delete even if no report would be left."),
    config: Path | None = CONFIG,
    store: str | None = STORE,
) -> int:
    """Delete reports older than `store.keep_days`, and reviews as `escalation.keep_days` and `redaction` say."""
    from evidencerails.operations.review.desk import tidy_reviews

    settings = settings_for(config, store)
    with opened(settings) as kept:
        reports = kept.purge(force=force)
        reviews = tidy_reviews(kept, settings)
    print(f"{reports} reports and {reviews.deleted} reviews deleted; texts of {reviews.emptied} reviews deleted")
    return 0


@app.command("init")
def init(config: Path | None = CONFIG, store: str | None = STORE) -> int:
    """Create the tables; they are also created when the store is first opened."""
    from evidencerails.operations.store import Store

    settings = settings_for(config, store)
    with Store(settings.store, redaction=settings.redaction) as kept:
        print(f"ready: {kept.engine.url.render_as_string(hide_password=True)}")
    return 0
