import pytest
from databases import passing, postgresql_url, sqlite_url, store, url

__all__ = ["passing", "postgresql_url", "sqlite_url", "store", "url"]


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evidencerails.operations.store.store.RETRY_S", 0.1)
