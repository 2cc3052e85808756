import pytest
from databases import passing, postgresql_url, sqlite_url, store, url

from evidencerails.operations.review.queue import ReviewQueue
from evidencerails.operations.store import Store

__all__ = ["passing", "postgresql_url", "sqlite_url", "store", "url"]


@pytest.fixture
def queue(store: Store) -> ReviewQueue:
    """The review queue of the store."""
    return ReviewQueue(store)


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evidencerails.operations.review.desk.POLL_S", 0.02)
