from pathlib import Path

import pytest
from nemoguardrails import RailsConfig
from typer.testing import CliRunner

from evidencerails.cli.init_record import RECORD
from evidencerails.cli.main import _exit_code, app

MODELS = "models:\n  - type: main\n    engine: openai\n    model: gpt-4o-mini  # small\n"

COLANG_1 = {
    "models only": {"config.yml": MODELS},
    "no config.yml": {"app.yaml": MODELS},
    "rails in their own file": {"config.yml": MODELS, "rails.yml": "rails:\n  output:\n    flows:\n      - mine\n"},
    "input rails": {"config.yml": MODELS + "rails:\n  input:\n    flows: []\n"},
    "output rails and imports": {
        "config.yml": "# top\nimport_paths: [shared]\n" + MODELS + "rails:\n  output:\n    parallel: False\n"
        "    flows:\n    - mine # ours\n",
        "flows.co": 'define flow mine\n  $x = 1\n\ndefine bot refuse\n  "No."\n',
        "shared/more.co": 'define bot greet\n  "Hi."\n',
    },
    "Windows line ends": {"config.yml": MODELS.replace("\n", "\r\n")},
    "knowledge base": {"config.yml": MODELS, "kb/facts.md": "# Iron\n\nIron melts at 1538 degrees.\n"},
    "facts in the instructions": {
        "config.yml": MODELS
        + "instructions:\n  - {type: general, content: You are a guide. Iron melts at 1538 degrees.}\n"
    },
    "flag set": {
        "config.yml": MODELS,
        "flows.co": "define user ask\n  'what'\n\ndefine flow\n  user ask\n"
        "  $check_hallucination = True\n  bot answer\n",
    },
    "other custom data": {"config.yml": MODELS + "custom_data:\n  tenant: 7\n"},
}

COLANG_2 = {
    "plain": {
        "config.yml": 'colang_version: "2.x"\n' + MODELS,
        "main.co": "import core\n\nflow main\n  bot say 'hi'\n",
    },
    "with output rails": {
        "config.yml": 'colang_version: "2.x"\n' + MODELS,
        "main.co": "import core\nimport guardrails\n\nflow main\n  bot say 'hi'\n\nflow output rails $output_text\n"
        "  other\n\nflow other\n  bot say 'x'\n",
    },
    "with the library's rail": {
        "config.yml": 'colang_version: "2.x"\n' + MODELS,
        "main.co": "import core\nimport guardrails\nimport nemoguardrails.library.hallucination\n\nflow main\n"
        "  bot say 'hi'\n\nflow output rails $output_text\n  self check hallucination",
    },
}


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode())
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def run(*arguments: str) -> int:
    return _exit_code(["init", *arguments])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An app's folder; NeMo resolves import paths such as `shared` from the current one."""
    app_folder = tmp_path / "app"
    app_folder.mkdir()
    monkeypatch.chdir(app_folder)
    return app_folder


@pytest.mark.parametrize("files", COLANG_1.values(), ids=COLANG_1.keys())
def test_the_rail_is_added_once_and_undone_to_the_byte(folder: Path, files: dict[str, str]) -> None:
    before = contents(written(folder, files))
    assert run(str(folder), "--yes") == 0

    config = RailsConfig.from_path(str(folder))
    flow = "check grounding" if "Iron melts" in str(files) else "self check hallucination"
    assert flow in config.rails.output.flows
    assert "evidencerails/plugin" in config.import_paths
    settings = config.custom_data.get("evidencerails")
    assert settings == (None if "$check_hallucination" in files.get("flows.co", "") else {"activation": "always"})

    after = contents(folder)
    assert run(str(folder), "--yes") == 0
    assert contents(folder) == after, "a second run changes nothing"
    assert run(str(folder), "--undo", "--yes") == 0
    assert contents(folder) == before


@pytest.mark.parametrize("files", COLANG_2.values(), ids=COLANG_2.keys())
def test_colang_2_gets_an_import_and_a_call_in_its_output_rails(folder: Path, files: dict[str, str]) -> None:
    before = contents(written(folder, files))
    assert run(str(folder), "--yes") == 0
    main = (folder / "main.co").read_text()
    assert main.count("import evidencerails.plugin") == 1
    assert main.count("import guardrails\n") == 1
    assert main.count("\n  self check hallucination") == 1
    assert "nemoguardrails.library.hallucination" not in main
    after = contents(folder)
    assert run(str(folder), "--yes") == 0
    assert contents(folder) == after
    assert run(str(folder), "--undo", "--yes") == 0
    assert contents(folder) == before


