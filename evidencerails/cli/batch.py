"""`evidencerails batch`: a file of answers, checked row by row, resumable."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import typer

from evidencerails.cli.common import CONFIG, EXIT_INTERRUPTED, CliError, ProgressBar, one_of, refuse_unwritable, say
from evidencerails.config import GuardConfig
from evidencerails.guard import Guard
from evidencerails.operations.batch.output import TO_STDOUT, Output, files_of
from evidencerails.operations.batch.rows import STDIN, format_of, row_count, rows_of
from evidencerails.operations.batch.runner import FIELDS, Done, fingerprint_of, run_job
from evidencerails.operations.telemetry.emit import exporting
from evidencerails.settings.problems import nearest

EXIT_REJECTED = 3


_FORMAT = "jsonl, csv or parquet. Default: by the name; standard input is jsonl."
_MAP = "Read a field from a column of another name. Repeatable."


def batch(
    source: str = typer.Argument(..., metavar="INPUT", help="JSON Lines, CSV or Parquet file; - is standard input."),
    output: str = typer.Argument(..., metavar="OUTPUT", help="JSON Lines file; - is standard output."),
    config: Path | None = CONFIG,
    form: str | None = typer.Option(None, "--format", help=_FORMAT),
    column: list[str] = typer.Option([], "--map", metavar="FIELD=COLUMN", help=_MAP),
    concurrency: int = typer.Option(16, min=1, help="Rows processed at once."),
    restart: bool = typer.Option(False, "--restart", help="Start over instead of resuming an earlier run."),
    as_json: bool = typer.Option(False, "--json", help="Print the summary as JSON to standard output."),
) -> int:
    """Check a file of answers: one line with the report for each row.

    evidencerails batch answers.jsonl reports.jsonl

    A row has `response`, and optionally `id` (copied), `evidence`, `prompt`, `samples`, `tool_calls`, `tools`,
    `schema`, `logprobs`, `stakes`, `flow`, `agent`, `model`, `session`. Run the same command again to resume after a
    kill. Rows that cannot be read go to OUTPUT with the ending .rejected.jsonl, with the reason.

    Exit code: 0 every row has a report, 3 some were rejected, 2 wrong usage, 74 OUTPUT cannot be written any further.
    """
    if as_json and output == "-":
        raise CliError("--json and OUTPUT - would mix on standard output; give OUTPUT a file")
    if Path(output).suffix.lower() in (".csv", ".parquet"):
        whatever = "OUTPUT is written as JSON Lines, whatever the format of INPUT"
        raise CliError(f"{whatever}; name it *.jsonl, not {output!r}")
    one_of("format", form, ("jsonl", "csv", "parquet"))
    names, settings, kind = _names(column), GuardConfig.load(config), format_of(source, form)
    guard = Guard(settings)
    if output != TO_STDOUT:
        refuse_unwritable(*files_of(output), inputs=[0 if source == STDIN else Path(source), config])
    with Output(output, fingerprint_of(settings, names, source), is_restart=restart) as out:
        if out.done:
            say(f"{len(out.done)} rows are done already; going on")
        progress, before = ProgressBar("rows"), len(out.done)
        progress.start(row_count(source, kind), before)
        try:
            with exporting():
                job = run_job(
                    rows_of(source, kind),
                    guard,
                    out,
                    lambda done: progress.show(before + done.rows),
                    names=names,
                    concurrency=concurrency,
                )
                done = asyncio.run(job)
        except KeyboardInterrupt:
            say("interrupted; run the same command again to go on")
            return EXIT_INTERRUPTED
        finally:
            progress.stop()
        _say_summary(done, out, as_json)
        return EXIT_REJECTED if out.statuses["rejected"] else 0


def _names(columns: list[str]) -> dict[str, str]:
    names, known = {}, ("id", *FIELDS)
    for column in columns:
        ours, _, theirs = column.partition("=")
        if not theirs or ours not in known:
            raise CliError(f"--map {column!r} is not FIELD=COLUMN{nearest(ours, known)}; fields: {', '.join(known)}")
        names[ours] = theirs
    return names


def _say_summary(done: Done, out: Output, as_json: bool) -> None:
    statuses = dict(sorted(out.statuses.items()))
    this_run = {"rows": done.rows, "seconds": round(done.seconds, 2), "rows_per_s": round(done.rows_per_s, 1)}
    if as_json:
        print(json.dumps({"rows": sum(statuses.values()), "statuses": statuses, "this_run": this_run}, indent=2))
    counted = ", ".join(f"{count} {status}" for status, count in statuses.items()) or "no rows"
    say(f"{counted}; {done.rows} rows in {done.seconds:.1f} s, {done.rows_per_s:.1f} rows/s")
    if out.statuses["rejected"] and hasattr(out, "rejected_path"):
        say(f"rejected rows and reasons: {out.rejected_path}")
