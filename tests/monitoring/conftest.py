"""Stores whose clock the test moves, on both databases."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from evidencerails.operations.store import Store
from evidencerails.operations.store.clock import SteadyClock
from evidencerails.settings.store import StoreSettings

sys.path += [str(Path(__file__).resolve().parent.parent), str(Path(__file__).resolve().parent.parent / "store")]
from databases import postgresql_url, server, sqlite_url, url

__all__ = ["passing", "postgresql_url", "server", "sqlite_url", "store", "url"]


@pytest.fixture
def passing() -> list[float]:
    """The time, which the test moves on."""
    return [time.time() - 3 * 3600]


@pytest.fixture
def store(url: str, passing: list[float]) -> Iterator[Store]:
    clock = SteadyClock(wall=lambda: passing[0], monotonic=lambda: passing[0])
    with Store(StoreSettings(url=url), clock=clock) as opened:
        yield opened


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evidencerails.operations.monitoring.tightening.POLL_S", 0.05)
