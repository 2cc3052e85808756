"""Checks and measures of the user's own: a class in a file of theirs, named `module:Class` in the settings."""

from __future__ import annotations

import importlib
from typing import Annotated, Any, TypeAlias

from pydantic import Field

from evidencerails.errors import SettingsError

OwnName: TypeAlias = Annotated[str, Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")]


def own_part(name: str, method: str) -> Any:
    """An object of the class that is named so.

    Raises:
        SettingsError: it cannot be imported, or has no `method`, `name` or `version`.
    """
    module, _, attribute = name.partition(":")
    try:
        made = getattr(importlib.import_module(module), attribute)()
    except (ImportError, AttributeError, TypeError) as error:
        raise SettingsError(f"cannot make {name!r}: {type(error).__name__}: {error}; give module:Class") from error
    lacking = [one for one in (method, "name", "version") if not hasattr(made, one)]
    if lacking:
        raise SettingsError(f"{name!r} has no {', '.join(lacking)}; see evidencerails.checks.base and measures.base")
    return made
