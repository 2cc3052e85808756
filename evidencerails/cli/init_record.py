"""What `init` wrote, kept beside the config so that `--undo` restores it byte for byte."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from evidencerails.cli.errors import CliError

RECORD = ".evidencerails-init.json"
"""NeMo reads only .yml, .yaml and .co files of a config folder, so this one is invisible to it."""

Changes = dict[Path, tuple["str | None", "str | None"]]
"""file -> text before and after; None where the file is not there."""


def read_exact(file: Path) -> str:
    """The file's text with its line ends as they are.

    Raises:
        CliError: it is not UTF-8.
    """
    try:
        return file.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise CliError(f"{str(file)!r} is not UTF-8 text; NeMo cannot read it either") from None


def write(folder: Path, changes: Changes) -> None:
    """Write the new texts and remember what stood there before the first run."""
    record = _read(folder)
    for file, (before, after) in changes.items():
        name = file.relative_to(folder).as_posix()
        first = record.get(name, {}).get("before", before)
        record[name] = {"before": first, "after_sha256": _digest(after)}
    (folder / RECORD).write_text(json.dumps({"version": 1, "files": record}, indent=1), encoding="utf-8")
    for file, (_, after) in changes.items():
        _put(file, after)


def changes_back(folder: Path) -> Changes:
    """What `--undo` has to write.

    Raises:
        CliError: `init` wrote nothing here, or a file was edited since.
    """
    record = _read(folder)
    if not record:
        raise CliError(f"nothing to undo: no {RECORD} in {str(folder)!r}")
    changes: Changes = {}
    for name, entry in record.items():
        file = folder / name
        now = read_exact(file) if file.is_file() else None
        if _digest(now) not in (entry["after_sha256"], _digest(entry["before"])):
            raise CliError(
                f"{str(file)!r} was edited after init wrote it, so it is left alone; take the lines of the rail out by "
                f"hand (its text before init is in {str(folder / RECORD)!r})"
            )
        changes[file] = (now, entry["before"])
    return changes


def restore(folder: Path, changes: Changes) -> None:
    """Write the old texts and forget the record."""
    for file, (_, before) in changes.items():
        _put(file, before)
    (folder / RECORD).unlink()


def _put(file: Path, text: str | None) -> None:
    if text is None:
        file.unlink(missing_ok=True)
    else:
        file.write_bytes(text.encode("utf-8"))


def _digest(text: str | None) -> str:
    return "absent" if text is None else hashlib.sha256(text.encode("utf-8")).hexdigest()


def _read(folder: Path) -> dict[str, Any]:
    file = folder / RECORD
    if not file.is_file():
        return {}
    try:
        return dict(json.loads(file.read_text(encoding="utf-8"))["files"])
    except (ValueError, KeyError, TypeError):
        raise CliError(f"{str(file)!r} is damaged; take the rail out by hand and delete that file") from None
