"""What is the user's own and named `module:name` in the settings: checks, measures, models, functions."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

from pydantic import Field

from evidencerails.errors import SettingsError

OwnName: TypeAlias = Annotated[str, Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")]


def imported(name: str) -> Any:
    """What an import path `package.module:name` leads to. `SettingsError`: it cannot be imported."""
    module, _, attributes = name.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in attributes.split("."):
            found = getattr(found, part)
    except Exception as error:  # boundary to the user's module, which may do anything when imported
        raise SettingsError(f"cannot import {name!r}: {type(error).__name__}: {error}") from error
    return found


def part_named(name: str, homes: Mapping[str, str], what: str, method: str) -> Any:
    """A part of ours by its name in `homes` (name to `module:Class`), or an object of the user's class so named.
    `SettingsError`: there is no such part, it cannot be imported, or has no `method`, `name` or `version`."""
    if ":" not in name and name not in homes:
        raise SettingsError(f"unknown {what} {name!r}; available: {', '.join(sorted(homes))}")
    try:
        made = imported(homes.get(name, name))()
    except TypeError as error:
        raise SettingsError(f"cannot make {name!r}: {type(error).__name__}: {error}; give module:Class") from error
    lacking = [one for one in (method, "name", "version") if not hasattr(made, one)]
    if lacking:
        raise SettingsError(f"{name!r} has no {', '.join(lacking)}; see evidencerails.checks.base and measures.base")
    return made
