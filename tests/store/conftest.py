from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parent.parent))
from databases import postgresql_url, server, sqlite_url, url

__all__ = ["postgresql_url", "server", "sqlite_url", "url"]


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evidencerails.operations.store.writer.RETRY_S", 0.1)
