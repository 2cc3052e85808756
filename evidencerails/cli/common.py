"""What several commands share: how they fail and with which exit code, lengths of time, the store they work on."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from evidencerails.errors import EvidencerailsError

if TYPE_CHECKING:
    from rich.table import Table

    from evidencerails.config import GuardConfig
    from evidencerails.operations.store import Store

EXIT_USAGE = 2
EXIT_UNVERIFIED = 3
EXIT_CANNOT_WRITE = 74
"""The disk is full, or failed: `EX_IOERR` of sysexits.h."""
EXIT_BY_STATUS = {"grounded": 0, "hallucinated": 1, "unverified": EXIT_UNVERIFIED}
SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 7 * 86_400.0}
PLAIN: Any = {"add_completion": False, "pretty_exceptions_enable": False, "rich_markup_mode": None}
"""How each part of the program is made."""
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


def refuse_unwritable(*files: Path | None) -> None:
    """Find out before the work is done, not after it, that a file cannot be written (a `CliError`)."""
    for file in files:
        if file is not None and (file.is_dir() or not file.resolve().parent.is_dir()):
            raise CliError(f"cannot write {str(file)!r}; give the path of a file in a folder that exists")


def refuse_no_folder(folder: Path) -> None:
    """Refuse what is no folder where one with a guardrails config is asked for (a `CliError`)."""
    if not folder.is_dir():
        raise CliError(f"no folder {str(folder)!r}; give the folder that holds your config.yml")


def one_of(what: str, value: str | None, allowed: Sequence[str]) -> None:
    """Refuse a word that is not among those allowed (a `CliError`)."""
    if value is not None and value not in allowed:
        raise CliError(f"unknown {what} {value!r}; expected one of {', '.join(allowed)}")


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
