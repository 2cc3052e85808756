"""What the commands share: how they fail and with which exit code, lengths of time, the store they work on; consoles
without markup, lines for people on standard error, progress."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import typer

from evidencerails.errors import EvidencerailsError
from evidencerails.text.visible import visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from evidencerails.config import GuardConfig
    from evidencerails.operations.store import Store

EXIT_USAGE = 2
EXIT_UNVERIFIED = 3
EXIT_INTERRUPTED = 130
EXIT_CANNOT_WRITE = 74
"""The disk is full, or failed: `EX_IOERR` of sysexits.h."""
EXIT_BY_STATUS = {"grounded": 0, "hallucinated": 1, "unverified": EXIT_UNVERIFIED}
SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 7 * 86_400.0}
TYPER_OPTIONS: Any = {"add_completion": False, "pretty_exceptions_enable": False, "rich_markup_mode": None}
JSON = typer.Option(False, "--json", help="Print JSON.")
JSON_FILE = typer.Option(None, "--json", metavar="FILE", help="Write everything as JSON.")
CONFIG = typer.Option(
    None, "--config", "-c", metavar="PATH", help="Settings: a YAML file or a guardrails config folder."
)
_STORE = "SQLAlchemy URL, instead of that in the settings. Default: sqlite:///evidencerails.db"
STORE = typer.Option(None, "--store", metavar="URL", help=_STORE)


class CliError(EvidencerailsError):
    """The command was called in a way that cannot work; the message says what to do instead."""


def seconds_of(text: str) -> float:
    """Seconds of `30m`, `12h`, `7d` or `2w`. `CliError`: it is none of these."""
    found = re.fullmatch(r"(\d{1,6})([smhdw])", text.strip())
    if found is None or int(found[1]) == 0:
        raise CliError(f"{text!r} is no length of time; give a number and s, m, h, d or w, such as 7d")
    return int(found[1]) * SECONDS[found[2]]


def settings_for(config: Path | None, url: str | None) -> GuardConfig:
    """The settings with the store that is asked for."""
    from evidencerails.config import GuardConfig

    return with_store(GuardConfig.load(config), url)


def with_store(settings: GuardConfig, url: str | None) -> GuardConfig:
    from evidencerails.settings.operations import StoreSettings

    kept = settings.store or StoreSettings()
    if url is not None:
        kept = kept.model_copy(update={"url": url, "url_env": None})
    return settings.model_copy(update={"store": kept})


def folder_of(config: Path | None) -> Path | None:
    """The folder that names of files in settings are looked up in."""
    return config if config is None or config.is_dir() else config.parent


def opened(settings: GuardConfig) -> Store:
    """The store, which must be there: a command that reads makes no empty one."""
    from evidencerails.operations.store import Store

    assert settings.store is not None
    store = Store(settings.store, redaction=settings.redaction)
    if store.file is not None and not store.file.exists():
        store.close()
        raise CliError(f"there is no store {str(store.file)!r}; give --config PATH or --store URL")
    return store


def refuse_unwritable(*files: Path | None, inputs: Iterable[Path | int | None] = ()) -> None:
    """Find out before the work is done, not after it, that a file cannot be written, or is one of the `inputs` (a
    `CliError`). These are files, open ones as their descriptor, and folders of settings."""
    read = [one for given in inputs if given is not None for one in _files_of(given)]
    for file in (file for file in files if file is not None):
        if file.is_dir() or not file.resolve().parent.is_dir():
            raise CliError(f"cannot write {str(file)!r}; give the path of a file in a folder that exists")
        if any(_is_same_file(file, one) for one in read):
            raise CliError(f"cannot write {str(file)!r}: this command also reads that file; give another output")


def _files_of(given: Path | int) -> list[Path | int]:
    return [*given.glob("*.y*ml")] if isinstance(given, Path) and given.is_dir() else [given]


def _is_same_file(one: Path, other: Path | int) -> bool:
    with contextlib.suppress(OSError):  # one of them is not there
        return os.path.samefile(one, other)
    return False


def refuse_no_folder(folder: Path) -> None:
    """Refuse what is no folder where one with a guardrails config is asked for (a `CliError`)."""
    if not folder.is_dir():
        raise CliError(f"no folder {str(folder)!r}; give the folder that holds your config.yml")


def one_of(what: str, value: str | None, allowed: Sequence[str]) -> None:
    """Refuse a word that is not among those allowed (a `CliError`)."""
    if value is not None and value not in allowed:
        from evidencerails.settings.problems import nearest

        raise CliError(f"unknown {what} {value!r}{nearest(value, allowed)}; expected one of {', '.join(allowed)}")


def names_in(given: Sequence[str]) -> list[str]:
    """The names of an option that may be repeated and may hold several, separated by commas."""
    return [name.strip() for part in given for name in part.split(",") if name.strip()]


def plain_table(*columns: str) -> Table:
    """A table without a frame; its columns keep their words together."""
    from rich.table import Table

    table = Table(show_edge=False, pad_edge=False)
    for name in columns:
        table.add_column(name, no_wrap=True)
    return table


def write_text(file: Path, text: str) -> None:
    """Write a file; a `CliError` if it cannot be written."""
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CliError(f"cannot write {str(file)!r}: {error.strerror}; give another path") from error


def write_json(file: Path, data: Any) -> None:
    write_text(file, json.dumps(data, indent=1, allow_nan=False) + "\n")


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


def text_in(name: str) -> str:
    """The text of a file; of standard input for `-`."""
    return _decoded(sys.stdin.buffer.read(), "standard input") if name == "-" else text_of(Path(name))


def text_of(file: Path) -> str:
    """The text of a file. `CliError`: it cannot be read, or is no UTF-8 text."""
    try:
        return _decoded(file.read_bytes(), repr(str(file)))
    except OSError as error:
        raise CliError(f"cannot read {str(file)!r}: {error.strerror}; give the path of a text file") from None


def _decoded(data: bytes, name: str) -> str:
    if data.startswith(b"%PDF-"):  # one without binary parts would be read as if its markup were the text
        raise CliError(f"{name} is a PDF; give its text instead (pdftotext makes it)")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CliError(f"{name} is not UTF-8 text (byte {error.start}); convert it to UTF-8 first") from None
