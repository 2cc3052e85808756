from pathlib import Path

import pytest
import yaml
from commands import exit_code
from nemoguardrails import RailsConfig
from typer.testing import CliRunner

from evidencerails.cli.init import RECORD
from evidencerails.cli.main import app
from evidencerails.cli.schema import EDITOR_LINE, FILE_NAME
from evidencerails.testing import ReplayServer

Capture = pytest.CaptureFixture[str]
MODELS = "models:\n  - type: main\n    engine: openai\n    model: gpt-4o-mini  # small\n"

COLANG_1 = {
    "models only": {"config.yml": MODELS},
    "rails in their own file": {"config.yml": MODELS, "rails.yml": "rails:\n  output:\n    flows:\n      - mine\n"},
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
    "without output rails": {
        "config.yml": 'colang_version: "2.x"\n' + MODELS,
        "main.co": "import core\n\nflow main\n  bot say 'hi'",
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


def run(*arguments: str, app: str = "") -> int:
    """Exit code of `init` for the app in the current folder, or the one that is named."""
    return exit_code("init", app or Path.cwd(), *arguments)


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
    assert run("--yes") == 0
    config = RailsConfig.from_path(str(Path.cwd()))
    flow = "check grounding" if "Iron melts" in str(files) else "self check hallucination"
    assert flow in config.rails.output.flows
    assert "evidencerails/plugin" in config.import_paths
    settings = config.custom_data.get("evidencerails")
    assert settings == (None if "$check_hallucination" in files.get("flows.co", "") else {"activation": "always"})
    after = contents(folder)
    assert run("--yes") == 0
    assert contents(folder) == after, "a second run changes nothing"
    assert run("--undo", "--yes") == 0
    assert contents(folder) == before


@pytest.mark.slow
@pytest.mark.parametrize("files", COLANG_2.values(), ids=COLANG_2.keys())
def test_colang_2_gets_an_import_and_a_call_in_its_output_rails(folder: Path, files: dict[str, str]) -> None:
    before = contents(written(folder, files))
    assert run("--yes") == 0
    main = (folder / "main.co").read_text()
    assert main.count("import evidencerails.plugin") == 1
    assert main.count("import guardrails\n") == 1
    assert main.count("\n  self check hallucination") == 1
    assert "nemoguardrails.library.hallucination" not in main
    after = contents(folder)
    assert run("--yes") == 0
    assert contents(folder) == after
    assert run("--undo", "--yes") == 0
    assert contents(folder) == before


def test_what_was_commented_and_laid_out_stays(folder: Path) -> None:
    written(folder, COLANG_1["output rails and imports"])
    run("--yes", "--flow", "check grounding", "--activation", "shadow")
    assert (folder / "config.yml").read_text() == (
        "# top\nimport_paths: [shared, evidencerails/plugin]\n" + MODELS + "rails:\n  output:\n    parallel: False\n"
        "    flows:\n    - mine # ours\n    - check grounding\n"
        "\ncustom_data:\n  evidencerails:\n    activation: shadow\n"
    )


def test_an_editor_is_offered_the_schema_once(folder: Path, capsys: Capture) -> None:
    written(folder, {"config.yml": MODELS})
    assert run("--yes") == 0
    config = folder / "config.yml"
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"evidencerails: for completion in an editor: evidencerails schema > {folder / FILE_NAME}, "
        f"then as the first line of {config}: {EDITOR_LINE}"
    )
    config.write_text(f"{EDITOR_LINE}\n{config.read_text()}")
    assert run("--yes", "--flow", "check claims") == 0
    assert "evidencerails schema" not in capsys.readouterr().err


def test_the_diff_is_shown_and_a_dry_run_writes_nothing(folder: Path, capsys: Capture) -> None:
    before = contents(written(folder, COLANG_1["models only"]))
    assert run("--dry-run") == 0
    out = capsys.readouterr().out
    assert "+      - self check hallucination\n" in out and "+  - evidencerails/plugin\n" in out
    assert contents(folder) == before


@pytest.mark.parametrize(
    ("config", "is_said"), [(MODELS, True), (MODELS + "instructions: [{type: general, content: Iron melts.}]\n", False)]
)
def test_a_rail_that_needs_evidence_says_where_to_put_it(
    folder: Path, capsys: Capture, config: str, is_said: bool
) -> None:
    written(folder, {"config.yml": config})
    assert run("--dry-run", "--flow", "check claims") == 0
    said = "state facts under `instructions:`, add a kb folder, or set $evidence"
    assert (said in capsys.readouterr().err) == is_said


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
        (
            {
                "config.yml": 'colang_version: "2.x"\n' + MODELS,
                "main.co": "import core\nimport nemoguardrails.library\n",
            },
            "import the files you use one by one",
        ),
        (
            {"config.yml": MODELS + "custom_data:\n  evidencerails:\n    on_unverified: blok\n"},
            "nothing is written: on_unverified: 'blok'",
        ),
    ],
    ids=["no files", "broken yaml", "flows no list", "broken colang", "merge key", "whole library", "bad settings"],
)
def test_a_config_that_cannot_be_edited_safely_is_left_alone(
    folder: Path, files: dict[str, str], message: str, capsys: Capture
) -> None:
    before = contents(written(folder, files))
    assert run("--yes") == 2
    assert message in capsys.readouterr().err
    assert contents(folder) == before


