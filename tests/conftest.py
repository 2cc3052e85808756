"""Every test runs in an empty directory with a clean environment: NeMo also loads `./actions` of the current one."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

os.environ["DO_NOT_TRACK"] = "1"
os.environ.setdefault("HF_HUB_OFFLINE", "1")

_CLEARED = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "COLANGPATH", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")

REPOSITORY = Path(__file__).resolve().parent.parent
# At the end: `training` and `benchmarks` are found there, but `evidencerails` stays the installed one.
sys.path.append(str(REPOSITORY))


@pytest.fixture(autouse=True)
def _empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "cwd"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for name in _CLEARED:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def repository() -> Path:
    """Root of the source tree."""
    return REPOSITORY


@pytest.fixture(autouse=True)
def _no_collection_inside_a_turn() -> Iterator[None]:
    """Before 3.11.8, a finalizer that prints a traceback (which parses source) while NeMo parses an expression ended
    the turn with "AST constructor recursion depth mismatch" (CPython gh-106905)."""
    gc.disable()
    yield
    gc.enable()
