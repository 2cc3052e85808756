"""Settings under a name that nothing reads, misspelt or the product's first one: one error that says what to write.
The first name goes with 0.2."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evidencerails.errors import SettingsError

OLD, NEW = "groundrails", "evidencerails"
_IN_A_FILE = re.compile(rf"^[^#\n]*?(?P<found>\b{OLD}(?:/plugin|\.plugin\b|[ \t]*:))", re.MULTILINE)


def refuse_old_settings(data: Any, place: str = "custom_data.") -> None:
    """Refuse a mapping that has the settings under the first name or a misspelt one: they would not count, without a
    word. `SettingsError`: it has them."""
    if not isinstance(data, Mapping):
        return
    if OLD in data:
        raise SettingsError(f"{place}{OLD}: the product is called {NEW} now; write {place}{NEW}")
    misspelt = next((key for key in data if difflib.get_close_matches(str(key).lower(), [NEW], cutoff=0.9)), NEW)
    if NEW not in data and misspelt != NEW:
        raise SettingsError(f"{place}{misspelt}: nothing reads this key; for the settings, write {place}{NEW}")


def refuse_old_files(folder: Path) -> None:
    """Refuse a config folder whose files import the plugin, or have the settings, under the first name: without that
    package NeMo would only say that it does not find the path. `SettingsError`: naming file and line of the first such
    place."""
    for file in sorted(file for suffix in ("yml", "yaml", "co") for file in folder.rglob(f"*.{suffix}")):
        text = file.read_text(encoding="utf-8", errors="replace")
        match = _IN_A_FILE.search(text)
        if match:
            line, found = text.count("\n", 0, match.start("found")) + 1, match["found"].rstrip(": \t")
            written = found.replace(OLD, NEW)
            raise SettingsError(
                f"{str(file)!r}, line {line}: {found!r}: the product is called {NEW} now; write {written!r}"
            )
