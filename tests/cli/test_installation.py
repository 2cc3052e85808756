from pathlib import Path

import pytest
from commands import Run

from evidencerails.cli import installation

SOUND = (
    "models:\n  - {type: main, engine: openai, model: m}\nimport_paths: [evidencerails/plugin]\n"
    "custom_data: {evidencerails: {activation: always}}\nrails: {output: {flows: [check grounding]}}\n"
)


@pytest.fixture
def hidden_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a `--target` install: NeMo's search path does not hold the plugin."""
    from nemoguardrails.rails.llm import config

    library = [folder for folder in config.colang_path_dirs if not (Path(folder) / "evidencerails/plugin").exists()]
    monkeypatch.setattr(config, "colang_path_dirs", library)


def test_a_plugin_that_nemo_finds_needs_no_line() -> None:
    assert installation.make_plugin_visible() is None


@pytest.mark.usefixtures("hidden_plugin")
def test_a_hidden_plugin_is_made_visible_and_its_line_is_told() -> None:
    line = installation.make_plugin_visible()
    assert line is not None and line.startswith("export COLANGPATH=")
    root = Path(line.partition("=")[2].strip("'"))
    assert (root / "evidencerails" / "plugin" / "config.py").is_file()
    assert installation.found_plugin() == root / "evidencerails" / "plugin"


@pytest.mark.slow
@pytest.mark.usefixtures("hidden_plugin")
def test_doctor_fails_an_install_that_import_paths_cannot_see(evidencerails: Run, tmp_path: Path) -> None:
    app = tmp_path / "app"
    app.mkdir()
    (app / "config.yml").write_text(SOUND)
    done = evidencerails("doctor", app)
    assert done.code == 1
    assert "[plugin_not_found]" in done.err and "run: export COLANGPATH=" in done.err
