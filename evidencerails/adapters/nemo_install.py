"""Whether NeMo can see the installed plugin, and whether what it loaded is ours."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from evidencerails.adapters.nemo_rails import IMPORT_PATH
from evidencerails.settings.paths import plugin_folder

_ADAPTER = "evidencerails.adapters.nemo"


def search_path() -> list[str]:
    """NeMo's own list of the folders in which it looks for an import path, after the current one."""
    from nemoguardrails.rails.llm import config

    return config.colang_path_dirs  # type: ignore[no-any-return]


def found_plugin() -> Path | None:
    """The folder that `import_paths: [evidencerails/plugin]` leads to; None if to none."""
    places = [Path.cwd(), *map(Path, search_path())]
    return next((place / IMPORT_PATH for place in places if (place / IMPORT_PATH).exists()), None)


def import_path_problem() -> str | None:
    """Why `import_paths: [evidencerails/plugin]` would not load, and what to do; None if it would.

    NeMo looks in the current directory, in COLANGPATH as it was when NeMo was imported, and in the site-packages that
    holds NeMo: an editable, `--user` or `--target` install of evidencerails may lie in none of these.
    """
    seen = found_plugin()
    if seen is None:
        return f"NeMo does not find {IMPORT_PATH!r}; {_remedy()}"
    missing = [name for name in ("rails", "actions", "prompts", "config.py") if not (seen / name).exists()]
    if missing:
        return f"{seen} is found first, but has no {', '.join(missing)}: it is not an installed plugin; {_remedy()}"
    return None


def _remedy() -> str:
    try:
        folder = plugin_folder()
    except FileNotFoundError as error:
        return str(error)
    root = folder.parent.parent
    return f"set the environment variable before Python starts: COLANGPATH={root}{os.pathsep}$COLANGPATH"


def is_our_action(action: Any) -> bool:
    """True if the action is one of the plugin's: NeMo executes action files by path, so its module says nothing, but
    it calls our adapter."""
    run_rail = getattr(action, "__globals__", {}).get("run_rail")
    return getattr(run_rail, "__module__", None) == _ADAPTER


def broken_action_files(import_paths: Iterable[str]) -> list[str]:
    """The plugin's action files that fail to import, each with its error."""
    files = [file for path in import_paths for file in sorted((Path(path) / "actions").glob("*.py"))]
    return [problem for file in files if (problem := _import_problem(file))]


def _import_problem(file: Path) -> str | None:
    spec = importlib.util.spec_from_file_location(f"evidencerails_probe_{file.stem}", file)
    if spec is None or spec.loader is None:
        return f"{file}: not a Python file"
    try:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
    except Exception as error:  # boundary: the file may do anything
        return f"{file}: {type(error).__name__}: {error}"
    return None
