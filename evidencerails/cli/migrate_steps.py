"""What has changed in the settings from one `schema_version` to the next, and a file brought up to date by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import yaml

from evidencerails.cli.errors import CliError
from evidencerails.cli.yaml_edit import CannotEdit, _inserted, _parsed, _verified, _walk
from evidencerails.cli.yaml_move import move_key
from evidencerails.config import APP_KEYS, SCHEMA_VERSION

VERSION_KEY = "schema_version"


class Step(NamedTuple):
    """The way to one version of the schema from the one before it."""

    to_version: int
    moved: Mapping[str, str]
    """Keys of then and of now, dotted, below `evidencerails`."""


STEPS: tuple[Step, ...] = ()
"""Oldest first. Version 1 is the first: nothing has moved yet, and a file without a version gets its line."""


class Migrated(NamedTuple):
    """A file brought up to date."""

    text: str
    notes: tuple[str, ...]
    """What was moved, and what was lost by it."""


def migrated(text: str, *, steps: Sequence[Step] = STEPS, version: int = SCHEMA_VERSION) -> Migrated | None:
    """The file with its settings as this version wants them; None if it has none of ours.

    Raises:
        CliError: the file is no YAML of ours, is of a later version, or holds a key both at its old and its new place.
    """
    try:
        data = _parsed(text)
    except (yaml.YAMLError, CannotEdit) as error:
        raise CliError(f"the file cannot be read as settings: {error}") from None
    root = _place_of_settings(data)
    if root is None:
        return None
    given = _given_version(_at(data, root), version)
    notes = []
    for step in steps:
        if given is not None and step.to_version <= given:
            continue
        for old, new in step.moved.items():
            text, note = _moved(text, (*root, *old.split(".")), (*root, *new.split(".")))
            if note is not None:
                notes.append(f"{old} is now {new}{note}")
    text = _with_version(text, (*root, VERSION_KEY), given, version)
    return Migrated(text, tuple(notes))


def _place_of_settings(data: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Where our settings stand in a file: in an app's config, under a key of their own, or as the whole file."""
    custom = data.get("custom_data")
    if isinstance(custom, Mapping) and "evidencerails" in custom:
        return "custom_data", "evidencerails"
    if "evidencerails" in data:
        return ("evidencerails",)
    return None if not data or any(key in data for key in APP_KEYS) else ()


def _at(data: Any, path: tuple[str, ...]) -> Mapping[str, Any]:
    for name in path:
        data = data[name]
    if data is not None and not isinstance(data, Mapping):
        raise CliError(f"{'.'.join(path)} must be a mapping of keys, got {type(data).__name__}")
    return data or {}


def _given_version(settings: Mapping[str, Any], known: int) -> int | None:
    given = settings.get(VERSION_KEY)
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        raise CliError(f"{VERSION_KEY} is {given!r}; expected a whole number from 1")
    if given > known:
        raise CliError(f"{VERSION_KEY} is {given}, this version knows up to {known}; upgrade evidencerails")
    return given


def _moved(text: str, old: tuple[str, ...], new: tuple[str, ...]) -> tuple[str, str | None]:
    """The text with a key moved, and what to say about it: None if it is not there, else empty or what was lost."""
    data = _parsed(text)
    if not _has(data, old):
        return text, None
    if _has(data, new):
        raise CliError(f"both {'.'.join(old)} and {'.'.join(new)} are set; keep one of the two")
    try:
        return move_key(text, old, new), ""
    except CannotEdit:
        return _written_anew(data, old, new), " (the file was written anew: its comments are gone)"


def _written_anew(data: dict[str, Any], old: tuple[str, ...], new: tuple[str, ...]) -> str:
    from evidencerails.cli.yaml_move import _put, _take

    _put(data, new, _take(data, old))
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True)


def _has(data: Any, path: tuple[str, ...]) -> bool:
    for name in path:
        if not isinstance(data, Mapping) or name not in data:
            return False
        data = data[name]
    return True


def _with_version(text: str, path: tuple[str, ...], given: int | None, version: int) -> str:
    """The text with the version at the path: the number exchanged, a line put in, or the file written anew."""
    from evidencerails.cli.yaml_move import _pairs

    if given == version:
        return text
    wanted = _parsed(text)
    _walk(wanted, path[:-1])[path[-1]] = version
    pairs = list(_pairs(text, path))
    try:
        if len(pairs) == len(path) and pairs[-1].value.value:
            value = pairs[-1].value
            return _verified(text[: value.start_mark.index] + str(version) + text[value.end_mark.index :], wanted)
        return _verified(_inserted(text, path, str(version), in_list=False), wanted)
    except CannotEdit:
        return yaml.safe_dump(wanted, sort_keys=False, allow_unicode=True)
