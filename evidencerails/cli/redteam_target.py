"""What `evidencerails redteam` attacks, what it makes attacks from, and who is told when the score falls."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evidencerails.cli.check_input import text_of
from evidencerails.cli.errors import CliError
from evidencerails.cli.terminal import say
from evidencerails.errors import EvidencerailsError

if TYPE_CHECKING:
    from evidencerails.config import GuardConfig
    from evidencerails.evaluation.redteam.corpus import Document
    from evidencerails.evaluation.redteam.session import Run
    from evidencerails.evaluation.redteam.targets import Target

SUFFIXES = (".txt", ".md", ".rst", ".markdown", ".text")
ALERT = "redteam"
"""Key of the alert that a fall of the score opens."""


@dataclass(frozen=True, kw_only=True)
class Attacked:
    """The target, with the settings that hold in it."""

    target: Target
    name: str
    config: GuardConfig
    settings: GuardConfig
    """With the store that alerts go to, if there is one."""
    change_log: Sequence[str] = ()

    def tell(self, run: Run) -> None:
        """Open, repeat or close the alert about the score, where the settings have a store."""
        if self.settings.store is None:
            return
        from evidencerails.cli.monitoring import _send
        from evidencerails.operations.monitoring.alerts import Condition, notify
        from evidencerails.operations.store import Store

        conditions = []
        if run.fall is not None:
            data = {"failing": [one["attack"] for one in run.data["failures"]], "target": self.name}
            conditions.append(Condition(ALERT, run.fall.told(), data))
        store = Store(self.settings.store, redaction=self.settings.redaction)
        try:
            for sent in notify(store, conditions, self.settings.monitoring.alerts, only=ALERT):
                say(f"alert {sent.event}: {sent.message}")
            _send(store, self.settings)
        finally:
            store.close()


def documents_in(paths: Sequence[Path], app: Path | None) -> list[Document]:
    """The evidence: files, the text files of folders, and the knowledge base of the app if nothing else is given.

    Raises:
        CliError: a path is not there, or a folder has no text file.
    """
    from evidencerails.evaluation.redteam.corpus import Document

    given = list(paths) or ([app / "kb"] if app is not None and (app / "kb").is_dir() else [])
    found = []
    for path in given:
        files = sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES) if path.is_dir() else [path]
        if not files:
            raise CliError(f"no text file in {str(path)!r}; expected one of {', '.join(SUFFIXES)}")
        found += [Document(str(file), text_of(file)) for file in files]
    return found


def opened(
    config: Path | None, app: Path | None, *, ask: bool | None, store: str | None, history: Path | None
) -> Attacked:
    """The target that is asked for.

    Raises:
        EvidencerailsError: the settings are not valid, or the app does not start.
    """
    attacked = _app(app, ask) if app is not None else _engine(config, ask)
    settings = _with_store(attacked.settings, store)
    return replace(attacked, settings=settings, change_log=_change_log(settings, history, attacked.name))


def _engine(config: Path | None, ask: bool | None) -> Attacked:
    from evidencerails.config import GuardConfig
    from evidencerails.evaluation.redteam.targets import WITHOUT_SETTINGS, EngineTarget, quiet_settings
    from evidencerails.guard import Guard

    settings = GuardConfig.load(config)
    quiet = quiet_settings(settings)
    guard = Guard(quiet, folder=None if config is None else config if config.is_dir() else config.parent)
    target = EngineTarget(guard, checks=WITHOUT_SETTINGS if config is None else None)
    if ask and not target.can_be_asked:
        raise CliError("--ask needs a model: set llm.model and llm.base_url in the settings")
    target.can_be_asked = target.can_be_asked and ask is not False
    name = "the engine" if config is None else f"the engine with {config}"
    return Attacked(target=target, name=name, config=quiet, settings=settings)


def _app(folder: Path, ask: bool | None) -> Attacked:
    from evidencerails.adapters.nemo_watch import quiet
    from evidencerails.cli.installation import load_config, make_plugin_visible
    from evidencerails.config import GuardConfig
    from evidencerails.evaluation.redteam.targets import quiet_settings

    make_plugin_visible()
    loaded = load_config(folder)
    settings = GuardConfig.load(dict((loaded.custom_data or {}).get("evidencerails") or {}))
    has_model = any(model.type == "main" for model in loaded.models)
    if ask and not has_model:
        raise CliError(f"--ask needs a main model, and {str(folder)!r} has none")

    async def start() -> Target:  # in an event loop: outside of one NeMo makes its own and leaves it open
        return _started_app(folder, loaded, settings, ask=has_model and ask is not False)

    try:
        with quiet():
            target = asyncio.run(start())
    except EvidencerailsError as error:
        raise CliError(str(error)) from None
    except Exception as error:  # boundary to NeMo, the plugin and the user's own code
        raise CliError(f"the app does not start: {type(error).__name__}: {error}") from None
    return Attacked(target=target, name=f"the app {folder}", config=quiet_settings(settings), settings=settings)


def _started_app(folder: Path, loaded: Any, settings: GuardConfig, *, ask: bool) -> Target:
    from evidencerails.cli.installation import load_config
    from evidencerails.evaluation.redteam.live import AppTarget
    from evidencerails.evaluation.redteam.live_colang2 import Colang2Target

    if loaded.colang_version == "1.0":
        return AppTarget(_rails(loaded), settings, ask=ask)
    return Colang2Target(folder, loaded, settings, ask=ask, start=lambda place: _rails(load_config(place)))


def _rails(loaded: Any) -> Any:
    """The running app, which keeps no records: an attack leaves no trace in them."""
    from evidencerails.adapters.nemo_watch import started

    given = dict((loaded.custom_data or {}).get("evidencerails") or {})
    for name in ("store", "escalation", "telemetry"):
        given.pop(name, None)
    loaded.custom_data = {**(loaded.custom_data or {}), "evidencerails": given}
    return started(loaded)


def _with_store(settings: GuardConfig, url: str | None) -> GuardConfig:
    if url is None:
        return settings
    from evidencerails.settings.store import StoreSettings

    kept = (settings.store or StoreSettings()).model_copy(update={"url": url, "url_env": None})
    return settings.model_copy(update={"store": kept})


def _change_log(settings: GuardConfig, history: Path | None, target: str) -> list[str]:
    """Changes that people wrote down since the last run against the target."""
    if settings.store is None or history is None:
        return []
    import datetime

    from evidencerails.evaluation.redteam.history import entries, last_of
    from evidencerails.operations.monitoring.changes import changes
    from evidencerails.operations.store import Store

    last = last_of(entries(history), target)
    since = None if last is None else datetime.datetime.fromisoformat(last["date"]).timestamp()
    store = Store(settings.store, redaction=settings.redaction)
    try:
        return [change.description for change in changes(store, since=since)]
    finally:
        store.close()
