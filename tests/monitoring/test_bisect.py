"""`evidencerails bisect`: the first configuration with worse answers, by few evaluations."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from evidencerails.cli.main import _exit_code
from evidencerails.operations.store import Store
from evidencerails.testing import ReplayServer

FACT = "Refunds are paid within 5 business days."
LABELLED = [
    {"response": "Refunds are paid within 5 business days.", "evidence": FACT, "hallucinated": False},
    {"response": "Refunds are paid within 30 business days.", "evidence": FACT, "hallucinated": True},
    {"response": "Refunds are paid within 90 business days.", "evidence": FACT, "hallucinated": True},
]
APP = """\
models:
  - {{type: main, engine: openai, model: {model}, parameters: {{base_url: "{url}", api_key: none}}}}
import_paths: [evidencerails/plugin]
rails: {{output: {{flows: [check grounding]}}}}
custom_data: {{evidencerails: {{activation: always, store: {{url: "sqlite:///{folder}/real.db"}}}}}}
"""


def rows_file(folder: Path, rows: list[dict[str, object]]) -> str:
    file = folder / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(file)


def settings_files(folder: Path, *checks: str) -> list[str]:
    files = [folder / f"v{number}.yml" for number in range(len(checks))]
    for file, check in zip(files, checks, strict=True):
        file.write_text(f"checks: [{check}]\n", encoding="utf-8")
    return [str(file) for file in files]


def test_the_settings_that_miss_hallucinations_are_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    configs = settings_files(tmp_path, "grounding", "grounding", "claims", "structure", "structure", "structure")
    assert _exit_code(["bisect", rows_file(tmp_path, LABELLED), *configs]) == 1
    printed = capsys.readouterr()
    assert printed.out.startswith(f"first bad: {configs[3]}") and "of 6 configurations tried" in printed.out
    assert f"{configs[0]}: score 0.000 over 3 rows" in printed.err


def test_without_a_regression_it_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    configs = settings_files(tmp_path, "grounding", "structure", "grounding")
    assert _exit_code(["bisect", rows_file(tmp_path, LABELLED), *configs, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["first_bad"] is None and list(found["scores"]) == [configs[0], configs[2]]


def test_the_change_log_names_configurations_and_the_change(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from evidencerails.settings.store import StoreSettings

    url = f"sqlite:///{tmp_path}/store.db"
    with Store(StoreSettings(url=url)) as store:
        store.engine  # noqa: B018
    for number, config in enumerate(settings_files(tmp_path, "grounding", "grounding", "structure")):
        assert _exit_code(["change", f"version {number}", "--state", config, "--store", url]) == 0
    assert _exit_code(["change", "no configuration", "--store", url]) == 0
    capsys.readouterr()
    assert _exit_code(["bisect", rows_file(tmp_path, LABELLED), "--store", url, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["first_bad"] == {"config": str(tmp_path / "v2.yml"), "change": "version 2"}


@pytest.fixture
def model() -> Iterator[ReplayServer]:
    with ReplayServer() as server:
        server.reply("Refunds are paid within 90 business days.", when=lambda request: request.body["model"] == "new")
        server.default("Refunds are paid within 5 business days.")
        yield server


def test_apps_answer_questions_themselves_and_leave_no_trace(
    tmp_path: Path, model: ReplayServer, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [tmp_path / name for name in ("a", "b", "c")]
    for folder, name in zip(folders, ("old", "old", "new"), strict=True):
        folder.mkdir()
        text = APP.format(model=name, url=model.base_url, folder=tmp_path)
        (folder / "config.yml").write_text(text, encoding="utf-8")
    rows = [
        {"prompt": "How long do refunds take?", "evidence": FACT},
        {"prompt": "When is money back?", "evidence": FACT},
    ]
    assert _exit_code(["bisect", rows_file(tmp_path, rows), *map(str, folders)]) == 1
    assert capsys.readouterr().out.startswith(f"first bad: {folders[2]}")
    assert not (tmp_path / "real.db").exists()


@pytest.mark.parametrize(
    ("rows", "words", "code"),
    [
        ([{"response": "x", "evidence": "y"}, {"response": "x", "hallucinated": True}], "1 of 2 rows have a label", 2),
        ([{"evidence": "y"}], "needs a response, or a prompt", 2),
        ([{"response": "x", "hallucinated": "yes"}], "expected true or false", 2),
        ([], "has no rows", 2),
        ([{"response": "Refunds take long."}], "1 of 1 rows could not be verified", 3),
        ([{"prompt": "Why?"}], "is no config folder", 2),
    ],
)
def test_what_cannot_be_scored_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rows: list[dict[str, object]], words: str, code: int
) -> None:
    configs = settings_files(tmp_path, "grounding", "grounding")
    assert _exit_code(["bisect", rows_file(tmp_path, rows), *configs]) == code
    assert words in capsys.readouterr().err


def test_missing_and_single_configurations_are_usage_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = rows_file(tmp_path, LABELLED)
    assert _exit_code(["bisect", rows, "nowhere.yml", "neither.yml"]) == 2
    assert _exit_code(["bisect", rows, *settings_files(tmp_path, "grounding")]) == 2
    assert _exit_code(["change", "x", "--state", "nowhere", "--store", f"sqlite:///{tmp_path}/s.db"]) == 2
    printed = capsys.readouterr().err
    assert "no configuration 'nowhere.yml'" in printed and "needs a good one and at least one after it" in printed
