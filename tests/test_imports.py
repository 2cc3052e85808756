"""The commands stand on everything else; nothing else knows them."""

from __future__ import annotations

import re
from pathlib import Path


def test_no_room_but_the_commands_imports_them(repository: Path) -> None:
    package = repository / "evidencerails"
    files = [file for file in package.rglob("*.py") if package / "cli" not in file.parents]
    assert len(files) > 200
    importing = [
        str(file.relative_to(package))
        for file in files
        if re.search(r"^\s*(?:from|import) evidencerails\.cli\b", file.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert importing == ["__main__.py"]
