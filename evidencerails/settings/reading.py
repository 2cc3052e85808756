"""Settings out of files: a YAML file of ours, or the config folder of a guardrails app."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from evidencerails.errors import SettingsError
from evidencerails.settings.old_name import refuse_old_settings

APP_KEYS = ("models", "rails", "import_paths", "custom_data", "prompts")
"""Keys by which a file is known as an app's config, not as settings of ours."""


def read_settings(path: Path) -> dict[str, Any]:
    """The evidencerails part of a YAML file, or of the `config.yml`/`*.yml` of a guardrails config folder.
    `SettingsError`: nothing readable is there."""
    files = sorted([*path.glob("*.yml"), *path.glob("*.yaml")]) if path.is_dir() else [path]
    if not files:
        raise SettingsError(f"no YAML file in the folder {str(path)!r}; expected a config.yml")
    merged: dict[str, Any] = {}
    for file in files:
        merged.update(evidencerails_part(_settings_in(file), whole=not path.is_dir()))
    return merged


def _settings_in(file: Path) -> Any:
    try:
        return read_yaml(file) or {}
    except YamlError as error:
        raise SettingsError(f"cannot read settings from {str(file)!r}: {error}") from error


class YamlError(ValueError):
    """A file is not there, is no YAML, or holds a value that YAML cannot give; the message says which."""


class _OneValueAKey(yaml.SafeLoader):
    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        written = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode) and key.value != "<<"]
        if twice := next((key for key in written if written.count(key) > 1), None):
            raise yaml.MarkedYAMLError(problem=f"the key {twice!r} stands twice", problem_mark=node.start_mark)
        return super().construct_mapping(node, deep)


def read_yaml(file: Path) -> Any:
    """What a YAML or JSON file holds. `YamlError`: it cannot be read."""
    try:
        return yaml.load(file.read_text(encoding="utf-8"), _OneValueAKey)  # noqa: S506 - it is a SafeLoader
    except RecursionError:
        raise YamlError("nested too deep") from None
    except OSError as error:
        raise YamlError(f"{error.strerror}; give the path of a YAML or JSON file") from error
    except yaml.MarkedYAMLError as error:  # without the line itself, which may hold a secret
        line = f" in line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise YamlError(f"{error.problem}{line}") from error
    except (ValueError, yaml.YAMLError) as error:  # a date of the 45th is a ValueError
        raise YamlError(str(error)) from error


def evidencerails_part(data: Any, *, whole: bool) -> dict[str, Any]:
    """Our part of what a YAML file holds; with `whole`, a file that is no app's config is ours from end to end."""
    if not isinstance(data, Mapping):
        raise SettingsError(f"settings must be a mapping at the top level, got {type(data).__name__}")
    custom = data.get("custom_data")
    refuse_old_settings(custom)
    refuse_old_settings(data, "")
    for place in (custom if isinstance(custom, Mapping) else {}, data):
        if "evidencerails" in place:
            part = place["evidencerails"] or {}
            if not isinstance(part, Mapping):
                raise SettingsError(f"'evidencerails' must be a mapping, got {type(part).__name__}")
            return dict(part)
    is_app_config = any(key in data for key in APP_KEYS)
    return dict(data) if whole and not is_app_config else {}
