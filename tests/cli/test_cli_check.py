import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import Run

from evidencerails import __version__
from evidencerails.testing import ReplayServer

SOURCE = "Items can be returned within 30 days of delivery. Refunds are paid within 5 business days."
GROUNDED = "Refunds are paid within 5 business days."
WRONG = "Refunds are paid within 20 business days."


def test_a_grounded_answer_exits_0(evidencerails: Run) -> None:
    done = evidencerails("check", "--response", GROUNDED, "--evidence-text", SOURCE)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("grounded  hallucination score 0.")
    assert "│ supported │" in done.out


def test_a_hallucinated_answer_exits_1_and_shows_words_and_evidence(evidencerails: Run, tmp_path: Path) -> None:
    (tmp_path / "terms.txt").write_text(SOURCE)
    done = evidencerails("check", "-r", WRONG, "--evidence", tmp_path / "terms.txt")
    assert done.code == 1
    assert "Refunds are paid within ⟦20⟧ business days." in done.out
    assert "contradicted" in done.out and "terms.txt" in done.out
    assert done.err.startswith("evidencerails: hallucinated: ")


def test_an_answer_without_evidence_exits_3_with_the_reason_on_stderr(evidencerails: Run) -> None:
    done = evidencerails("check", "-r", WRONG)
    assert done.code == 3
    assert re.fullmatch(r"evidencerails: unverified: .*no_evidence.*; give --evidence FILE, .*\n", done.err)
    assert done.out.startswith("unverified  decision warn")


def test_json_holds_the_whole_report(evidencerails: Run) -> None:
    done = evidencerails("check", "-r", f"{GROUNDED} {WRONG}", "-t", SOURCE, "--json")
    report = json.loads(done.out)
    assert done.code == 1
    assert report["status"] == "hallucinated"
    assert [claim["label"] for claim in report["claims"]] == ["supported", "contradicted"]
    span = report["claims"][1]["span"]
    assert f"{GROUNDED} {WRONG}"[span["start"] : span["end"]] == span["text"] == WRONG
    assert report["claims"][1]["evidence"][0]["span"]["text"] in SOURCE


@pytest.mark.parametrize("name", ["-", "answer.txt"])
def test_the_answer_comes_from_a_file_or_standard_input(evidencerails: Run, tmp_path: Path, name: str) -> None:
    (tmp_path / "answer.txt").write_text(WRONG)
    done = evidencerails("check", "--response-file", name, "-t", SOURCE, stdin=WRONG, cwd=tmp_path)
    assert done.code == 1


def test_samples_alone_are_compared_with_the_answer(evidencerails: Run, tmp_path: Path) -> None:
    others = ["The bridge opened in 1932.", "The bridge opened in 1932."]
    (tmp_path / "samples.json").write_text(json.dumps(others))
    agrees = evidencerails("check", "-r", "The bridge opened in 1932.", "--samples-file", tmp_path / "samples.json")
    differs = evidencerails("check", "-r", "The bridge opened in 1875.", "-s", others[0], "-s", others[1])
    assert (agrees.code, differs.code) == (0, 1)
    assert "inconsistent_samples" in differs.out


