"""`evidencerails schema`: the JSON Schema of the settings, for editors."""

from __future__ import annotations

import json
from typing import Any

import typer

from evidencerails.config import GuardConfig

DIALECT = "https://json-schema.org/draft/2020-12/schema"
FILE_NAME = "evidencerails.schema.json"
EDITOR_MARK = "yaml-language-server:"
EDITOR_LINE = f"# {EDITOR_MARK} $schema={FILE_NAME}"
"""First line of a config.yml beside the schema's file: by it an editor finds the schema."""


def schema(
    settings_only: bool = typer.Option(
        False, "--settings-only", help="Of a file with our settings alone, as --config takes it."
    ),
) -> int:
    """Print the JSON Schema of config.yml: an editor completes and checks the settings under custom_data.evidencerails.

    evidencerails schema > evidencerails.schema.json

    Then write as the first line of config.yml:  # yaml-language-server: $schema=evidencerails.schema.json
    """
    print(json.dumps(settings_schema() if settings_only else config_schema(), indent=1))
    return 0


def settings_schema() -> dict[str, Any]:
    return {"$schema": DIALECT, **GuardConfig.model_json_schema()}


def config_schema() -> dict[str, Any]:
    """The schema of a guardrails `config.yml`, of which only our part is described; the rest is NeMo's."""
    settings = settings_schema()
    definitions = settings.pop("$defs")
    del settings["$schema"]
    ours = {"type": "object", "properties": {"evidencerails": settings}}
    return {"$schema": DIALECT, "type": "object", "properties": {"custom_data": ours}, "$defs": definitions}
