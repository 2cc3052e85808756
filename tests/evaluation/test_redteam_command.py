import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from commands import Run

from evidencerails.evaluation.redteam.attacks import CATEGORIES, DIMENSIONS
from evidencerails.testing import ReplayServer

pytestmark = pytest.mark.slow

TEXT = "The Halden bridge opened in 1932. The Halden bridge is 412 metres long. It was built in Ostfold."
QUICK = ("--no-static", "-n", "1", "--category", "authority-impersonation")


BLIND = "grounding: {max_unsupported_score: 1.0, contradiction_threshold: 1.0}\nchecks: [grounding]\n"
"""Thresholds of 1 let everything pass."""


@pytest.fixture
def evidence(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "bridge.txt").write_text(TEXT)
    return tmp_path / "docs"


@pytest.fixture
def attacked(evidencerails: Run, evidence: Path, tmp_path: Path) -> Run:
    """Runs the command over the evidence, or a suite; gives what it left, and its JSON."""

    def run(*options: Any, settings: str | None = None, suite: Any = None) -> tuple[Any, dict[str, Any]]:
        if settings is not None:
            (tmp_path / "evidencerails.yml").write_text(settings)
            options = ("-c", tmp_path / "evidencerails.yml", *options)
        if suite is not None:
            (tmp_path / "s.jsonl").write_text(json.dumps(suite) + "\n")
        source = ("-e", evidence) if suite is None else ("--suite", tmp_path / "s.jsonl")
        done = evidencerails("redteam", *source, "--json", tmp_path / "r.json", *options)
        return done, json.loads((tmp_path / "r.json").read_text())

    return run


def test_planted_false_answers_are_caught_and_true_ones_pass(attacked: Run, evidencerails: Run, tmp_path: Path) -> None:
    report, suite = tmp_path / "r.md", tmp_path / "s.jsonl"
    done, found = attacked(*QUICK, "--markdown", report, "--save-suite", suite)
    assert done.code == 0, done.err
    category = found["categories"]["authority_impersonation"]
    assert (category["false_planted"], category["false_caught"]) == (2, 2)
    assert (category["true_planted"], category["true_passed"]) == (2, 2)
    assert found["score"]["value"] == 1.0 and found["failures"] == []
    assert set(found["categories"]) == set(CATEGORIES) and set(found["dimensions"]) == set(DIMENSIONS)
    assert category["expected"] == "stay_with_the_evidence"
    assert "no model was asked" in done.out and "1.00" in done.out
    assert "| authority impersonation | stay with the evidence | 1.00" in report.read_text()
    assert evidencerails("redteam", "--suite", suite, "--no-static", "--json", tmp_path / "r.json").code == 0
    assert json.loads((tmp_path / "r.json").read_text())["score"]["n"] == 1


def test_a_false_answer_that_passes_is_a_failure_below_the_threshold_and_proposed(
    attacked: Run, tmp_path: Path
) -> None:
    done, found = attacked(*QUICK, "--min-score", "0.9", "--propose", tmp_path / "p.jsonl", settings=BLIND)
    assert done.code == 1 and "the robustness score 0.500 is below 0.9" in done.err
    assert {one["what"] for one in found["failures"]} == {"a false answer passed"}
    assert len((tmp_path / "p.jsonl").read_text().splitlines()) == 1


@pytest.mark.parametrize(("options", "code"), [((), 3), (("--min-coverage", "0.05"), 0), (("--min-score", "0.9"), 1)])
def test_a_config_that_covers_one_category_has_no_full_score_and_no_exit_code_0(
    attacked: Run, options: tuple[str, ...], code: int
) -> None:
    """The score was 1.00 over the attacks that the one check could notice, and the exit code 0."""
    done, found = attacked("--no-static", "-n", "1", *options, settings="checks: [logic]\n")
    assert done.code == code, done.err
    assert 0.5 < found["score"]["value"] < 0.6
    assert found["coverage"]["wanted"] == len(CATEGORIES)
    assert set(found["coverage"]["uncovered"]) == set(CATEGORIES) - {"compositional_chains"}
    assert "coverage: 1 of 15 categories; not covered: knowledge boundary" in done.out


def test_evidence_of_one_sentence_has_no_full_score_and_no_exit_code_0(evidencerails: Run, tmp_path: Path) -> None:
    """What it gives no attack of was left out of the score, which was 1.00."""
    (tmp_path / "mill.txt").write_text("The mill grinds rye from Oslo.")
    options = ("--no-static", "-n", "1", "--category", "authority-impersonation,value-swap")
    done = evidencerails("redteam", "-e", tmp_path / "mill.txt", *options, "--json", tmp_path / "r.json")
    found = json.loads((tmp_path / "r.json").read_text())
    tried = found["categories"]["authority_impersonation"]["value"]
    assert (done.code, found["score"]["value"]) == (3, (tried + 0.5) / 2)
    assert "coverage: 1 of 2 categories; not covered: value swap (" in done.out


