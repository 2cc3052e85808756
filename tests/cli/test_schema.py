"""The schema for editors: it is valid, describes the settings that the program reads, and the configs name it."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from commands import Run

from evidencerails.cli.schema import config_schema, settings_schema
from evidencerails.settings.paths import data_folder

CONFIGS = Path(data_folder("configs"))
FILES = sorted(CONFIGS.glob("*/config.yml"))
SHIPPED = CONFIGS / "evidencerails.schema.json"
OF_CONFIG = jsonschema.Draft202012Validator(json.loads(SHIPPED.read_text(encoding="utf-8")))


def test_the_shipped_schema_is_the_programs(evidencerails: Run) -> None:
    done = evidencerails("schema")
    assert (done.code, json.loads(done.out)) == (0, OF_CONFIG.schema), "run: python docs/generate.py"


@pytest.mark.slow
@pytest.mark.parametrize("schema", [settings_schema(), config_schema()], ids=["settings", "config"])
def test_the_schema_is_one(schema: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.parent.name)
def test_each_packaged_config_fits_the_schema_that_it_names(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    named = text.splitlines()[0].removeprefix("# yaml-language-server: $schema=")
    assert (file.parent / named).samefile(SHIPPED)
    OF_CONFIG.validate(yaml.safe_load(text))


def test_what_the_program_refuses_an_editor_marks() -> None:
    for settings in (
        {"activaton": "always"},
        {"activation": "sometimes"},
        {"grounding": {"max_false_blocks": 2}},
        {"policies": [{"then": "stop"}]},
    ):
        assert not OF_CONFIG.is_valid({"custom_data": {"evidencerails": settings}}), settings
