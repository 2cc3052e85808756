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


@pytest.mark.slow
@pytest.mark.usefixtures("hidden_plugin")
def test_doctor_fails_an_install_that_import_paths_cannot_see(evidencerails: Run, tmp_path: Path) -> None:
    """And makes the plugin visible to itself: the app starts, and NeMo then finds the folder that the line names."""
    (tmp_path / "config.yml").write_text(SOUND)
    done = evidencerails("doctor", tmp_path)
    assert done.code == 1
    assert "[plugin_not_found]" in done.err and "[does_not_start]" not in done.err and "check grounding" in done.out
    root = Path(done.err.partition("run: export COLANGPATH=")[2].splitlines()[0].strip("'"))
    assert (root / "evidencerails" / "plugin" / "config.py").is_file()
    assert installation.found_plugin() == root / "evidencerails" / "plugin"
    assert installation.make_plugin_visible() is None
