"""The templates of the pages: all that is put in is escaped and made visible, and an unknown name is an error."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evidencerails import __version__
from evidencerails.service import views
from evidencerails.text.html import inline_style, templates_of
from evidencerails.text.visible import all_visible

if TYPE_CHECKING:
    from jinja2 import Environment

FOLDER = Path(__file__).resolve().parent


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = templates_of(FOLDER / "templates")
    environment.filters |= {"moment": views.moment, "words": lambda text: str(text).replace("_", " ")}
    return environment


def render(name: str, **values: Any) -> str:
    """A template of the package with these values."""
    return _environment().get_template(name).render(version=__version__, **all_visible(values))


def standalone(name: str, **values: Any) -> str:
    """The same as one file with its style inside, which its content security policy allows by hash."""
    style, digest = inline_style(FOLDER / "static" / "style.css")
    return render(name, style=style, style_hash=digest, **values)