def test_settings_come_from_a_file_or_a_config_folder(evidencerails: Run, tmp_path: Path) -> None:
    settings = "evidencerails: {policies: [{when: {label: contradicted}, then: warn}]}\n"
    (tmp_path / "config.yml").write_text(f"models: []\ncustom_data:\n  {settings}")
    (tmp_path / "other.yml").write_text(settings)
    for place in (tmp_path, tmp_path / "other.yml"):
        done = evidencerails("check", "-r", WRONG, "-t", SOURCE, "--config", place, "--json")
        assert json.loads(done.out)["decided_by"] == "policies[1]"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give the answer once: --response TEXT, --response-file FILE"),
        (("-r", "a", "-f", "b"), "give the answer once"),
        (("-f", "nowhere.txt"), "cannot read 'nowhere.txt': No such file or directory"),
        (("-r", "a", "-e", "."), "cannot read '.': Is a directory"),
        (("-r", "a", "--method", "groundng"), "unknown method 'groundng'; did you mean 'grounding'?"),
        (("-r", "a", "--method", ","), "--method names no method"),
        (("-r", "a", "--cascade"), "a judge needs a model: give --model NAME, the environment variable JUDGE_MODEL"),
        (("--nonsense",), "No such option: --nonsense"),
        (("-r", "a", "-e", "plain.pdf"), "'plain.pdf' is a PDF; give its text instead"),
        (("-f", "latin1.txt"), "is not UTF-8 text (byte 1); convert it to UTF-8 first"),
        (("-r", "a", "--schema", "list.json"), "holds a list; expected a JSON Schema"),
        (("-r", "a", "--tools", "broken.json"), "expected a JSON list of tools"),
        (("-r", "a", "--tool-calls", "object.json"), "holds a dict; expected a JSON list of calls"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(
    evidencerails: Run, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    pdf = b"%PDF-1.4\n(Refunds are paid within 5 days.) Tj"
    given = {"latin1.txt": b"a\xe9b", "plain.pdf": pdf, "list.json": b"[1]", "object.json": b"{}", "broken.json": b"{"}
    for name, content in given.items():
        (tmp_path / name).write_bytes(content)
    done = evidencerails("check", *arguments, cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert message in done.err and done.err.count("\n") == 1


def test_no_command_shows_the_help_as_it_is(evidencerails: Run) -> None:
    done = evidencerails()
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("Usage: ") and done.err.count("\n") > 10


def test_hostile_text_reaches_the_terminal_harmless(evidencerails: Run) -> None:
    hostile = "\x1b]0;owned\x07[bold]Refunds[/bold] are paid within \u202e20\u202c business days.\x00"
    done = evidencerails("check", "-f", "-", "-t", SOURCE + " \x1b[2J", stdin=hostile)
    assert done.code in (1, 3)
    assert "\\x1b]0;owned\\x07[bold]Refunds[/bold] are paid" in " ".join(
        done.out.replace("⟦", "").replace("⟧", "").split()
    )
    assert not [c for c in done.out + done.err if (ord(c) < 32 and c != "\n") or c in "\x7f\u202e\u202c"]


def test_version_and_help(evidencerails: Run) -> None:
    assert evidencerails("--version").out == f"evidencerails {__version__}\n"
    text = evidencerails("check", "--help").out
    assert text.index("Check one answer") < text.index("evidencerails check --response")


@pytest.mark.slow
def test_a_reader_who_leaves_early_does_not_make_it_hallucinated() -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "evidencerails", "check", "-r", GROUNDED, "-t", SOURCE]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, timeout=120)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.slow
def test_arguments_beyond_ascii_arrive_whole_in_a_c_locale(process: Run) -> None:
    answer = "Refunds are paid within 20 business days \u2013 na\u00efve."
    done = process("check", "-r", answer, "-t", SOURCE, "--json", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert json.loads(done.out)["claims"][0]["span"]["text"] == answer


REWRITE = '{"sentences": [{"number": 1, "text": "%s"}]}'


@pytest.fixture
def repairing(tmp_path: Path) -> Any:
    """Settings that have contradicted claims written again, by a model that does as it is told."""
    with ReplayServer() as server:
        server.default(REWRITE % GROUNDED)
        file = tmp_path / "settings.yml"
        file.write_text(
            "checks: [grounding]\npolicies: [{when: {label: contradicted}, then: regenerate}]\n"
            f"llm: {{base_url: '{server.base_url}', model: m, api_key: none}}\n"
        )
        yield file, server


def test_a_repair_is_shown_with_its_diff(evidencerails: Run, repairing: Any, tmp_path: Path) -> None:
    done = evidencerails("check", "-r", WRONG, "-t", SOURCE, "-c", repairing[0], "--html", tmp_path / "out.html")
    assert done.code == 1, "the verdict is about the answer as the model wrote it"
    assert "repair repaired: all 1 flagged findings are gone" in done.out
    assert f"-{WRONG}\n+{GROUNDED}\n" in done.out
    assert f"the user gets: {GROUNDED}\n" in done.out
    page = (tmp_path / "out.html").read_text()
    assert f">{GROUNDED}</div>" in page and f"-{WRONG}\n+{GROUNDED}</pre>" in page


@pytest.mark.parametrize("extra", [(), ("--json",)])
def test_redaction_hides_the_answer_and_the_repaired_text(
    evidencerails: Run, repairing: Any, extra: tuple[str, ...]
) -> None:
    repairing[0].write_text(repairing[0].read_text() + "redaction: hash\n")
    done = evidencerails("check", "-r", WRONG, "-t", SOURCE, "-c", repairing[0], *extra)
    assert done.code == 1 and "repaired" in done.out
    assert "business days" not in done.out + done.err


def written_json(folder: Path, name: str, value: Any) -> Path:
    (folder / name).write_text(json.dumps(value))
    return folder / name


def test_an_answer_is_held_against_a_schema(evidencerails: Run, tmp_path: Path) -> None:
    schema = written_json(tmp_path, "schema.json", {"properties": {"status": {"enum": ["open", "closed"]}}})
    fits = evidencerails("check", "-r", '{"status": "open"}', "--schema", schema)
    assert (fits.code, fits.err) == (0, "")
    broken = evidencerails("check", "-r", '{"status": "lost"}', "--schema", schema)
    assert broken.code == 1
    assert 'at /status: "lost" is not one of ["open", "closed"]' in " ".join(broken.out.split())


def test_tool_calls_are_checked_without_an_answer(evidencerails: Run, tmp_path: Path) -> None:
    tools = written_json(tmp_path, "tools.json", [{"name": "refund", "parameters": {"required": ["order"]}}])
    good = written_json(tmp_path, "good.json", [{"name": "refund", "arguments": {"order": "A1"}}])
    bad = written_json(tmp_path, "bad.json", [{"name": "refund", "arguments": {}}, {"name": "drop", "arguments": {}}])
    assert evidencerails("check", "--tool-calls", good, "--tools", tools).code == 0
    done = evidencerails("check", "--tool-calls", bad, "--tools", tools)
    assert done.code == 1
    assert "'order' is a required property" in done.out and "there is no tool 'drop'" in done.out


UNSURE = "Money comes back in under a week of work."
"""Supported, with a score in the band of the cascade."""


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Iterator[ReplayServer]:
    """A provider where OpenAI's is looked for, whose model calls every claim right."""
    verdict = {"claim": 1, "facts": "", "quote": GROUNDED, "comparison": "", "label": "supported", "error_types": []}
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    with ReplayServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        server.default(json.dumps({"verdicts": [verdict]}))
        yield server


@pytest.mark.parametrize(
    ("options", "answer", "classifier", "calls"),
    [
        (("--method", "nli"), UNSURE, "offline", 0),
        (("--method", "judge"), GROUNDED, "llm", 1),
        (("--cascade",), GROUNDED, "cascade", 0),
        (("--cascade",), UNSURE, "cascade", 1),
        (("--method", "nli,judge"), UNSURE, "cascade", 1),
        (("-m", "nli", "-m", "judge"), UNSURE, "cascade", 1),
        ((), UNSURE, "cascade", 1),
    ],
)
def test_who_decides_on_the_claims(
    evidencerails: Run, judge: ReplayServer, options: tuple[str, ...], answer: str, classifier: str, calls: int
) -> None:
    done = evidencerails("check", "-r", answer, "-t", SOURCE, "--model", "some-model", *options, "--json")
    report = json.loads(done.out)
    assert [request.body["model"] for request in judge.requests] == ["some-model"] * calls
    assert (report["checks"]["claims"]["details"]["classifier"], report["llm"]["calls"]) == (classifier, calls)


@pytest.mark.parametrize(
    ("options", "settings", "asked"),
    [
        (("--cascade",), "", ["of-environment"]),
        ((), "", []),
        (("--method", "nli"), "", []),
        (("--cascade", "--model", "of-option"), "llm: {judge: {model: of-file}}", ["of-option"]),
        (("--cascade",), "llm: {judge: {model: of-file}}", ["of-file"]),
        (("--cascade",), "llm: {model: of-file}", ["of-file"]),
    ],
)
def test_an_option_outranks_the_file_and_the_file_the_environment(
    evidencerails: Run, judge: ReplayServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
    options: tuple[str, ...], settings: str, asked: list[str],
) -> None:  # fmt: skip
    """Without a judge asked for, a model of the environment is sent nothing."""
    monkeypatch.setenv("JUDGE_MODEL", "of-environment")
    (tmp_path / "s.yml").write_text(settings)
    evidencerails("check", "-r", UNSURE, "-t", SOURCE, "-c", tmp_path / "s.yml", *options)
    assert [request.body["model"] for request in judge.requests] == asked


@pytest.mark.parametrize(
    ("variables", "settings", "risk", "err"),
    [
        ({}, "", "high", ""),
        ({"RISK_HIGH_THRESHOLD": "1"}, "", "medium", "settings from the environment: RISK_HIGH_THRESHOLD\n"),
        ({"RISK_HIGH_THRESHOLD": ""}, "", "high", ""),
        ({"RISK_HIGH_THRESHOLD": "1"}, "scoring: {risk: {high: 0.6}}", "high", ""),
        ({"RISK_LOW_THRESHOLD": "1", "RISK_HIGH_THRESHOLD": "1"}, "scoring: {aggregation: worst}", "low",
         "settings from the environment: RISK_LOW_THRESHOLD, RISK_HIGH_THRESHOLD\n"),
        ({"NLI_THRESHOLD": "1"}, "", "high", "settings from the environment: NLI_THRESHOLD\n"),
        ({"RISK_LOW_THRESHOLD": "a third"}, "", None, "scoring.risk.low: 'a third' is not valid"),
        ({"RISK_LOW_THRESHOLD": "0.9"}, "", None, "; from the environment: RISK_LOW_THRESHOLD\n"),
    ],
)  # fmt: skip
def test_thresholds_of_the_environment(
    evidencerails: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
    variables: dict[str, str], settings: str, risk: str | None, err: str,
) -> None:  # fmt: skip
    (tmp_path / "s.yml").write_text(settings)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    done = evidencerails("check", "-r", WRONG, "-t", SOURCE, "-c", tmp_path / "s.yml", "--json")
    assert err in done.err
    assert (done.code, json.loads(done.out or "{}").get("risk_level")) == (1 if risk else 2, risk)


def test_each_method_is_listed_with_its_milliseconds(evidencerails: Run) -> None:
    done = evidencerails("check", "-r", WRONG, "-t", SOURCE, "-s", GROUNDED, "--method", "claims,ngram,logprobs")
    rows = [line.split("│") for line in done.out.splitlines()[-4:]]
    listed = [(name.strip(), result.strip(), bool(score.strip()), int(ms) >= 0) for name, result, score, ms in rows]
    assert listed == [
        ("claims", "hallucinated", True, True),
        ("consistency", "hallucinated", True, True),
        ("ngram", "measured", True, True),
        ("logprobs", "no_logprobs", False, True),
    ]
