"""The templates of the pages: autoescaped, an unknown name is an error, and nothing of a caller is ever a template."""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Any

from evidencerails import __version__
from evidencerails.service import views
from evidencerails.text.html import templates_of

FOLDER = Path(__file__).resolve().parent


@lru_cache(maxsize=1)
def _environment() -> Any:
    environment = templates_of(FOLDER / "templates")
    environment.filters |= {"moment": views.moment, "words": lambda text: str(text).replace("_", " ")}
    return environment


def render(name: str, **values: Any) -> str:
    """A template of the package with these values."""
    text: str = _environment().get_template(name).render(version=__version__, **values)
    return text


def standalone(name: str, **values: Any) -> str:
    """The same as one file with its style inside, which its content security policy allows by hash."""
    from markupsafe import Markup

    style = (FOLDER / "static" / "style.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return render(name, style=Markup(style), style_hash=digest, **values)
