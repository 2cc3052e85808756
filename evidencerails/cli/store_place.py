"""Which store a command works on: the one of the settings, of a URL, or the default one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from evidencerails.cli.errors import CliError

if TYPE_CHECKING:
    from evidencerails.config import GuardConfig
    from evidencerails.operations.store import Store

CONFIG = typer.Option(
    None, "--config", "-c", metavar="PATH", help="Settings: a YAML file or a guardrails config folder."
)
STORE = typer.Option(
    None,
    "--store",
    metavar="URL",
    help="SQLAlchemy URL, in the place of the settings'. Default: sqlite:///evidencerails.db",
)


def settings_for(config: Path | None, url: str | None) -> GuardConfig:
    """The settings with the store that is asked for."""
    from evidencerails.config import GuardConfig
    from evidencerails.settings.store import StoreSettings

    settings = GuardConfig.load(config)
    kept = settings.store or StoreSettings()
    if url is not None:
        kept = kept.model_copy(update={"url": url, "url_env": None})
    return settings.model_copy(update={"store": kept})


def opened(settings: GuardConfig) -> Store:
    """The store, which must be there: a command that reads makes no empty one."""
    from evidencerails.operations.store import Store

    assert settings.store is not None
    store = Store(settings.store, redaction=settings.redaction)
    file = store.file
    if file is not None and not file.exists():
        store.close()
        raise CliError(f"there is no store {str(file)!r}; give --config PATH or --store URL")
    return store
