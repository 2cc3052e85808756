"""`evidencerails migrate`: the version is added, moved keys go to their place, comments and layout stay."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from evidencerails import Guard
from evidencerails.cli.errors import CliError
from evidencerails.cli.main import _exit_code
from evidencerails.cli.migrate_steps import STEPS, Migrated, Step, migrated
from evidencerails.config import SCHEMA_VERSION
from evidencerails.errors import SettingsError

APP = """\
models: []   # none yet
custom_data:
  evidencerails:
    # when it runs
    activation: always  # every answer
    grounding:
      max_unsupported_score: 0.4
"""
STEP = Step(2, {"grounding.limit": "grounding.max_unsupported_score", "alerts.mail": "monitoring.alerts.email"})


def moved(text: str, step: Step = STEP) -> Migrated:
    found = migrated(text, steps=(step,), version=2)
    assert found is not None
    return found


def test_it_shows_the_change_and_writes_only_when_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "config.yml"
    file.write_text(APP, encoding="utf-8")
    assert _exit_code(["migrate", str(tmp_path)]) == 1
    assert file.read_text(encoding="utf-8") == APP
    assert "+    schema_version: 1" in capsys.readouterr().out
    assert _exit_code(["migrate", str(tmp_path), "--write"]) == 0
    text = file.read_text(encoding="utf-8")
    assert text.replace("    schema_version: 1\n", "") == APP
    assert yaml.safe_load(text)["custom_data"]["evidencerails"]["schema_version"] == SCHEMA_VERSION
    assert _exit_code(["migrate", str(tmp_path)]) == 0
    assert "nothing to change" in capsys.readouterr().err
    Guard(tmp_path).close()


@pytest.mark.parametrize("name", ["\r\n", "\n"])
def test_line_ends_and_rights_stay(tmp_path: Path, name: str) -> None:
    file = tmp_path / "settings.yml"
    file.write_bytes(f"checks: [grounding]{name}".encode())
    file.chmod(0o640)
    assert _exit_code(["migrate", str(file), "--write"]) == 0
    assert name.encode() + b"schema_version: 1" in file.read_bytes().replace(name.encode() * 2, name.encode())
    assert b"\r\n" in file.read_bytes() or name == "\n"
    assert file.stat().st_mode & 0o777 == 0o640


def test_a_key_gets_its_new_name_in_place() -> None:
    found = moved("schema_version: 1\ngrounding:\n  # how far\n  limit: 0.4   # ours\n  max_windows: 8\n")
    assert found.text == (
        "schema_version: 2\ngrounding:\n  # how far\n  max_unsupported_score: 0.4   # ours\n  max_windows: 8\n"
    )
    assert found.notes == ("grounding.limit is now grounding.max_unsupported_score",)


def test_a_key_moves_into_another_section_with_its_comments() -> None:
    text = """\
# our settings
alerts:
  # who is told
  mail:
    host: smtp.example.com   # the relay
    to: [team@example.com]
    # end of it
checks: [grounding]
monitoring:
  window: 100
"""
    found = moved(text)
    assert yaml.safe_load(found.text) == {
        "schema_version": 2,
        "checks": ["grounding"],
        "monitoring": {"window": 100, "alerts": {"email": {"host": "smtp.example.com", "to": ["team@example.com"]}}},
    }
    for comment in ("# our settings", "# who is told", "# the relay"):
        assert comment in found.text
    assert "alerts:\n    # who is told\n    email:" in found.text.replace("      ", "    ")


def test_a_section_that_does_not_exist_is_made() -> None:
    found = moved("custom_data:\n  evidencerails:\n    alerts: {mail: {host: h}}\n")
    assert yaml.safe_load(found.text)["custom_data"]["evidencerails"] == {
        "schema_version": 2,
        "monitoring": {"alerts": {"email": {"host": "h"}}},
    }
    assert "comments are gone" in found.notes[0]  # braces cannot be moved by lines, and it says so


def test_a_text_in_lines_of_its_own_moves_whole() -> None:
    step = Step(2, {"note": "annotation.note"})
    text = "note: |\n  first\n\n  second\nchecks: [claims]\nannotation:\n  format: html\n"
    assert yaml.safe_load(moved(text, step).text)["annotation"] == {"note": "first\n\nsecond\n", "format": "html"}


def test_steps_of_versions_it_has_passed_are_left_out() -> None:
    text = "schema_version: 2\ngrounding:\n  limit: 0.4\n"
    assert moved(text).text == text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("schema_version: 3\n", "knows up to 2; upgrade evidencerails"),
        ("schema_version: soon\n", "expected a whole number"),
        ("grounding: {limit: 0.1, max_unsupported_score: 0.2}\n", "both grounding.limit and"),
        ("- a list\n", "cannot be read as settings"),
        ("a: [\n", "cannot be read as settings"),
        ("evidencerails: 7\n", "must be a mapping"),
    ],
)
def test_what_cannot_be_done_is_said(text: str, words: str) -> None:
    with pytest.raises(CliError, match=words):
        moved(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("models: []\n", "has no settings of evidencerails"),
        ("checks: [groundin]\n", "did you mean 'grounding'"),
        ("\xff", "cannot read"),
    ],
)
def test_wrong_files_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, words: str) -> None:
    import re

    file = tmp_path / "config.yml"
    file.write_bytes(text.encode("latin-1"))
    assert _exit_code(["migrate", str(file), "--write"]) == 2
    assert re.search(words, capsys.readouterr().err)
    assert file.read_bytes() == text.encode("latin-1")


def test_the_shipped_steps_end_at_the_version_of_the_schema() -> None:
    assert [step.to_version for step in STEPS] == list(range(2, SCHEMA_VERSION + 1))


@pytest.mark.parametrize(
    ("version", "words"), [(SCHEMA_VERSION + 1, "upgrade evidencerails"), (0, "evidencerails migrate")]
)
def test_settings_of_another_version_say_what_to_do(version: int, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        Guard({"schema_version": version})
