"""Fixtures that run the program: inside this process, which is quicker, or as people do."""

import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from evidencerails.cli.main import run as run_program


class Done(NamedTuple):
    """What a finished command left."""

    code: int
    out: str
    err: str


Run = Callable[..., Done]


def exit_code(*arguments: str | Path) -> int:
    """What the program leaves with, run inside this process by the entry point of the console script."""
    with pytest.raises(SystemExit) as left:
        run_program([str(argument) for argument in arguments])
    assert isinstance(left.value.code, int)
    return left.value.code


@pytest.fixture
def evidencerails(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command inside this process."""

    def run(*arguments: str | Path, stdin: str = "", cwd: Path | None = None) -> Done:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        if cwd is not None:
            monkeypatch.chdir(cwd)
        capsys.readouterr()
        return Done(exit_code(*arguments), *capsys.readouterr())

    return run


@pytest.fixture
def process() -> Run:
    """Runs the real program in a process of its own."""

    def run(*arguments: str | Path, stdin: str = "", cwd: Path | None = None, **environment: str) -> Done:
        done = subprocess.run(
            [sys.executable, "-m", "evidencerails", *map(str, arguments)],
            input=stdin.encode(),
            capture_output=True,
            cwd=cwd,
            env={**os.environ, "PYTHONIOENCODING": "utf-8", **environment},
            timeout=120,
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


@pytest.fixture
def start_process() -> Callable[..., subprocess.Popen[bytes]]:
    """Starts the real program."""

    def start(*arguments: str | Path) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "evidencerails", *map(str, arguments)]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    return start