def test_colang_2_with_the_whole_library_is_left_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main = "import core\nimport nemoguardrails.library\n\nflow main\n  bot say 'hi'\n"
    before = contents(written(folder, {"config.yml": 'colang_version: "2.x"\n' + MODELS, "main.co": main}))
    assert run(str(folder), "--yes") == 2
    assert "import the files you use one by one" in capsys.readouterr().err
    assert contents(folder) == before


def test_what_was_commented_and_laid_out_stays(folder: Path) -> None:
    written(folder, COLANG_1["output rails and imports"])
    run(str(folder), "--yes", "--flow", "check grounding", "--activation", "shadow")
    assert (folder / "config.yml").read_text() == (
        "# top\nimport_paths: [shared, evidencerails/plugin]\n" + MODELS + "rails:\n  output:\n    parallel: False\n"
        "    flows:\n    - mine # ours\n    - check grounding\n"
        "\ncustom_data:\n  evidencerails:\n    activation: shadow\n"
    )


def test_the_diff_is_shown_and_a_dry_run_writes_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(written(folder, COLANG_1["models only"]))
    assert run(str(folder), "--dry-run") == 0
    out = capsys.readouterr().out
    assert "+      - self check hallucination\n" in out and "+  - evidencerails/plugin\n" in out
    assert contents(folder) == before


def test_without_a_terminal_nothing_is_written_unasked(folder: Path) -> None:
    before = contents(written(folder, COLANG_1["models only"]))
    result = CliRunner().invoke(app, ["init", str(folder)], standalone_mode=False)
    assert result.return_value == 2
    assert contents(folder) == before


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "does not load as it is"),
        ({"config.yml": "models: [\n"}, "does not load as it is"),
        ({"config.yml": MODELS + "rails: &r\n  output:\n    flows: a word\n"}, "does not load as it is"),
        ({"config.yml": MODELS, "flows.co": "define flow\n"}, "does not load as it is"),
        (
            {"config.yml": MODELS + "b: &b {flows: [x]}\nrails:\n  output:\n    <<: *b\n"},
            "add 'self check hallucination' under rails.output.flows by hand",
        ),
    ],
    ids=["no files", "broken yaml", "flows no list", "broken colang", "merge key"],
)
def test_a_config_that_cannot_be_edited_safely_is_left_alone(
    folder: Path, files: dict[str, str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(written(folder, files))
    assert run(str(folder), "--yes") == 2
    assert message in capsys.readouterr().err
    assert contents(folder) == before


def test_undo_leaves_a_file_that_was_edited_since(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(folder, COLANG_1["models only"])
    run(str(folder), "--yes")
    with (folder / "config.yml").open("a") as file:
        file.write("# mine\n")
    edited = contents(folder)
    assert run(str(folder), "--undo", "--yes") == 2
    assert "was edited after init wrote it" in capsys.readouterr().err
    assert contents(folder) == edited


def test_undo_after_two_runs_restores_the_first_state(folder: Path) -> None:
    before = contents(written(folder, COLANG_1["models only"]))
    run(str(folder), "--yes", "--flow", "check grounding")
    run(str(folder), "--yes", "--flow", "self check hallucination")
    assert RailsConfig.from_path(str(folder)).rails.output.flows == ["check grounding", "self check hallucination"]
    assert run(str(folder), "--undo", "--yes") == 0
    assert contents(folder) == before


def test_undo_without_init_says_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(folder, COLANG_1["models only"])
    assert run(str(folder), "--undo") == 2
    assert f"no {RECORD}" in capsys.readouterr().err


def test_unknown_names_are_usage_errors(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(folder, COLANG_1["models only"])
    assert run(str(folder), "--flow", "check groundng") == 2
    assert "available: self check hallucination" in capsys.readouterr().err
    assert run(str(folder / "nowhere")) == 2
    assert "give the folder that holds your config.yml" in capsys.readouterr().err


def test_settings_that_would_stop_the_app_stop_init(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = MODELS + "custom_data:\n  evidencerails:\n    on_unverified: blok\n"
    (folder / "config.yml").write_text(before)
    assert _exit_code(["init", str(folder), "--yes"]) == 2
    assert "nothing is written: on_unverified: 'blok'" in capsys.readouterr().err
    assert (folder / "config.yml").read_text() == before
