"""The program `evidencerails`: collects the commands and turns every error into one line and an exit code."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Callable, Sequence

import typer

from evidencerails import __version__
from evidencerails.cli import (
    batch,
    bisect,
    check,
    demo,
    doctor,
    evaluation,
    init,
    monitoring,
    redteam,
    review,
    schema,
    serve,
    store,
)
from evidencerails.cli.common import EXIT_CANNOT_WRITE, EXIT_USAGE
from evidencerails.cli.terminal import say
from evidencerails.errors import EvidencerailsError, MissingExtraError

PROGRAM = "evidencerails"
"""Its name in usage lines, also as `python -m evidencerails`."""
EXIT_INTERRUPTED = 130
EXIT_PIPE_CLOSED = 141
"""What a shell shows of a program that SIGPIPE ended: its reader went away (`evidencerails ... | head`)."""
CANNOT_WRITE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)
"""What a disk says that takes no more: no bug."""
EXIT_CRASHED = 70
"""A bug. Python's own 1 would read as "hallucinated"."""
COMMANDS: dict[str, Callable[..., int]] = {
    "check": check.check,
    "init": init.init,
    "doctor": doctor.doctor,
    "demo": demo.demo,
    "serve": serve.serve,
    "batch": batch.batch,
    "monitor": monitoring.monitor,
    "report": monitoring.report,
    "eval": evaluation.evaluate,
    "calibrate": evaluation.calibrate,
    "redteam": redteam.redteam,
    "alert": monitoring.alert,
    "gate": monitoring.gate,
    "bisect": bisect.bisect,
    "schema": schema.schema,
    "change": monitoring.change,
}

app = typer.Typer(
    name=PROGRAM,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
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


for _name, _command in COMMANDS.items():
    app.command(_name, epilog=check.ENVIRONMENT if _name == "check" else None)(_command)
app.add_typer(review.app, name="review")
app.add_typer(store.app, name="store")


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
