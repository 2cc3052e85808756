"""`evidencerails batch` as a user runs it: formats, bad rows, kills and resumption."""

import asyncio
import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from commands import Run, evidencerails, start_process
from extras import needs

from evidencerails import Guard
from evidencerails.cli.common import progress_line
from evidencerails.operations.batch.output import Output, Result
from evidencerails.operations.batch.rows import Row
from evidencerails.operations.batch.runner import checked

__all__ = ["evidencerails", "start_process"]
FACT = "Rhenium melts at 3186 degrees Celsius. It was discovered in 1925."
GOOD = {"response": "Rhenium melts at 3186 degrees Celsius.", "evidence": FACT}
BAD = {"response": "Rhenium melts at 1200 degrees Celsius.", "evidence": FACT}


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "evidencerails", "batch", *arguments]


def write_jsonl(path: Path, rows: Sequence[Any]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def lines_of(path: Path) -> Iterator[dict[str, Any]]:
    return map(json.loads, path.read_text(encoding="ascii").splitlines())


def verdicts(path: Path) -> list[tuple[Any, str]]:
    return [(line["id"], line["report"]["status"]) for line in lines_of(path)]


@pytest.mark.slow
def test_each_row_gets_the_report_of_the_engine_in_order(evidencerails: Run) -> None:
    called = {"id": "c", "tool_calls": [{"name": "drop"}], "tools": [{"name": "lookup"}]}
    rows = [{"id": "a", **BAD}, {"id": 2, **GOOD}, {**GOOD, "other": "column"}, called]
    write_jsonl(Path("in.jsonl"), rows)
    done = evidencerails("batch", "in.jsonl", "out.jsonl", "--json")
    assert done.code == 0, done.err
    assert verdicts(Path("out.jsonl")) == [
        ("a", "hallucinated"), (2, "grounded"), (None, "grounded"), ("c", "hallucinated"),
    ]  # fmt: skip
    expected = Guard().check_sync(**BAD)
    line = next(lines_of(Path("out.jsonl")))
    assert line["report"]["claims"][0]["label"] == expected.claims[0].label
    assert line["report"]["hallucination_score"] == pytest.approx(expected.hallucination_score, abs=1e-3)
    summary = json.loads(done.out)
    assert summary["statuses"] == {"grounded": 2, "hallucinated": 2}
    assert "4 rows in" in done.err


def test_csv_with_other_column_names_and_lists_in_cells(evidencerails: Run) -> None:
    with Path("in.csv").open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "answer", "context"])
        writer.writerow(["a", BAD["response"], json.dumps([FACT, {"text": "More.", "id": "m"}])])
        writer.writerow(["b", GOOD["response"], f"{FACT}\nA second line, with a comma."])
    done = evidencerails("batch", "in.csv", "out.jsonl", "--map", "response=answer", "--map", "evidence=context")
    assert done.code == 0, done.err
    assert verdicts(Path("out.jsonl")) == [("a", "hallucinated"), ("b", "grounded")]


@pytest.mark.slow
def test_parquet(evidencerails: Run) -> None:
    pyarrow = needs("pyarrow")
    parquet = needs("pyarrow.parquet")
    table = pyarrow.table(
        {"id": [1, 2], "response": [BAD["response"], GOOD["response"]], "evidence": [[FACT], [FACT, "More."]]}
    )
    parquet.write_table(table, "in.parquet")
    assert evidencerails("batch", "in.parquet", "out.jsonl").code == 0
    assert verdicts(Path("out.jsonl")) == [(1, "hallucinated"), (2, "grounded")]


BAD_ROWS = {
    b"{not json": "not JSON",
    b'"text"': "not an object but str",
    b"\xff\xfe": "not UTF-8",
    b'{"answer": "x"}': "no field 'response'",
    b'{"response": 5}': "response must be a string, got int",
    b'{"response": "x", "evidence": [5]}': "evidence item 1 is int without text",
    b'{"response": "x", "evidence": ' + b"[" * 100_000: "nested too deep",
    rb'{"response": "\ud800"}': "half a character",
    b'{"response": "x", "stakes": "extreme"}': "stakes",
    b'{"response": "x", "samples": 3}': "samples must be a list of strings",
}


def test_rows_that_cannot_be_read_stand_aside_with_their_reasons(evidencerails: Run) -> None:
    good = json.dumps({"id": "good", **GOOD}).encode()
    Path("in.jsonl").write_bytes(b"\n".join([good, b"", *BAD_ROWS, good]))
    done = evidencerails("batch", "in.jsonl", "out.jsonl")
    assert done.code == 3
    assert verdicts(Path("out.jsonl")) == [("good", "grounded")] * 2
    rejected = list(lines_of(Path("out.rejected.jsonl")))
    assert [line["row"] for line in rejected] == list(range(3, 3 + len(BAD_ROWS)))
    for line, words in zip(rejected, BAD_ROWS.values(), strict=True):
        assert words in line["reason"]
    assert "out.rejected.jsonl" in done.err


