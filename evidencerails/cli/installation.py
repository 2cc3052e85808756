"""Can NeMo Guardrails find the plugin of this installation, and is it the one that belongs to the package?"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from evidencerails.adapters.nemo_install import IMPORT_PATH
from evidencerails.cli.errors import CliError
from evidencerails.settings.paths import PACKAGE, plugin_folder

SOURCE_FOLDERS = ("rails", "actions", "prompts")


def search_path() -> list[str]:
    """NeMo's own list of the folders in which it looks for an import path, after the current one."""
    from nemoguardrails.rails.llm import config

    return config.colang_path_dirs  # type: ignore[no-any-return]


def resolved_plugin(start: Path | None = None) -> Path | None:
    """The folder that `import_paths: [evidencerails/plugin]` leads to from the folder `start`; None if to none."""
    places = [start or Path.cwd(), *map(Path, search_path())]
    return next((place / IMPORT_PATH for place in places if (place / IMPORT_PATH).exists()), None)


def make_plugin_visible() -> str | None:
    """Let this process find the plugin even where NeMo would not.

    Returns: the shell line that the user's own processes need for it; None if NeMo finds the plugin by itself.

    Raises:
        CliError: there is no plugin folder at all.
    """
    if resolved_plugin() is not None:
        return None
    root = _installed_root()
    search_path().append(str(root))
    return f"export COLANGPATH={shlex.quote(str(root))}"


def _installed_root() -> Path:
    try:
        return plugin_folder().parent.parent
    except FileNotFoundError as error:
        raise CliError(str(error)) from None


def stale_files() -> list[str]:
    """Files of the installed plugin that differ from the source tree this package runs from.

    An editable install copies the plugin's folders once; later edits, and renames, do not reach NeMo.
    """
    source = PACKAGE.parent
    if not (source / "pyproject.toml").is_file():
        return []
    installed = resolved_plugin()
    if installed is None:
        return []
    pairs = [(source / "plugin" / "config.py", installed / "config.py")]
    for name in SOURCE_FOLDERS:
        here, there = _relative_files(source / name), _relative_files(installed / name)
        pairs += [(source / name / file, installed / name / file) for file in sorted(here | there)]
    return [str(copy.relative_to(installed)) for original, copy in pairs if _bytes(original) != _bytes(copy)]


def _relative_files(folder: Path) -> set[Path]:
    files = (file for file in folder.rglob("*") if file.is_file() and file.suffix in (".co", ".py", ".yml"))
    return {file.relative_to(folder) for file in files if "__pycache__" not in file.parts}


def _bytes(file: Path) -> bytes | None:
    return file.read_bytes() if file.is_file() else None


def load_config(folder: Path) -> Any:
    """A guardrails config as NeMo loads it.

    Raises:
        CliError: NeMo refuses it, in NeMo's own words; or it is written for the first name of this product.
    """
    import warnings

    from nemoguardrails import RailsConfig

    from evidencerails.errors import SettingsError
    from evidencerails.settings.old_name import refuse_old_files

    try:
        refuse_old_files(folder)
    except SettingsError as error:
        raise CliError(str(error)) from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # deprecations of the user's config are not this command's subject
            return RailsConfig.from_path(str(folder))
    except Exception as error:  # boundary to NeMo's parsers, which raise anything
        raise CliError(_without_settings(folder) or f"{type(error).__name__}: {error}") from None


def _without_settings(folder: Path) -> str | None:
    """Which file is empty or no mapping: NeMo breaks on one without naming it."""
    import yaml

    for file in sorted([*folder.rglob("*.yml"), *folder.rglob("*.yaml")]):
        try:
            data = yaml.safe_load(file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError):
            continue  # NeMo's own message names the line
        if not isinstance(data, dict):
            found = "is empty" if data is None else f"holds a {type(data).__name__}"
            return f"{str(file)!r} {found}; expected settings such as `models: [...]`"
    return None
