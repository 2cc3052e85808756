import pytest
from commands import evidencerails
from databases import passing, postgresql_url, sqlite_url, store, url

__all__ = ["evidencerails", "passing", "postgresql_url", "sqlite_url", "store", "url"]


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evidencerails.operations.monitoring.tightening.POLL_S", 0.05)