def test_a_bug_in_the_engine_costs_its_own_row_alone() -> None:
    class Broken:
        config = Guard().config

        async def check_exchange(self, exchange: Any) -> Any:
            raise TypeError("a bug")

    result = asyncio.run(checked(Broken(), Row(number=1, fields=GOOD), {}))
    assert result.report is None and "TypeError" in result.reason


@pytest.mark.slow
def test_bad_cells_spoil_their_own_row_alone(evidencerails: Run) -> None:
    Path("in.csv").write_bytes(
        b"id,response,evidence\n1,\xff\xfe,x\n2,too,many,cells\n"
        + f'3,"{GOOD["response"]}","{FACT}"\n'.encode()
        + b"4,,x\n"
    )
    assert evidencerails("batch", "in.csv", "out.jsonl").code == 3
    assert verdicts(Path("out.jsonl")) == [("3", "grounded")]
    reasons = {line["row"]: line["reason"] for line in lines_of(Path("out.rejected.jsonl"))}
    assert reasons == {1: "not UTF-8", 2: "4 cells under 3 column names", 4: "no field 'response'"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["missing.jsonl", "out.jsonl"], "No such file"),
        (["in.xlsx", "out.jsonl"], "unknown format"),
        (["in.jsonl", "nowhere/out.jsonl"], "cannot write"),
        (["in.jsonl", "."], "cannot write '.'"),
        (["in.jsonl", "out.jsonl", "--map", "evidance=x"], "did you mean 'evidence'"),
        (["in.jsonl", "-", "--json"], "would mix"),
    ],
)
def test_wrong_usage_is_one_line(arguments: list[str], words: str, evidencerails: Run) -> None:
    write_jsonl(Path("in.jsonl"), [GOOD])
    done = evidencerails("batch", *arguments)
    assert done.code == 2
    assert words in done.err
    assert "Traceback" not in done.err


@pytest.mark.slow
def test_killed_again_and_again_it_loses_and_repeats_nothing(evidencerails: Run, start_process: Run) -> None:
    rows = [(f"row-{n}", "hallucinated" if n % 3 == 0 else "grounded") for n in range(200)]
    write_jsonl(Path("in.jsonl"), [{"id": name, **(GOOD if status == "grounded" else BAD)} for name, status in rows])
    for before in (0, 20_000):
        process = start_process("batch", "in.jsonl", "out.jsonl")
        wait_for_growth(process, before)
        process.kill()
        assert process.wait() == -signal.SIGKILL
    assert evidencerails("batch", "in.jsonl", "out.jsonl").code == 0
    assert verdicts(Path("out.jsonl")) == rows


def wait_for_growth(process: Any, before: int = 0) -> None:
    """Until the job has written some lines of its own, or ended."""
    while process.poll() is None:
        if Path("out.jsonl").exists() and Path("out.jsonl").stat().st_size > before + 20_000:
            return
        time.sleep(0.02)


def test_a_line_that_a_kill_left_unfinished_is_made_again(evidencerails: Run) -> None:
    write_jsonl(Path("in.jsonl"), [{"id": 1, **GOOD}, {"id": 2, **BAD}])
    evidencerails("batch", "in.jsonl", "out.jsonl")
    whole = Path("out.jsonl").read_bytes()
    Path("out.jsonl").write_bytes(whole[: len(whole) - 100])
    done = evidencerails("batch", "in.jsonl", "out.jsonl")
    assert "1 rows are done already" in done.err
    assert verdicts(Path("out.jsonl")) == [(1, "grounded"), (2, "hallucinated")]


@pytest.mark.slow
def test_another_input_or_other_settings_do_not_mix_with_what_is_there(evidencerails: Run) -> None:
    write_jsonl(Path("in.jsonl"), [{"id": 1, **GOOD}])
    evidencerails("batch", "in.jsonl", "out.jsonl")
    write_jsonl(Path("in.jsonl"), [{"id": 1, **BAD}])
    changed = evidencerails("batch", "in.jsonl", "out.jsonl")
    assert changed.code == 2 and "row 1 of the input is another one" in changed.err
    Path("s.yml").write_text("checks: [grounding]\n", encoding="utf-8")
    settings = evidencerails("batch", "in.jsonl", "out.jsonl", "--config", "s.yml")
    assert settings.code == 2 and "other values of settings" in settings.err
    assert evidencerails("batch", "in.jsonl", "out.jsonl", "--restart").code == 0
    assert verdicts(Path("out.jsonl")) == [(1, "hallucinated")]


@pytest.mark.parametrize("restart", [(), ("--restart",)])
@pytest.mark.parametrize(
    ("source", "output", "file"),
    [
        ("in.jsonl", "in.jsonl", "in.jsonl"),
        ("in.jsonl", "./linked.jsonl", "in.jsonl"),
        ("y.rejected.jsonl", "y.jsonl", "y.rejected.jsonl"),
        ("y.job.json", "y.jsonl", "y.job.json"),
        *(("in.jsonl", "out.jsonl", name) for name in ("out.jsonl", "out.rejected.jsonl", "out.job.json")),
    ],
)
def test_no_output_takes_the_place_of_the_input_or_of_what_no_job_has_written(
    evidencerails: Run, source: str, output: str, file: str, restart: tuple[str, ...]
) -> None:
    for name in ("in.jsonl", file):
        write_jsonl(Path(name), [GOOD])
    Path("linked.jsonl").symlink_to("in.jsonl")
    before = Path(file).read_bytes()
    done = evidencerails("batch", source, output, "--format", "jsonl", *restart)
    message = "also reads that file" if file == source else f"'{file}' would be lost"
    assert (done.code, len(done.err.splitlines())) == (2, 1) and message in done.err and "--restart" not in done.err
    assert Path(file).read_bytes() == before


