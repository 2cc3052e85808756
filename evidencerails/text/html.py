"""How the pages of commands and service are rendered: all that is put in is escaped, nothing is left undefined."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment


def templates_of(folder: Path) -> Environment:
    """The templates of a folder; all that is put into them is escaped.

    Raises:
        jinja2.UndefinedError: on rendering, if a template names a value that was not given.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
