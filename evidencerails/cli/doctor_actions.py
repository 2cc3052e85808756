"""Do the actions that NeMo would call belong to us, and did ours take the place of the user's?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evidencerails.cli.catalog import IMPORT_PATH, RAILS
from evidencerails.cli.doctor_rows import started
from evidencerails.cli.doctor_source import Problem, Source


def action_problems(source: Source) -> list[Problem]:
    """Actions of our names that are not ours, and the user's own that ours replaced; none where the plugin is not
    imported, which is the problem then."""
    if IMPORT_PATH not in (source.config.import_paths or []):
        return []
    with started(source.config.model_copy(deep=True)) as app:
        dispatcher = app.runtime.action_dispatcher
        taken = [_not_ours(name, dispatcher.get_action(name)) for name in _actions()]
    return [*(problem for problem in taken if problem), *_replaced(source)]


def _actions() -> list[str]:
    return sorted({rail.action for rail in RAILS.values()})


def _not_ours(name: str, action: Any) -> Problem | None:
    from evidencerails.adapters.nemo_install import is_our_action

    if is_our_action(action):
        return None
    code = getattr(action, "__code__", None)
    return Problem(
        "error",
        "action_overridden",
        f"the action {name!r} is not the plugin's: {code.co_filename if code else repr(action)}",
        "remove the app's own registration of that name",
    )


def _replaced(source: Source) -> Iterator[Problem]:
    """The user's own actions of our names: NeMo loads those of import paths last, so ours win in silence."""
    folders = {source.folder: "the config", Path.cwd(): "the current directory"}
    for folder, place in folders.items():
        for file in [folder / "actions.py", *sorted((folder / "actions").glob("**/*.py"))]:
            for name in _defined_in(file):
                yield Problem(
                    "warning",
                    "own_action_replaced",
                    f"{file.name} of {place} has an action {name!r}; the plugin's takes its place",
                    "rename yours",
                )


def _defined_in(file: Path) -> list[str]:
    if not file.is_file():
        return []
    text = file.read_text(encoding="utf-8", errors="replace")
    return [
        name
        for name in _actions()
        if re.search(rf"^(?:async )?def {name}\b", text, re.MULTILINE)
        or re.search(rf"name\s*=\s*[\"']{name}[\"']", text)
    ]
