from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from evidencerails.cli.main import _exit_code


class Done(NamedTuple):
    """What a finished command left."""

    code: int
    out: str
    err: str


@pytest.fixture
def evidencerails(capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Runs a command inside this process."""

    def run(*arguments: str | Path) -> Done:
        capsys.readouterr()
        code = _exit_code([str(argument) for argument in arguments])
        return Done(code, *capsys.readouterr())

    return run


@pytest.fixture
def start_process() -> Callable[..., subprocess.Popen[bytes]]:
    """Starts the real program."""

    def start(*arguments: str | Path) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "evidencerails", *map(str, arguments)]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=dict(os.environ))

    return start
