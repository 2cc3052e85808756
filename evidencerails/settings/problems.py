"""What is wrong with settings, in words for those who wrote them: key, value, the nearest valid choice."""

from __future__ import annotations

import difflib
import re
import types
from collections.abc import Mapping, Sequence
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

_SECRET_WORDS = {"url", "dsn", "key", "keys", "token", "secret", "password", "sha256"}
"""A key with one of these words may hold a secret: its value stands in no message."""


def problems(error: ValidationError, model: type[BaseModel]) -> list[str]:
    """One line for each mistake. A union reports one for each of its branches: the one that looked deepest is kept."""
    items: dict[str, Mapping[str, Any]] = {}
    for item in error.errors():
        key = _dotted(_path(item))
        if key not in items or (_choices(item) and not _choices(items[key])):
            items[key] = item
    return [_problem(item, model) for key, item in items.items() if not any(k.startswith(f"{key}[") for k in items)]


def _path(item: Mapping[str, Any]) -> list[Any]:
    """Where a pydantic error is, without the names of union branches."""
    return [
        part for part in item["loc"] if not (isinstance(part, str) and ("[" in part or part in ("int", "str", "tuple")))
    ]


def _problem(item: Mapping[str, Any], model: type[BaseModel]) -> str:
    """One line about one pydantic error: key, value, what was expected, the nearest valid choice."""
    path = _path(item)
    key = _dotted(path)
    if item["type"] == "extra_forbidden":
        valid = _keys_at(model, path[:-1])
        return f"unknown key {key!r}{nearest(str(path[-1]), valid)}; valid keys: {', '.join(valid)}"
    if item["type"] == "invalid_key":
        return f"key {item['input']!r} is not a word; quote it (YAML reads a bare on, off, yes or no as true or false)"
    if item["type"] == "missing":  # its input is the section around it
        return f"{key}: this key is required"
    choices = _choices(item)
    hint = nearest(str(item.get("input")), choices) if choices else ""
    place = f"{key}: " if key else ""
    return f"{place}{_given(item.get('input'), path)} is not valid: {_plain_words(item['msg'])}{hint}"


def _given(value: Any, path: list[Any]) -> str:
    """A value in words: nothing of one that may be a secret, nor of what a section or list holds."""
    name = next((part for part in reversed(path) if isinstance(part, str)), "")
    if not _SECRET_WORDS.isdisjoint(name.lower().split("_")) or (isinstance(value, str) and "://" in value):
        return "the value"
    if isinstance(value, Mapping) and value:
        return f"the section with {', '.join(map(str, value))}"
    return repr(value) if not value or isinstance(value, (str, int, float)) else f"the {type(value).__name__}"


def _plain_words(message: str) -> str:
    """A message of pydantic's in the words of YAML."""
    message = re.sub(r"a valid dictionary or instance of \w+", "a mapping of keys", message)
    return message.removeprefix("Value error, ").replace("a valid tuple", "a list")


def _dotted(path: list[Any]) -> str:
    return "".join(f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")


def _choices(item: Mapping[str, Any]) -> tuple[str, ...]:
    expected = str(item.get("ctx", {}).get("expected", ""))
    return tuple(part.strip(" '") for part in expected.replace(" or ", ", ").split(",") if part.strip())


def nearest(given: str, choices: Sequence[str]) -> str:
    """A question for the choice that was probably meant; empty if none is near."""
    close = difflib.get_close_matches(given, choices, n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else ""


def _keys_at(model: type[BaseModel], path: list[Any]) -> list[str]:
    """Valid keys of the section that `path` leads to."""
    is_name = False
    for part in path:
        if isinstance(part, int) or is_name:  # a name of the user's own leads into a mapping of sections
            is_name = False
            continue
        field = next((f for name, f in model.model_fields.items() if part in (name, f.alias)), None)
        inner = _section_of(field.annotation) if field else None
        if inner is None:
            return []
        model = inner
        is_name = field is not None and get_origin(field.annotation) is dict
    return [field.alias or name for name, field in model.model_fields.items()]


def _section_of(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) in (Union, types.UnionType, tuple, list, dict):
        return next((found for arg in get_args(annotation) if (found := _section_of(arg))), None)
    return None
