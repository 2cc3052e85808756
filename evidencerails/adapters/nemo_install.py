"""Whether NeMo can see the installed plugin, and whether what it loaded is ours."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from evidencerails.adapters.nemo_flags import FLAGS
from evidencerails.settings.paths import plugin_folder

IMPORT_PATH = "evidencerails/plugin"
FLOWS = tuple(FLAGS)
"""The output rails of the plugin."""
_ADAPTERS = ("evidencerails.adapters.nemo", "evidencerails.adapters.nemo_tools")


def import_path_problem() -> str | None:
    """Why `import_paths: [evidencerails/plugin]` would not load, and what to do; None if it would.

    NeMo looks in the current directory, in COLANGPATH as it was when NeMo was imported, and in the site-packages that
    holds NeMo: an editable, `--user` or `--target` install of evidencerails may lie in none of these.
    """
    from nemoguardrails.rails.llm.config import colang_path_dirs

    places = [Path.cwd(), *map(Path, colang_path_dirs)]
    seen = next((place / IMPORT_PATH for place in places if (place / IMPORT_PATH).exists()), None)
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
    return str(getattr(run_rail, "__module__", None)) in _ADAPTERS


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