EMBEDDINGS = "  - {type: embeddings, engine: evidencerails, model: embedded}\n"
ADDED_LATER = {
    "the line that doctor recommends": (MODELS, MODELS + EMBEDDINGS, MODELS + EMBEDDINGS),
    "another rail after ours": ("      - self check hallucination\n",
     "      - self check hallucination\n      - check logic\n",
     MODELS + "\nrails:\n  output:\n    flows:\n      - check logic\n"),
    "a setting beside ours": ("    activation: always\n", "    activation: always\n    on_unverified: block\n",
     MODELS + "\ncustom_data:\n  evidencerails:\n    on_unverified: block\n"),
    "our setting changed": ("    activation: always\n", "    activation: shadow\n",
     MODELS + "\ncustom_data:\n  evidencerails:\n    activation: shadow\n"),
}  # fmt: skip


@pytest.mark.parametrize(("found", "instead", "left"), ADDED_LATER.values(), ids=ADDED_LATER.keys())
def test_undo_takes_back_its_own_lines_and_leaves_the_users(folder: Path, found: str, instead: str, left: str) -> None:
    """It refused where the user had added the line that `doctor` recommends."""
    config = written(folder, COLANG_1["models only"]) / "config.yml"
    run("--yes")
    text = config.read_text()
    config.write_text(text.replace(found, instead) if found else text + instead)
    assert run("--undo", "--yes") == 0
    data = [yaml.safe_load(text) for text in (config.read_text(), left)]
    assert data[0] == data[1]
    assert "# mine" in config.read_text() or found
    assert not (folder / RECORD).exists()


def test_undo_after_two_runs_keeps_what_was_added_between_them(folder: Path) -> None:
    config = written(folder, COLANG_1["models only"]) / "config.yml"
    run("--yes", "--flow", "check grounding")
    config.write_text(config.read_text() + "# mine\n")
    run("--yes", "--flow", "self check hallucination")
    assert run("--undo", "--yes") == 0
    assert config.read_text() == MODELS + "# mine\n"


def test_undo_leaves_a_line_that_init_changed_and_the_user_after_it(folder: Path, capsys: Capture) -> None:
    written(folder, {"config.yml": "import_paths: [.]\n" + MODELS})
    run("--yes")
    config = folder / "config.yml"
    config.write_text(config.read_text().replace("[., evidencerails/plugin]", "[., evidencerails/plugin, mine]"))
    edited = contents(folder)
    assert run("--undo", "--yes") == 2
    assert "a line that init changed was edited after it" in capsys.readouterr().err
    assert contents(folder) == edited


def dialog(flag: str) -> str:
    return f"define user ask\n  'what'\n\ndefine flow\n  user ask\n  # $check_logic = True\n  {flag}\n  bot answer\n"


GROUNDING_RAIL = "rails:\n  output:\n    flows:\n      - check grounding\n"
STRICT_RAIL = GROUNDING_RAIL.replace("grounding", "grounding $a=1")
FLAGGED = {
    "the rail whose flag is set": ("", "$check_grounding = True", (), ["check grounding"], None),
    "whatever evidence there is": ("", "$check_claims = True", (), ["check claims"], None),
    "a flag beside a rail": (GROUNDING_RAIL, "$check_claims = True", (), ["check grounding", "check claims"], None),
    "a rail with parameters is there": (STRICT_RAIL, "$check_grounding = True", (), ["check grounding $a=1"], None),
    "a flag that is never true": ("", "$check_claims = False", (), ["self check hallucination"], "always"),
    "another rail by option": ("", "$check_claims = True", ("--flow", "check logic"), ["check logic"], "always"),
}


@pytest.mark.parametrize(("rails", "line", "options", "flows", "activation"), FLAGGED.values(), ids=FLAGGED.keys())
def test_the_rail_whose_flag_a_flow_sets_is_added(
    folder: Path, rails: str, line: str, options: tuple[str, ...], flows: list[str], activation: str | None
) -> None:
    """Another rail was added, which waited for a flag that nothing set."""
    written(folder, {"config.yml": MODELS + rails, "flows.co": dialog(line)})
    assert run("--yes", *options) == 0
    config = RailsConfig.from_path(str(Path.cwd()))
    assert config.rails.output.flows == flows
    assert (config.custom_data.get("evidencerails") or {}).get("activation") == activation


@pytest.mark.parametrize("models", [MODELS, "models: []\n", MODELS + EMBEDDINGS.replace("evidencerails", "other")])
def test_a_knowledge_base_gets_embeddings_where_none_can_be_downloaded(
    folder: Path, models: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FASTEMBED_CACHE_PATH", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    before = contents(written(folder, {"config.yml": models, "kb/facts.md": "# Iron\n\nIron melts at 1538.\n"}))
    assert run("--yes") == 0
    engines = [model.engine for model in RailsConfig.from_path(str(Path.cwd())).models if model.type == "embeddings"]
    assert engines == ["other" if "other" in models else "evidencerails"]
    assert run("--undo", "--yes") == 0
    assert contents(folder) == before


def test_a_host_that_can_be_reached_leaves_the_models_as_they_are(
    server: ReplayServer, folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    written(folder, {"config.yml": MODELS, "kb/facts.md": "# Iron\n\nIron melts at 1538.\n"})
    monkeypatch.setenv("FASTEMBED_CACHE_PATH", str(tmp_path / "cache"))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setenv("HF_ENDPOINT", server.base_url)
    assert run("--yes") == 0
    assert "embeddings" not in (folder / "config.yml").read_text()


def test_undo_without_init_says_so(folder: Path, capsys: Capture) -> None:
    written(folder, COLANG_1["models only"])
    assert run("--undo") == 2
    assert f"no {RECORD}" in capsys.readouterr().err


def test_unknown_names_are_usage_errors(folder: Path, capsys: Capture) -> None:
    written(folder, COLANG_1["models only"])
    assert run("--flow", "check groundng") == 2
    assert "expected one of self check hallucination" in capsys.readouterr().err
    assert run(app="nowhere") == 2
    assert "give the folder that holds your config.yml" in capsys.readouterr().err
