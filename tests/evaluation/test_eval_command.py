import json
import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from commands import Done, Run
from evaluation_rows import write_rows, year_rows

from evidencerails.evaluation.outcomes import outcomes_in, read_header
from evidencerails.measures.judge import HIGHEST_LEVEL
from evidencerails.testing import ReplayRequest, ReplayServer

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("few_resamples")]

CONTRACT = ("n", "unverified", "precision", "recall", "f1", "balanced_accuracy", "auroc", "auprc", "brier", "ece",
            "latency_ms_p50", "latency_ms_p95")  # fmt: skip


@pytest.fixture
def evaluated(evidencerails: Run, tmp_path: Path) -> Run:
    """What the command leaves for these rows: its metrics, and what it printed."""

    def run(rows: list[dict[str, Any]], *options: Any, code: int = 0, broken: str = "") -> tuple[Any, Done]:
        file = write_rows(tmp_path / "rows.jsonl", rows)
        file.write_text(file.read_text() + broken)
        done = evidencerails("eval", "--dataset", file, "--json", tmp_path / "m.json", *options)
        assert done.code == code, done.err
        return json.loads((tmp_path / "m.json").read_text()), done

    return run


def test_json_holds_every_metric_with_its_interval(evaluated: Run) -> None:
    found, _ = evaluated(year_rows(12), "--method", "grounding,nli")
    assert list(found["methods"]) == ["grounding", "nli"]
    for metrics in found["methods"].values():
        for name in CONTRACT:
            metric = metrics[name]
            assert metric["low"] <= metric["value"] <= metric["high"], name
        assert metrics["n"]["value"] == 12
    assert found["methods"]["grounding"]["f1"]["value"] == 1.0
    assert set(found["baselines"]) == {"everything_flagged", "length", "unseen_words"}
    assert found["baselines"]["everything_flagged"]["recall"]["value"] == 1.0
    assert found["baselines"]["length"]["auroc"]["value"] == 0.5  # all answers are of one length, per pair


def test_one_class_gives_null_and_a_reason(evaluated: Run) -> None:
    found, _ = evaluated([row for row in year_rows(8) if not row["hallucinated"]])
    metrics = found["methods"]["grounding"]
    for name in ("auroc", "auprc", "balanced_accuracy", "recall", "f1"):
        assert metrics[name]["value"] is None and "undefined" in metrics[name]["reason"]
    assert metrics["brier"]["value"] is not None


def test_bad_rows_are_told_and_counted_and_the_rest_is_evaluated(evaluated: Run) -> None:
    rows = [*year_rows(4), {"id": "x", "response": "No label."}, year_rows(1)[0]]
    found, done = evaluated(rows, broken='{"id": "broken\n')
    assert "left out or changed: 1 malformed, 1 without label, 1 repeated" in done.err
    run = found["run"]
    assert run["rows"] == 4 and run["problem_examples"][-1].startswith("rows.jsonl:7: not JSON")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--method", "groundin"), "unknown method 'groundin'; did you mean 'grounding'"),
        (("--method", ","), "names no method"),
        (("--json", "."), "cannot write '.'"),
        (("--json", "missing/m.json"), "give the path of a file in a folder that exists"),
        (("--compare", "nothing.rows.jsonl"), "cannot read the run 'nothing.rows.jsonl'"),
        (("-d", "bare.jsonl"), "has no row to evaluate: 1 without label"),
        (("--run", "notes.txt", "--fresh"), "cannot read the run"),  # it discards a run, and nothing else
    ],
)
def test_wrong_usage_exits_2_with_the_remedy(evidencerails: Run, options: tuple[str, ...], message: str) -> None:
    write_rows(Path("bare.jsonl"), [{"response": "A."}])
    Path("notes.txt").write_text("mine")
    done = evidencerails("eval", "-d", write_rows(Path("rows.jsonl"), year_rows(2)), *options)
    assert done.code == 2 and message in done.err and Path("notes.txt").read_text() == "mine"


def test_a_method_that_could_verify_nothing_exits_3_and_says_why(evaluated: Run) -> None:
    found, done = evaluated(year_rows(2), "-m", "ngram", code=3)
    assert "ngram could verify no row: no_model" in done.err
    metrics = found["methods"]["ngram"]
    assert metrics["unverified"]["value"] == 2 and metrics["f1"]["value"] is None
    assert metrics["f1"]["conservative"]["value"] == 0.0


def test_a_judge_that_answers_nonsense_for_a_third_of_the_rows(
    server: ReplayServer, evaluated: Run, tmp_path: Path
) -> None:
    """Nonsense rows are unverified: they leave the first column and count as wrong in the second."""

    def judge(request: ReplayRequest) -> str:
        years = [int(year) for year in re.findall(r"\b(?:17|18|19)\d\d\b", request.last_user_text)]
        if min(years) % 3 == 0:
            return "banana"
        level = HIGHEST_LEVEL if max(years) == min(years) else 0
        quote = re.findall(r"The \w+ [\w ]+ in \d+\.", request.last_user_text)[0]
        return json.dumps({"verdicts": [{"claim": 1, "reason": "r", "quote": quote, "level": level}]})

    server.default(judge)
    settings = tmp_path / "settings.yml"
    llm = {"model": "replay", "base_url": server.base_url, "api_key": "none", "cache": {"backend": "off"}}
    settings.write_text(json.dumps({"llm": llm}))
    found, _ = evaluated(year_rows(12), "-m", "judge", "-c", settings)
    metrics = found["methods"]["judge"]
    assert metrics["unverified"]["value"] == 4
    assert metrics["auroc"]["value"] == 1.0
    assert metrics["auroc"]["conservative"]["value"] < 1.0
    assert metrics["f1"]["conservative"]["value"] < metrics["f1"]["value"]
    assert metrics["coverage"]["value"] == pytest.approx(8 / 12)
    assert metrics["llm_calls"]["value"] >= 1.0


