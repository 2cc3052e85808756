import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from evaluation_rows import year_rows

from evidencerails import Guard
from evidencerails.evaluation.methods import for_evaluation
from evidencerails.evaluation.outcomes import Outcome, RunFile, header_of
from evidencerails.evaluation.rows import Row
from evidencerails.evaluation.session import run
from evidencerails.testing import ReplayServer

pytestmark = pytest.mark.slow


async def test_rows_run_at_once_up_to_the_limit_and_no_more_of_them_are_held(
    server: ReplayServer, tmp_path: Path
) -> None:
    taken = done = ahead = 0

    def rows() -> Iterator[Row]:
        nonlocal taken, ahead
        for one in year_rows(12):
            taken += 1
            ahead = max(ahead, taken - done)
            yield Row(id=one["id"], response=one["response"], hallucinated=one["hallucinated"],
                      evidence=tuple(one["evidence"]))  # fmt: skip

    def note(_: Outcome | None) -> None:
        nonlocal done
        done += 1

    server.reply(json.dumps({"verdicts": []}), times=100, delay_s=0.5)
    llm = {"model": "replay", "base_url": server.base_url, "api_key": "none", "cache": {"backend": "off"}}
    guard = Guard(for_evaluation(Guard({"llm": llm}).config))
    with RunFile(tmp_path / "r.jsonl", header_of("d", "f", None, 0, guard.config), fresh=True) as into:
        await run(guard, ["judge"], rows(), into, concurrency=3, on_outcome=note)
    assert (taken, done) == (12, 12)
    spans = [(request.received_at, request.finished_at or 0.0) for request in server.requests]
    assert 2 <= max(sum(start <= moment < end for start, end in spans) for moment, _ in spans) <= 3
    assert ahead <= 4  # three under way, and the next in hand


def test_on_a_terminal_a_bar_shows_the_time_left() -> None:
    code = (
        "import time; from evidencerails.cli.common import ProgressBar; bar = ProgressBar('evaluating')\n"
        "bar.start(4)\nfor _ in range(3): time.sleep(0.2); bar.step()\n"
        "time.sleep(0.2); bar.stop()"
    )
    shown, terminal = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen([sys.executable, "-c", code], stderr=terminal, env=environment) as running:
        os.close(terminal)
        text = b""
        try:
            while piece := os.read(shown, 4096):
                text += piece
        except OSError:  # the other end is closed
            pass
        assert running.wait() == 0
    os.close(shown)
    told = text.decode()
    assert "evaluating" in told and "3/4" in told and re.search(r"0:00:0\d", told)
