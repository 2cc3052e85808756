"""`evidencerails bisect`: the first configuration with worse answers, by few evaluations."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import Run

from evidencerails.operations.store import Store
from evidencerails.settings.operations import StoreSettings
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


def test_the_settings_that_miss_hallucinations_are_found(tmp_path: Path, evidencerails: Run) -> None:
    configs = settings_files(tmp_path, "grounding", "grounding", "claims", "structure", "structure", "structure")
    done = evidencerails("bisect", rows_file(tmp_path, LABELLED), *configs)
    assert done.code == 1
    assert done.out.startswith(f"first bad: {configs[3]}") and "of 6 configurations tried" in done.out
    assert f"{configs[0]}: score 0.000 over 3 rows" in done.err


def test_without_a_regression_it_says_so(tmp_path: Path, evidencerails: Run) -> None:
    configs = settings_files(tmp_path, "grounding", "structure", "grounding")
    done = evidencerails("bisect", rows_file(tmp_path, LABELLED), *configs, "--json")
    found = json.loads(done.out)
    assert done.code == 0 and found["first_bad"] is None and list(found["scores"]) == [configs[0], configs[2]]


def test_the_change_log_names_configurations_and_the_change(tmp_path: Path, evidencerails: Run) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    with Store(StoreSettings(url=url)) as store:
        _ = store.engine
    for number, config in enumerate(settings_files(tmp_path, "grounding", "grounding", "structure")):
        assert evidencerails("change", f"version {number}", "--state", config, "--store", url).code == 0
    assert evidencerails("change", "no configuration", "--store", url).code == 0
    done = evidencerails("bisect", rows_file(tmp_path, LABELLED), "--store", url, "--json")
    assert done.code == 1
    assert json.loads(done.out)["first_bad"] == {"config": str(tmp_path / "v2.yml"), "change": "version 2"}


@pytest.fixture
def model() -> Iterator[ReplayServer]:
    with ReplayServer() as server:
        server.reply("Refunds are paid within 90 business days.", when=lambda request: request.body["model"] == "new")
        server.default("Refunds are paid within 5 business days.")
        yield server


@pytest.mark.slow
def test_apps_answer_questions_themselves_and_leave_no_trace(
    tmp_path: Path, model: ReplayServer, evidencerails: Run
) -> None:
    folders = [tmp_path / name for name in ("old", "new")]
    for folder in folders:
        folder.mkdir()
        text = APP.format(model=folder.name, url=model.base_url, folder=tmp_path)
        (folder / "config.yml").write_text(text, encoding="utf-8")
    rows = [{"prompt": text, "evidence": FACT} for text in ("How long do refunds take?", "When is money back?")]
    done = evidencerails("bisect", rows_file(tmp_path, rows), *folders)
    assert done.code == 1 and done.out.startswith(f"first bad: {folders[1]}")
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
    tmp_path: Path, evidencerails: Run, rows: list[dict[str, object]], words: str, code: int
) -> None:
    configs = settings_files(tmp_path, "grounding", "grounding")
    done = evidencerails("bisect", rows_file(tmp_path, rows), *configs)
    assert done.code == code and words in done.err


def test_missing_and_single_configurations_are_usage_errors(tmp_path: Path, evidencerails: Run) -> None:
    rows = rows_file(tmp_path, LABELLED)
    (one,), store = settings_files(tmp_path, "grounding"), f"sqlite:///{tmp_path}/s.db"
    for arguments, words in (
        (("bisect", rows, "nowhere.yml", "neither.yml"), "no configuration 'nowhere.yml'"),
        (("bisect", rows, one), "needs a good one and at least one after it"),
        (("change", "x", "--state", "nowhere", "--store", store), "nowhere"),
    ):
        done = evidencerails(*arguments)
        assert done.code == 2 and words in done.err
