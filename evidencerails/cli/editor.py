"""A text in the user's editor."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path

from evidencerails.cli.errors import CliError


def in_editor(text: str) -> str | None:
    """The text as the user has saved it; None if it was left as it was.

    Raises:
        CliError: there is no editor, or it ended with an error.
    """
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor:
        raise CliError("no editor is set; set EDITOR, or give the text with --text or --file")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "answer.txt"
        file.write_text(text, encoding="utf-8", errors="surrogatepass")
        try:
            done = subprocess.run([*shlex.split(editor), str(file)], check=False)
        except OSError as error:
            raise CliError(f"the editor {editor!r} cannot be run: {error.strerror}; set EDITOR") from None
        if done.returncode != 0:
            raise CliError(f"the editor {editor!r} ended with {done.returncode}; nothing was decided")
        changed = file.read_text(encoding="utf-8", errors="surrogatepass")
    return None if changed == text else changed