def test_a_killed_run_goes_on_where_it_stopped(evidencerails: Run, start_process: Run, tmp_path: Path) -> None:
    file, run = write_rows(tmp_path / "rows.jsonl", year_rows(60)), tmp_path / "m.rows.jsonl"
    running = start_process("eval", "-d", file, "--json", tmp_path / "m.json", "--concurrency", "1")
    deadline = time.monotonic() + 100
    while time.monotonic() < deadline and (not run.exists() or run.read_bytes().count(b"\n") < 8):
        time.sleep(0.05)
    running.send_signal(signal.SIGKILL)
    running.wait()
    with run.open("a") as handle:
        handle.write('{"id": "half a li')  # as if it had been killed while writing
    kept = run.read_text().splitlines()[1:-1]
    assert 7 <= len(kept) < 60 and not (tmp_path / "m.json").exists()
    done = evidencerails("eval", "-d", file, "--json", tmp_path / "m.json")
    assert done.code == 0 and f"going on with a run of {len(kept)} outcomes" in done.err
    assert run.read_text().splitlines()[1 : 1 + len(kept)] == kept  # nothing was done twice
    ids = [outcome.id for outcome in outcomes_in(run)]
    assert len(ids) == len(set(ids)) == 60
    assert json.loads((tmp_path / "m.json").read_text())["methods"]["grounding"]["n"]["value"] == 60


def test_another_runs_file_is_refused_unless_fresh(evidencerails: Run, tmp_path: Path) -> None:
    run = tmp_path / "a.rows.jsonl"
    rows = write_rows(tmp_path / "rows.jsonl", year_rows(4))
    assert evidencerails("eval", "-d", rows, "--run", run).code == 0
    refused = evidencerails("eval", "-d", rows, "--run", run, "--sample", "2")
    assert refused.code == 2 and "sample None there, 2 here" in refused.err
    assert evidencerails("eval", "-d", rows, "--run", run, "--sample", "2", "--fresh").code == 0
    assert read_header(run)["sample"] == 2


def test_a_method_can_be_added_to_a_finished_run(evidencerails: Run, tmp_path: Path) -> None:
    run, rows = tmp_path / "a.rows.jsonl", write_rows(tmp_path / "rows.jsonl", year_rows(4))
    evidencerails("eval", "-d", rows, "--run", run, "-m", "grounding")
    evidencerails("eval", "-d", rows, "--run", run, "-m", "grounding,nli")
    assert [outcome.method for outcome in outcomes_in(run)] == ["grounding"] * 4 + ["nli"] * 4


def test_nothing_is_stored_and_nobody_is_asked(evidencerails: Run, tmp_path: Path) -> None:
    settings = tmp_path / "settings.yml"
    settings.write_text(json.dumps({"store": {"url": f"sqlite:///{tmp_path / 'kept.db'}"}}))
    rows = write_rows(tmp_path / "rows.jsonl", year_rows(2))
    assert evidencerails("eval", "-d", rows, "-c", settings).code == 0
    assert not list(tmp_path.glob("kept.db*"))


def test_two_runs_are_compared_with_significance(evidencerails: Run, evaluated: Run, tmp_path: Path) -> None:
    """The first run gets evidence that says what the answers say, but for the first rows, so that it finds little."""
    blind = [row if number < 6 else {**row, "evidence": [row["response"]]} for number, row in enumerate(year_rows(20))]
    evidencerails("eval", "-d", write_rows(tmp_path / "blind.jsonl", blind), "--run", tmp_path / "blind.rows.jsonl")
    metrics, done = evaluated(year_rows(20), "--compare", tmp_path / "blind.rows.jsonl")
    (found,) = metrics["comparisons"]
    assert found["rows"] == 20
    assert (found["only_first_right"], found["only_second_right"]) == (0, 7)
    assert found["p_mcnemar"] == pytest.approx(2 * 0.5**7)
    assert found["differences"]["f1"]["value"] == pytest.approx(1 - 6 / 13, abs=1e-4)
    assert found["differences"]["auroc"]["value"] > 0.2
    message = " ".join(done.out.split())
    assert "on 20 common rows" in message and "McNemar p = 0.0156" in message


def test_the_markdown_shows_the_mistakes_and_escapes_them(evidencerails: Run, tmp_path: Path) -> None:
    evil = "<script>alert(1)</script> The bridge opened in 1950.\u202e\n# Title | [link](x)"
    rows = [*year_rows(6), {"id": '"><img src=x>', "evidence": ["The bridge opened in 1950."], "response": evil,
                            "hallucinated": True}]  # fmt: skip
    file = write_rows(tmp_path / "rows.jsonl", rows)
    done = evidencerails("eval", "-d", file, "--markdown", tmp_path / "r.md", "-m", "grounding,nli")
    assert done.code == 0
    text = (tmp_path / "r.md").read_text(encoding="utf-8")
    assert "| grounding | 7 | 0 |" in text and "| *length only* | 7 |" in text
    assert "- hallucinated: 3 flagged, 1 passed; clean: 0 flagged, 3 passed" in text
    _, mistakes = text.split("## Judged wrongly with most certainty")
    assert "`grounding` says grounded, score 0." in mistakes and "the label is hallucinated" in mistakes
    assert "- evidence: The bridge opened in 1950." in mistakes
    assert not re.search(r"<|\u202e|^# Title|[^\\]\[link", mistakes, re.MULTILINE)
