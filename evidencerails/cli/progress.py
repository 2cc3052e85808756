"""How far a long command is: a bar with the time left on a terminal, a line at every tenth elsewhere; on stderr."""

from __future__ import annotations

import sys
from typing import Any

from evidencerails.cli.terminal import console, say


class ProgressBar:
    """The bar of one command; `stop` it in any case.

    Args:
        title: what is being done.
    """

    def __init__(self, title: str) -> None:
        self._title = title
        self._bar: Any = None
        self._task: Any = None
        self._total = self._steps = 0

    def start(self, total: int) -> None:
        """Show it."""
        self._total, self._steps = total, 0
        if sys.stderr.isatty():
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (TextColumn(self._title), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            self._bar = Progress(*columns, console=console(sys.stderr))
            self._task = self._bar.add_task(self._title, total=total)
            self._bar.start()

    def step(self, *, told: bool = True) -> None:
        """One more is done; `told` False for one that was done before."""
        self._steps += 1
        if self._bar is not None:
            self._bar.advance(self._task)
        elif told and self._steps * 10 // self._total > (self._steps - 1) * 10 // self._total:
            say(f"{self._steps} of {self._total}")

    def stop(self) -> None:
        """Take it away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
