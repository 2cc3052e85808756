"""What `evidencerails redteam` leaves behind of a run: files, the table on the terminal, proposals for the suite."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from evidencerails.cli.terminal import console, say
from evidencerails.text.visible import visible

if TYPE_CHECKING:
    from evidencerails.evaluation.redteam.session import Run


class Written(NamedTuple):
    """The files that are wanted; None for each that is not."""

    json: Path | None
    html: Path | None
    markdown: Path | None
    suite: Path | None
    """All attacks of the run."""
    proposals: Path | None
    """New attacks that got through are appended."""

    @property
    def files(self) -> tuple[Path | None, ...]:
        """All of them."""
        return tuple(self)

    def take(self, run: Run) -> None:
        """Write the files and print the table."""
        from evidencerails.evaluation.redteam.suite import write_suite

        if self.suite is not None:
            write_suite(self.suite, [one.attack for one in run.results])
        _write(run, self)
        _print(run)
        _propose(run, self.proposals)


def _write(run: Run, files: Written) -> None:
    if files.json is not None:
        files.json.write_text(json.dumps(run.data, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    if files.markdown is not None:
        from evidencerails.evaluation.redteam.wording import markdown

        files.markdown.write_text(markdown(run.data), encoding="utf-8")
    if files.html is not None:
        from evidencerails.evaluation.redteam.wording import page

        files.html.write_text(page(run.data), encoding="utf-8")


def _print(run: Run) -> None:
    from rich.table import Table
    from rich.text import Text

    from evidencerails.evaluation.redteam.wording import TITLES, category_rows, dimension_rows, summary

    out, table = console(), Table(show_edge=False, pad_edge=False)
    expected = TITLES.index("expected behaviour")  # stands in the files: a terminal is too narrow for it
    for place, title in enumerate(TITLES):
        if place != expected:
            table.add_column(title, no_wrap=True)
    for row in category_rows(run.data):
        table.add_row(*(Text(cell) for place, cell in enumerate(row) if place != expected))
    out.print(table)
    for name, score, n in dimension_rows(run.data):
        out.print(Text(f"{name}: {score} (n = {n})"))
    for line in summary(run.data):
        out.print(Text(visible(line, one_line=True)))


def _propose(run: Run, file: Path | None) -> None:
    from evidencerails.evaluation.redteam import suite

    failures = suite.new_failures(run.results)
    if not failures:
        return
    if file is None:
        say(f"{len(failures)} new attacks show a weakness; --propose FILE keeps them for your suite")
        return
    fresh = suite.propose(file, failures)
    say(f"{fresh} new attacks proposed in {str(file)!r}: look at them, then add that file by --suite")
