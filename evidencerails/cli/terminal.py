"""How commands write to a terminal: consoles without markup, lines for people on standard error, progress."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, TextIO

from evidencerails.text.visible import visible

if TYPE_CHECKING:
    from rich.console import Console

NOTE_EVERY_S = 10.0
"""Between two lines of progress where there is no terminal to redraw."""


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
    """How far a command is: a bar with the time left on a terminal, a line now and then elsewhere; on standard error.

    Args:
        title: what is being done; `stop` it in any case.
    """

    def __init__(self, title: str) -> None:
        self._title = title
        self._bar: Any = None

    def start(self, total: int | None, before: int = 0) -> None:
        """Show it; `total` is None where it is not known, `before` counts what was done in an earlier run."""
        self._total, self._before, self._done = total, before, before
        self._began = self._noted = time.monotonic()
        if sys.stderr.isatty():
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (TextColumn(self._title), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            self._bar = Progress(*columns, console=console(sys.stderr), transient=True)
            self._task = self._bar.add_task(self._title, total=total, completed=before)
            self._bar.start()

    def step(self) -> None:
        self.show(self._done + 1)

    def show(self, done: int) -> None:
        self._done, now = done, time.monotonic()
        if self._bar is not None:
            self._bar.update(self._task, completed=done)
        elif now - self._noted >= NOTE_EVERY_S:
            self._noted = now
            say(progress_line(done, self._total, (done - self._before) / (now - self._began)))

    def stop(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def progress_line(done: int, total: int | None, rate: float) -> str:
    """Progress in words, with `rate` a second and the time left."""
    if total is None:
        return f"{done} done, {rate:.1f} a second"
    left_s = (total - done) / rate if rate else float("inf")
    return f"{done} of {total} done ({100 * done / max(total, 1):.0f} %), {rate:.1f} a second, {left_s:.0f} s left"
