"""How commands write to a terminal: consoles without markup, lines for people on standard error, progress."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TextIO

from evidencerails.text.visible import visible

if TYPE_CHECKING:
    from rich.console import Console


def console(stream: TextIO | None = None, *, width: int | None = None) -> Console:
    """A console that takes no markup, emoji codes or highlighting from the text it prints."""
    from rich.console import Console

    class PipeConsole(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # rich would exit with 1, which says "hallucinated" here

    target = stream or sys.stdout
    if width is None and not target.isatty():
        width = 110  # rich falls back to 80, in which a table of four columns can hardly be read
    return PipeConsole(file=target, markup=False, emoji=False, highlight=False, width=width, soft_wrap=False)


def can_write(stream: TextIO, text: str) -> bool:
    """True if the stream's encoding has these characters (a C locale has not)."""
    try:
        text.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def say(message: str) -> None:
    """One line for people on stderr: reasons and progress."""
    line = f"evidencerails: {visible(message, one_line=True)}"
    encoding = sys.stderr.encoding or "utf-8"
    sys.stdout.flush()  # so that both streams into one file keep their order
    print(line.encode(encoding, "backslashreplace").decode(encoding), file=sys.stderr, flush=True)


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
