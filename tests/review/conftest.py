from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path += [str(Path(__file__).resolve().parent.parent), str(Path(__file__).resolve().parent.parent / "store")]
from databases import postgresql_url, server, sqlite_url, url

from evidencerails.operations.review.queue import ReviewQueue
from evidencerails.operations.store import Store
from evidencerails.settings.store import StoreSettings

__all__ = ["postgresql_url", "server", "sqlite_url", "url"]


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    """A store in a fresh database of each kind."""
    with Store(StoreSettings(url=url)) as opened:
        yield opened


@pytest.fixture
def queue(store: Store) -> ReviewQueue:
    """Its review queue."""
    return ReviewQueue(store)


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evidencerails.operations.review.desk.POLL_S", 0.02)