def test_standard_input_is_not_emptied_either() -> None:
    write_jsonl(Path("in.jsonl"), [GOOD])
    with Path("in.jsonl").open("rb") as file:
        done = subprocess.run(command("-", "in.jsonl", "--restart"), stdin=file, capture_output=True, timeout=120)
    assert done.returncode == 2 and list(map(json.loads, Path("in.jsonl").read_text().splitlines())) == [GOOD]


def test_two_jobs_do_not_share_an_output(evidencerails: Run) -> None:
    write_jsonl(Path("in.jsonl"), [GOOD])
    with Output("out.jsonl", {"input": "x"}) as out:
        out.write(Result(1, "x", None, None, "a reason"))
        out.write(Result(2, "x", None, {"status": "grounded"}))
        for restart in ((), ("--restart",)):
            done = evidencerails("batch", "in.jsonl", "out.jsonl", *restart)
            assert done.code == 2 and "another job is writing" in done.err
    assert Path("out.jsonl").stat().st_size and Path("out.rejected.jsonl").stat().st_size


@pytest.mark.slow
def test_interrupted_by_hand_it_says_so_and_leaves_whole_lines() -> None:
    write_jsonl(Path("in.jsonl"), [{"id": n, **GOOD} for n in range(200)])
    # A test run in the background of a shell ignores the signal, and hands that on. Set in the child's own code: a
    # function between fork and exec can wait for ever for a lock of a thread that the fork left behind.
    heeded = "import signal, runpy; signal.signal(signal.SIGINT, signal.default_int_handler); "
    heeded += "runpy.run_module('evidencerails', run_name='__main__', alter_sys=True)"
    arguments = [sys.executable, "-c", heeded, *command("in.jsonl", "out.jsonl")[3:]]
    process = subprocess.Popen(arguments, stderr=subprocess.PIPE)
    wait_for_growth(process)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130 and b"interrupted" in errors
    found = [identity for identity, _ in verdicts(Path("out.jsonl"))]
    assert 0 < len(found) < 200 and found == list(range(len(found)))


def test_progress_has_rate_and_time_left() -> None:
    assert progress_line(150, 200, 5.0) == "150 of 200 done (75 %), 5.0 a second, 10 s left"
    assert progress_line(50, None, 5.0) == "50 done, 5.0 a second"
    assert progress_line(0, 10, 0.0) == "0 of 10 done (0 %), 0.0 a second, inf s left"


def test_hostile_ids_stay_one_line() -> None:
    with Output("out.jsonl", {}) as out:
        out.write(Result(1, "x", 'a\n{"row": 2}\u2028b', {"status": "grounded"}))
    assert [line["id"] for line in lines_of(Path("out.jsonl"))] == ['a\n{"row": 2}\u2028b']


@pytest.mark.slow
def test_a_full_disk_is_one_line_and_the_job_goes_on_later(evidencerails: Run) -> None:
    write_jsonl(Path("in.jsonl"), [{"id": number, **GOOD} for number in range(12)])
    # A disk that takes no file of more bytes; the language model finds no room either, and says so first.
    limit = "import resource, os, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (9_000, 9_000))"
    limited = f"{limit}; os.execv(sys.executable, {command('in.jsonl', 'out.jsonl')!r})"
    done = subprocess.run([sys.executable, "-c", limited], capture_output=True, timeout=120)
    said = done.stderr.decode().splitlines()[-1]
    assert (done.returncode, "Traceback" in done.stderr.decode()) == (74, False)
    assert said.endswith(
        "cannot write to 'out.jsonl': File too large; make room and run the same command again to go on"
    )
    assert evidencerails("batch", "in.jsonl", "out.jsonl").code == 0
    assert [identity for identity, _ in verdicts(Path("out.jsonl"))] == list(range(12))


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux has it")
def test_a_device_that_is_always_full(evidencerails: Run) -> None:
    write_jsonl(Path("in.jsonl"), [GOOD])
    named = evidencerails("batch", "in.jsonl", "/dev/full")
    assert (named.code, named.err.count("\n")) == (2, 1) and "not a regular file" in named.err
    with Path("/dev/full").open("wb") as full:
        piped = subprocess.run(command("in.jsonl", "-"), stdout=full, stderr=subprocess.PIPE, timeout=120)
    assert (piped.returncode, piped.stderr.count(b"\n")) == (74, 1), piped.stderr
    assert b"cannot write to standard output: No space left on device" in piped.stderr
