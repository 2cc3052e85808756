"""`evidencerails migrate`: settings of an earlier version brought up to date, in place and with their comments."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import typer

from evidencerails.cli.errors import CliError
from evidencerails.cli.terminal import say

EXIT_TO_CHANGE = 1


def migrate(
    path: Path = typer.Argument(..., metavar="PATH", help="A guardrails config folder, or a YAML file of settings."),
    write: bool = typer.Option(False, "--write", help="Write the change; without it, it is only shown."),
) -> int:
    """Bring settings up to date: `schema_version` is added, and keys that have moved go where they belong now.

    evidencerails migrate ./config

    Exit code: 0 nothing to change or written, 1 something would change, 2 not possible, with the reason.
    """
    from evidencerails.cli.init import print_diff

    changes = _changes(path)
    if not changes:
        say("nothing to change")
        return 0
    print_diff({file: (before, after) for file, (before, after) in changes.items()})
    for file, (_, after) in changes.items():
        _require_valid(file, after)
    if not write:
        say("nothing written; --write writes it")
        return EXIT_TO_CHANGE
    for file, (_, after) in changes.items():
        _replace(file, after)
    say(f"written: {', '.join(str(file) for file in changes)}")
    return 0


def _changes(path: Path) -> dict[Path, tuple[str, str]]:
    """Text before and after of each file that changes."""
    from evidencerails.cli.migrate_steps import migrated

    files = sorted([*path.glob("*.yml"), *path.glob("*.yaml")]) if path.is_dir() else [path]
    if not files:
        raise CliError(f"no YAML file in {str(path)!r}; give a config folder or a file")
    changes, is_ours = {}, False
    for file in files:
        before = _text(file)
        try:
            found = migrated(before)
        except CliError as error:
            raise CliError(f"{file}: {error}") from None
        if found is None:
            continue
        is_ours = True
        for note in found.notes:
            say(f"{file}: {note}")
        if found.text != before:
            changes[file] = (before, found.text)
    if not is_ours:
        raise CliError(f"{str(path)!r} has no settings of evidencerails; add the rail first: evidencerails init FOLDER")
    return changes


def _text(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8")  # line ends as they are
    except (OSError, UnicodeDecodeError) as error:
        raise CliError(f"cannot read {str(file)!r}: {error}") from None


def _require_valid(file: Path, text: str) -> None:
    """Say what is wrong with the settings besides their version: this command moves keys, it mends no values."""
    import yaml

    from evidencerails.config import GuardConfig
    from evidencerails.errors import SettingsError
    from evidencerails.settings.reading import evidencerails_part

    try:
        GuardConfig.load(evidencerails_part(yaml.safe_load(text), whole=True))
    except SettingsError as error:
        raise CliError(f"{file}: the settings are not valid, before and after: {error}") from None


def _replace(file: Path, text: str) -> None:
    """Write the whole file or nothing, with the rights that it had."""
    try:
        mode = file.stat().st_mode & 0o7777
        with tempfile.NamedTemporaryFile(
            "wb", dir=file.resolve().parent, prefix=".evidencerails-", delete=False
        ) as new:
            new.write(text.encode("utf-8"))
            new.flush()
            os.fsync(new.fileno())
        os.chmod(new.name, mode)
        os.replace(new.name, file.resolve())
    except OSError as error:
        raise CliError(f"cannot write {str(file)!r}: {error.strerror}") from None