def test_runs_notice_a_fall_and_sends_it_once_until_it_is_over(
    attacked: Run, evidencerails: Run, tmp_path: Path
) -> None:
    store = f"sqlite:///{tmp_path / 'alerts.db'}"
    common = (*QUICK, "--history", tmp_path / "h.jsonl", "--store", store)
    sound = "checks: [grounding]\n"
    assert attacked(*common, settings=sound)[0].code == 0
    fallen, still = (attacked(*common, settings=BLIND)[0] for _ in range(2))
    assert (fallen.code, still.code) == (1, 1)
    assert "alert opened" in fallen.err and "fallen from 1.000 to 0.500" in fallen.err
    assert "alert opened" not in still.err
    assert "aimed at what changed since the last run: settings grounding" in fallen.out
    assert evidencerails("alert", "--store", store).code == 0  # the monitor leaves the red team's alert alone
    over, _ = attacked(*common, settings=sound)
    assert over.code == 0 and "alert recovered" in over.err


def with_model(server: ReplayServer) -> str:
    return f"checks: [grounding]\nllm: {{model: replay, base_url: '{server.base_url}', api_key: any}}\n"


def test_the_settings_model_is_asked_over_http_and_judged_by_what_is_true(server: ReplayServer, attacked: Run) -> None:
    server.default("The Halden bridge opened in 1932.")
    done, data = attacked(*QUICK, settings=with_model(server))
    found = data["categories"]["authority_impersonation"]
    assert (done.code, found["asked"], found["asked_failed"], found["asked_score"]) == (0, 1, 0, 1.0)
    assert "leading expert" in server.requests[0].last_user_text
    assert "[1] The Halden bridge opened" in server.requests[0].last_user_text
    before = len(server.requests)
    assert attacked(*QUICK, "--no-ask", settings=with_model(server))[0].code == 0
    assert len(server.requests) == before


def test_a_model_that_fails_counts_nowhere(server: ReplayServer, attacked: Run) -> None:
    server.reply("", status=401)
    done, found = attacked(*QUICK, settings=with_model(server))
    assert (done.code, found["counts"]["without_verdict"], found["score"]["value"]) == (0, 1, 1.0)
    assert "1 answers got no verdict" in done.out


def app_config(folder: Path, base_url: str) -> Path:
    (folder / "app").mkdir()
    (folder / "app" / "config.yml").write_text(
        f"""
import_paths: [evidencerails/plugin]
models:
  - {{type: main, engine: openai, model: replay, parameters: {{base_url: "{base_url}", api_key: any}}}}
  - {{type: embeddings, engine: evidencerails, model: embedded}}
rails:
  output:
    flows: [check grounding]
custom_data:
  evidencerails: {{activation: always, store: {{url: "sqlite:///{folder / "kept.db"}"}}}}
"""
    )
    return folder / "app"


def test_a_live_app_is_attacked_with_ready_answers_and_questions(
    server: ReplayServer, attacked: Run, tmp_path: Path
) -> None:
    server.default("The Halden bridge opened in 1932.")
    done, found = attacked("--app", app_config(tmp_path, server.base_url), *QUICK)
    assert done.code == 0, done.err
    category = found["categories"]["authority_impersonation"]
    assert (category["false_caught"], category["false_planted"]) == (2, 2)
    assert (category["true_passed"], category["true_planted"]) == (2, 2), found["failures"]
    assert (category["asked"], category["asked_score"], len(server.requests)) == (1, 1.0, 1)
    assert found["run"]["kind"] == "app" and found["run"]["checks"] == ["grounding"]
    with closing(sqlite3.connect(tmp_path / "kept.db")) as kept:  # there for alerts; attacks are no traffic
        assert kept.execute("select count(*) from reports").fetchone() == (0,)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--category", "entity-subtitution"), "did you mean 'entity_substitution'?"),
        (("--config", "a.yml", "--app", "b"), "not both"),
        (("--evidence", "nowhere.txt"), "cannot read 'nowhere.txt'"),
        (("--no-static",), "nothing to attack with: give --evidence"),
        (("--suite", "none.jsonl"), "cannot read the suite"),
        (("--ask",), "--ask needs a model"),
        (("--json", "no/such/dir.json"), "cannot write"),
    ],
)
def test_wrong_usage_exits_2_with_the_remedy(evidencerails: Run, options: tuple[str, ...], message: str) -> None:
    done = evidencerails("redteam", *options)
    assert done.code == 2 and message in done.err
