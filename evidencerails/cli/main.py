"""The program `evidencerails`: collects the commands and turns every error into one line and an exit code."""

from __future__ import annotations

import errno
import importlib
import os
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from evidencerails.cli.common import EXIT_CANNOT_WRITE, EXIT_INTERRUPTED, EXIT_USAGE, TYPER_OPTIONS, say
from evidencerails.errors import EvidencerailsError, MissingExtraError
from evidencerails.version import __version__

PROGRAM = "evidencerails"
"""Its name in usage lines, also as `python -m evidencerails`."""
EXIT_PIPE_CLOSED = 141
"""What a shell shows of a program that SIGPIPE ended: its reader went away (`evidencerails ... | head`)."""
CANNOT_WRITE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)
"""What a disk says that takes no more: no bug."""
EXIT_CRASHED = 70
"""A bug. Python's own 1 would read as "hallucinated"."""
COMMANDS = {
    "check": ("check:check", "Check one answer: which of its claims do its sources support?"),
    "init": ("init:init", "Add the rail to an existing guardrails config: shows the change, asks, writes."),
    "doctor": ("doctor:doctor", "Prove that each rail of a guardrails config fires."),
    "demo": ("demo:demo", "Watch a guarded conversation: a real NeMo Guardrails app, offline."),
    "serve": ("serve:serve", "Serve checks over HTTP, with a dashboard at /."),
    "batch": ("batch:batch", "Check a file of answers: one line with the report for each row."),
    "monitor": ("monitoring:monitor", "Rate, trend, error budget, CUSUM and the worst answers."),
    "report": ("monitoring:report", "The stored reports as a page or JSON."),
    "eval": ("evaluation:evaluate", "Measure methods on labelled answers, with intervals."),
    "calibrate": ("evaluation:calibrate", "Fit calibrators, an ensemble and a threshold on evaluated answers."),
    "redteam": ("redteam:redteam", "Attack the guard with answers and questions made from your own evidence."),
    "alert": ("monitoring:alert", "Look for shifts, regressions and a spent budget, and send alerts."),
    "gate": ("monitoring:gate", "Check whether the error budget allows a deployment."),
    "bisect": ("bisect:bisect", "Find the configuration after which answers got worse."),
    "schema": ("schema:schema", "Print the JSON Schema of config.yml, for editors."),
    "change": ("monitoring:change", "Record a change of the system."),
    "review": ("review:app", "Human review: list, show and decide pending answers."),
    "store": ("store:app", "The store of reports: status, export, retention."),
}
"""Where each command is, and what the list of them says of it."""


class _Loaded(Mapping[str, Any]):
    """The commands; the module of one is imported when it is asked for, and no other's."""

    def __getitem__(self, name: str) -> Any:
        module, _, attribute = COMMANDS[name][0].partition(":")
        home = importlib.import_module(f"evidencerails.cli.{module}")
        found = getattr(home, attribute)
        if not isinstance(found, typer.Typer):
            function, found = found, typer.Typer(**TYPER_OPTIONS)
            found.command(name, epilog=getattr(home, "EPILOG", None))(function)
        command = get_command(found)
        command.name = name
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class _Program(TyperGroup):
    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = _Loaded()  # type: ignore[assignment]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return self.commands[cmd_name] if cmd_name in COMMANDS else None  # `get` hides a KeyError of the import

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in COMMANDS.items()])


app = typer.Typer(
    name=PROGRAM,
    cls=_Program,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    **TYPER_OPTIONS,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"evidencerails {__version__}")
        raise typer.Exit


@app.callback()
def evidencerails(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """Catch hallucinations before a user sees them: output rails for NeMo Guardrails.

    Start with:  evidencerails demo
    """


def run(arguments: Sequence[str] | None = None) -> None:
    """Run the program and leave with its exit code; entry point of the console script."""
    sys.exit(_exit_code(arguments))


def _exit_code(arguments: Sequence[str] | None) -> int:
    try:
        result = app(args=list(arguments) if arguments is not None else None, prog_name=PROGRAM, standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except EvidencerailsError as error:
        is_disk = isinstance(error.__cause__, OSError) and error.__cause__.errno in CANNOT_WRITE
        _say_at_last(str(error))
        return EXIT_CANNOT_WRITE if is_disk else EXIT_USAGE
    except (KeyboardInterrupt, typer.Abort):
        say("interrupted")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        _drop_output()
        return EXIT_PIPE_CLOSED
    except Exception as error:  # the last boundary: a full disk, a missing extra, or a bug with its traceback
        return _exit_code_of(error)


def _exit_code_of(error: Exception) -> int:
    if isinstance(error, OSError) and error.errno in CANNOT_WRITE:
        where = repr(str(error.filename)) if error.filename else "the output"
        _say_at_last(f"cannot write {where}: {error.strerror}")
        return EXIT_CANNOT_WRITE
    missing = MissingExtraError.of(error, "this command") if isinstance(error, ModuleNotFoundError) else None
    if missing is None and not hasattr(error, "format_message"):  # click's usage errors have it; any other is a bug
        traceback.print_exc()
        return EXIT_CRASHED
    if missing is not None:
        say(str(missing))
    elif type(error).__name__ == "NoArgsIsHelpError":  # its message is the help; no public name in every version
        print(error.format_message(), file=sys.stderr)  # type: ignore[attr-defined]
    else:
        say(f"{error.format_message()} (see: evidencerails --help)")  # type: ignore[attr-defined]
    return EXIT_USAGE


def _say_at_last(message: str) -> None:
    """One line on standard error, also where standard output takes no more."""
    try:
        sys.stdout.flush()
    except OSError:
        _drop_output()
    say(message)


def _drop_output() -> None:
    """Throw away what standard output still holds, or Python complains when it flushes at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    run()
