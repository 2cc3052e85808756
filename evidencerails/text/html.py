"""How the pages of commands and service are rendered: all that is put in is escaped, nothing is left undefined."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

FOLDER = Path(__file__).resolve().parent


def templates_of(folder: Path) -> Environment:
    """The templates of a folder, and the base of standalone pages; all that is put into them is escaped.

    Raises:
        jinja2.UndefinedError: on rendering, if a template names a value that was not given.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader([folder, FOLDER]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def inline_style(style: Path) -> tuple[Markup, str]:
    """A style sheet to stand in a page, and the hash by which the page's content security policy allows it."""
    from markupsafe import Markup

    css = style.read_text(encoding="utf-8")
    return Markup(css), base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
