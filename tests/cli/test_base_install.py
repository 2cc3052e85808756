"""A base install: no extra is there, and every command and each of its options still answers in one line."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from commands import Run
from typer.main import get_command

from evidencerails.cli import main
from evidencerails.cli.main import app
from evidencerails.errors import EXTRA_OF_MODULE

ARGUMENTS = {
    "check": ["--response", "Hello."], "init": ["nowhere"], "doctor": ["nowhere"], "demo": ["--banana"],
    "serve": ["--port", "0"], "batch": ["rows.jsonl", "out.jsonl"], "monitor": [], "report": [],
    "eval": ["--dataset", "rows.jsonl"], "calibrate": ["--run", "nowhere.jsonl"],
    "redteam": ["--suite", "nowhere.yml"], "alert": [], "gate": [], "bisect": ["rows.jsonl", "a.yml", "b.yml"],
    "schema": [], "change": ["new prompt"], "review list": [], "review show": ["abc"], "review approve": ["abc"],
    "review reject": ["abc"], "review release": ["abc"], "review edit": ["abc", "--text", "new"], "store status": [],
    "store export": [], "store purge": [], "store init": [],
}  # fmt: skip
"""Arguments with which a command does next to nothing; what `demo` does without extras is in test_demo.py."""
STORE = {"monitor", "report", "alert", "gate", "change"}
NEEDS = {name: "store" for name in ARGUMENTS if name in STORE or name.startswith(("review", "store"))}
NEEDS |= {"serve": "service", "eval": "eval", "calibrate": "eval"}
FURTHER = [
    (["report", "--since", "banana"], "'banana' is no length of time"),
    (["report", "--since", "0d"], "'0d' is no length of time"),
    (["report", "--html", "nowhere/x.html"], "cannot write 'nowhere/x.html'"),
    (["monitor", "--since", "banana"], "'banana' is no length of time"),
    (["store", "export", "--format", "banana"], "unknown format 'banana'"),
    (["store", "export", "--status", "banana"], "unknown status 'banana'"),
    (["review", "list", "--state", "banana"], "unknown state 'banana'"),
    (["review", "list", "--tier", "banana"], "unknown tier 'banana'"),
    (["batch", "rows.parquet", "other.jsonl"], 'pip install "evidencerails[parquet]"'),
    (["batch", "rows.jsonl", "out.parquet"], "name it *.jsonl, not 'out.parquet'"),
    (["batch", "rows.jsonl", "out.jsonl", "--format", "banana"], "unknown format 'banana'; expected one of jsonl"),
    (["redteam", "--app", "nowhere"], "no folder 'nowhere'; give the folder that holds your config.yml"),
    (["redteam", "--suite", "nowhere.yml"], "'nowhere.yml': No such file or directory; give a file that"),
    (["redteam", "-e", "facts.txt", "--only-changes", "--no-static"], "nothing has changed since a last run"),
    (["redteam", "-e", "facts.txt", "--store", "sqlite:///x.db"], 'pip install "evidencerails[store]"'),
    (["check", "--response", "Hello.", "--config", "no.yml"], "'no.yml': No such file or directory; give the path of"),
    (["check", "--response", "Hello.", "--config", "kept.yml"], 'pip install "evidencerails[store]"'),
    (["check", "--response", "It is red.", "-t", "It is red.", "--config", "torch.yml"], "evidencerails[transformers]"),
]
"""Command lines, and what their line on standard error has."""
RUN_ALL = """
import contextlib, io, json, sys
blocked, cases = json.load(open(sys.argv[1]))
sys.modules.update(dict.fromkeys(blocked))
from evidencerails.cli.main import run
done = {}
for case in cases:
    err = io.StringIO()
    try:
        with contextlib.redirect_stderr(err), contextlib.redirect_stdout(io.StringIO()):
            run(case)
    except SystemExit as left:
        done[" ".join(case)] = [left.code, err.getvalue()]
json.dump(done, open(sys.argv[1], "w"))
"""


def _commands(group: Any, path: tuple[str, ...] = ()) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, command in group.commands.items():
        inside = hasattr(command, "commands")
        found |= _commands(command, (*path, name)) if inside else {" ".join((*path, name)): command}
    return found


COMMANDS = _commands(get_command(app))
LINES = {name: [*name.split(), *ARGUMENTS.get(name, [])] for name in COMMANDS}
WITH_BANANA = [
    [*LINES[name], option.opts[-1], "banana"]
    for name, command in COMMANDS.items()
    for option in command.params
    if option.param_type_name == "option" and not option.is_flag and option.opts[-1] not in LINES[name]
]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str]]:
    """Exit code and standard error of every command line, all run in one process without the extras' modules."""
    folder = tmp_path_factory.mktemp("base")
    (folder / "rows.jsonl").write_text('{"response": "Hello."}\n')
    (folder / "facts.txt").write_text("The bridge opened in 1932.\n")
    (folder / "rows.parquet").write_bytes(b"PAR1")
    (folder / "kept.yml").write_text("store: {}\n")
    (folder / "torch.yml").write_text("nli: {backend: transformers, model: nobody/none}\n")
    cases = [*LINES.values(), *WITH_BANANA, *(line for line, _ in FURTHER)]
    file = folder / "cases.json"
    file.write_text(json.dumps([sorted(EXTRA_OF_MODULE), cases]))
    root = str(Path(__file__).resolve().parents[2])
    subprocess.run(
        [sys.executable, "-c", RUN_ALL, str(file)],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        check=True,
        env={**os.environ, "DO_NOT_TRACK": "1", "PYTHONPATH": root},
    )
    return {line: (code, err) for line, (code, err) in json.loads(file.read_text()).items()}


def test_every_command_is_in_the_table() -> None:
    assert set(ARGUMENTS) == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_without_its_extra_names_it(done: dict[str, tuple[int, str]], name: str) -> None:
    code, err = done[" ".join(LINES[name])]
    if name in NEEDS:
        assert (code, err.count("\n")) == (2, 1)
        assert f'{sys.executable} -m pip install "evidencerails[{NEEDS[name]}]"' in err
    else:
        assert "Traceback" not in err and code in (0, 1, 2, 3)


@pytest.mark.parametrize("line", WITH_BANANA, ids=" ".join)
def test_no_option_ends_in_a_traceback(done: dict[str, tuple[int, str]], line: list[str]) -> None:
    code, err = done[" ".join(line)]
    assert "Traceback" not in err
    assert code in (0, 1, 3) or (code, err.count("\n")) == (2, 1), err


@pytest.mark.parametrize(("line", "message"), FURTHER, ids=lambda value: " ".join(value) if value is list else None)
def test_what_is_wrong_or_missing_is_named(done: dict[str, tuple[int, str]], line: list[str], message: str) -> None:
    code, err = done[" ".join(line)]
    assert message in err
    assert code == 3 or (code, err.count("\n")) == (2, 1)  # nothing is done, or printed, before it is refused


def test_a_command_whose_module_fails_is_a_bug_and_not_unknown(
    evidencerails: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(name: str) -> None:
        raise KeyError(name)

    monkeypatch.setattr(main, "importlib", SimpleNamespace(import_module=fail))
    done = evidencerails("redteam")
    assert done.code == main.EXIT_CRASHED and "KeyError" in done.err and "No such command" not in done.err
