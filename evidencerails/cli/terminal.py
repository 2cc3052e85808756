"""Text of others on a terminal: nothing in it may move the cursor, change colours, or reorder what is read."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console

_HOSTILE = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 (without tab and newline), DEL and C1: ANSI escapes begin here
    "\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0"
    "\ufff9-\ufffb"  # invisible characters and the bidirectional controls ("Trojan Source")
    "\ud800-\udfff"  # lone surrogates cannot be written to any stream
    "\U000e0000-\U000e0fff"  # tags
    "]"
)


def visible(text: str, *, one_line: bool = False) -> str:
    """The text with every control, invisible and bidirectional character spelled out, as in `\\x1b` or `\\u202e`.

    Tabs and newlines stay, unless `one_line` turns each run of white space into one blank.
    """
    if one_line:
        text = re.sub(r"[ \t\r\n]+", " ", text)
    return _HOSTILE.sub(_spelled, text)


def _spelled(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def console(stream: TextIO | None = None, *, width: int | None = None) -> Console:
    """A console that takes no markup, emoji codes or highlighting from the text it prints."""
    from rich.console import Console

    class PipeConsole(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # rich would exit with 1, which says "hallucinated" here

    target = stream or sys.stdout
    if width is None and not target.isatty():
        width = 110  # rich falls back to 80, in which a table of four columns can hardly be read
    return PipeConsole(file=target, markup=False, emoji=False, highlight=False, width=width, soft_wrap=False)


def can_write(stream: TextIO, text: str) -> bool:
    """True if the stream's encoding has these characters (a C locale has not)."""
    try:
        text.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def say(message: str) -> None:
    """One line for people on stderr: reasons and progress."""
    line = f"evidencerails: {visible(message, one_line=True)}"
    encoding = sys.stderr.encoding or "utf-8"
    sys.stdout.flush()  # so that both streams into one file keep their order
    print(line.encode(encoding, "backslashreplace").decode(encoding), file=sys.stderr, flush=True)
