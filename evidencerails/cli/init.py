"""`evidencerails init`: the rail in an existing guardrails config, by the smallest edit that does it."""

from __future__ import annotations

import difflib
import sys
from pathlib import Path

import typer

from evidencerails.adapters.nemo_rails import RAILS
from evidencerails.cli.errors import CliError
from evidencerails.cli.terminal import say
from evidencerails.text.visible import visible

ACTIVATIONS = ("per_response", "always", "shadow")
_FLOWS = ", ".join(RAILS)
_ACTIVATIONS = "|".join(ACTIVATIONS)


def init(
    folder: Path = typer.Argument(..., metavar="FOLDER", help="A guardrails config folder: the one with config.yml."),
    flow: list[str] = typer.Option(
        [],
        "--flow",
        metavar="NAME",
        help=f"Rail to add: {_FLOWS}. Repeatable. Default: those whose flags the config's flows set; else check "
        "grounding if the config has evidence (a kb folder, relevant_chunks, facts in its instructions), self check "
        "hallucination otherwise.",
    ),
    activation: str | None = typer.Option(
        None, metavar=_ACTIVATIONS, help="When the rail runs. Default: always, unless a flow sets that flag."
    ),
    yes: bool = typer.Option(False, "--yes", "-y", help="Write without asking."),
    dry_run: bool = typer.Option(False, "--dry-run", help="Show the change and write nothing."),
    undo: bool = typer.Option(False, "--undo", help="Take back what init wrote."),
) -> int:
    """Add the rail to an existing guardrails config: shows the change, asks, writes.

    evidencerails init ./config

    A second run changes nothing. --undo takes back the lines of init and leaves yours. Exit code: 0 done, 2 not
    possible, with the reason.
    """
    from evidencerails.cli import init_plan, init_record

    if not folder.is_dir():
        raise CliError(f"no folder {str(folder)!r}; give the folder that holds your config.yml")
    if undo:
        changes = init_record.changes_back(folder)
    else:
        _check_names(flow, activation)
        changes = init_plan.plan(folder, flows=flow, activation=activation)
    if not changes:
        say("nothing to change")
        return 0
    print_diff(changes)
    if dry_run:
        return 0
    if not yes and not _confirmed():
        say("nothing written; --yes writes without asking")
        return 2
    (init_record.restore if undo else init_record.write)(folder, changes)
    say("restored" if undo else f"written; prove that it fires with: evidencerails doctor {folder}")
    return 0


def _check_names(flows: list[str], activation: str | None) -> None:
    for flow in flows:
        if flow not in RAILS:
            raise CliError(f"unknown flow {flow!r}; available: {', '.join(RAILS)}")
    if activation is not None and activation not in ACTIVATIONS:
        raise CliError(f"unknown activation {activation!r}; available: {', '.join(ACTIVATIONS)}")


def _confirmed() -> bool:
    if not sys.stdin.isatty():
        return False
    return typer.confirm("Write this?", err=True)


def print_diff(changes: dict[Path, tuple[str | None, str | None]]) -> None:
    """A unified diff of each file on stdout; None stands for a file that is not there."""
    for file, (before, after) in changes.items():
        lines = difflib.unified_diff(
            (before or "").splitlines(),
            (after or "").splitlines(),
            fromfile=str(file) if before is not None else "/dev/null",
            tofile=str(file) if after is not None else "/dev/null",
            lineterm="",
        )
        for line in lines:
            print(visible(line))
