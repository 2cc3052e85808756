"""A store that is locked, full, gone or shared: turns go on, no report is lost in silence."""

import multiprocessing
import os
import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from extras import needs
from made import exchange, grounded, report

from evidencerails import Guard
from evidencerails.errors import StoreError
from evidencerails.operations.review.package import Package
from evidencerails.operations.review.queue import ReviewQueue
from evidencerails.operations.store import Store, queries
from evidencerails.settings.operations import StoreSettings


def opened(url: str, **more: object) -> Store:
    return Store(StoreSettings(**{"url": url, "lock_timeout_s": 0.1, **more}))  # type: ignore[arg-type]


def fill(store: Store, count: int, name: str = "r") -> None:
    for number in range(count):
        store.put(report(id=f"{name}{number}"), exchange())


def kept(store: Store) -> set[str]:
    return {row.id for row in queries.history(store.engine, limit=1000)}


def require_settled(store: Store, count: int, timeout_s: float = 60) -> None:
    """Wait until that many reports are in the database."""
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        try:
            if queries.count(store.engine) == count:
                return
        except StoreError:
            pass
        time.sleep(0.05)
    raise AssertionError(store.status)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Another program holds the database."""
    other = sqlite3.connect(folder / "store.db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    yield
    other.execute("ROLLBACK")
    other.close()


@pytest.fixture
def blocked(tmp_path: Path) -> Path:
    """A file where a folder should be: nothing can be made in it until it is removed."""
    (tmp_path / "no").write_text("")
    return tmp_path / "no"


def test_while_the_store_is_locked_reports_wait(tmp_path: Path, sqlite_url: str) -> None:
    with opened(sqlite_url) as store:
        fill(store, 1, "before")
        assert store.flush(10)
        with locked(tmp_path):
            fill(store, 20)
            assert store.flush(10)
            assert store.status.waiting == 20 and store.status.error is not None
        require_settled(store, 21)
        assert store.flush(10) and (store.status.waiting, store.status.lost) == (0, 0)


def test_a_full_database_goes_on_once_there_is_room(sqlite_url: str, caplog: pytest.LogCaptureFixture) -> None:
    from sqlalchemy import event

    def limit(connection: sqlite3.Connection, _record: object) -> None:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")

    with opened(sqlite_url) as store:
        fill(store, 1)
        store.flush(10)
        event.listen(store.engine, "connect", limit)
        store.engine.dispose()
        for number in range(5):
            store.put(grounded(id=f"big{number}"), exchange("x" * 150_000))
        assert store.flush(10)
        assert "full" in str(store.status.error) and "database or disk is full" in caplog.text
        # The store has let go of its engine; the next one is without the limit, as a disk on which somebody made room.
        require_settled(store, 6)
        assert store.status.lost == 0


def test_a_deleted_database_is_made_again_and_loses_nothing_new(tmp_path: Path, sqlite_url: str) -> None:
    with opened(sqlite_url) as store:
        fill(store, 1, "old")
        store.flush(10)
        for file in tmp_path.glob("store.db*"):
            if file.is_file():
                file.unlink()
        fill(store, 1, "new")
        assert store.flush(10)
        require_settled(store, 1)
        assert kept(store) == {"new0"}


def test_a_database_server_that_goes_away_is_written_when_it_is_back(postgresql_url: str) -> None:
    psycopg = needs("psycopg")
    folder, _, name = postgresql_url.rpartition("/")
    with opened(postgresql_url) as store, psycopg.connect(f"{folder}/postgres", autocommit=True) as admin:
        fill(store, 1, "before")
        assert store.flush(10)
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))
        fill(store, 1, "during")
        assert store.flush(20) and store.status.waiting == 1
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
        require_settled(store, 2)


def test_a_turn_goes_on_without_its_store(blocked: Path, caplog: pytest.LogCaptureFixture) -> None:
    guard = Guard({"store": {"url": f"sqlite:///{blocked}/x.db"}})
    made = guard.check_sync("Paris is in Italy.", evidence="Paris is the capital of France.")
    assert made.status == "hallucinated" and made.id
    guard.close()
    assert guard.store is not None and guard.store.status.lost == 1
    assert "1 reports are lost: cannot make the store's folder" in caplog.text
    assert "Paris" not in caplog.text


def test_a_full_disk_keeps_the_newest_in_memory_and_writes_them_when_there_is_room(
    blocked: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(f"sqlite:///{blocked}/x.db", queue_size=3) as store:
        for number in range(10):
            fill(store, 1, str(number))
            store.flush(10)
        assert (store.status.lost, store.status.waiting) == (7, 3) and "reports are lost" in caplog.text
        blocked.unlink()  # room
        require_settled(store, 3)
        assert kept(store) == {"70", "80", "90"}
        assert (store.status.lost, store.status.waiting) == (7, 0)


def test_a_record_that_is_refused_holds_nobody_up(sqlite_url: str, caplog: pytest.LogCaptureFixture) -> None:
    with opened(sqlite_url) as store:
        for one in (report(id="a"), report(id="bad").model_copy(update={"status": None}), report(id="b")):
            store.put(one, exchange())
        assert store.flush(10)
        assert kept(store) == {"a", "b"}
        assert (store.status.written, store.status.lost) == (2, 1)
    assert "a report was refused" in caplog.text


def _write_some(url: str, name: str) -> None:
    """200 reports, and 40 reviews by ten writers."""
    with opened(url, lock_timeout_s=60) as store:
        queue = ReviewQueue(store)
        fill(store, 200, name)

        def submit(writer: int) -> None:
            for number in range(4):
                package = Package(output=f"{name}{writer}-{number}", status="hallucinated", reason="")
                queue.submit(package, tier="synchronous", risk=0.5, stakes="medium", within_s=60)

        with ThreadPoolExecutor(10) as pool:
            list(pool.map(submit, range(10)))
        store.flush(60)
        if store.status.written != 200:
            os._exit(3)


@pytest.mark.slow
def test_two_services_start_on_one_empty_store_at_once_and_lose_nothing(url: str) -> None:
    context = multiprocessing.get_context("spawn")
    services = [context.Process(target=_write_some, args=(url, f"s{n}-")) for n in range(2)]
    for service in services:
        service.start()
    for service in services:
        service.join(120)
    assert [service.exitcode for service in services] == [0, 0]
    with opened(url) as store:
        assert queries.count(store.engine) == len(kept(store)) == 400
        queue = ReviewQueue(store)
        outputs = {queue.get(item.id).package.output for item in queue.items(limit=1000)}  # type: ignore[union-attr]
    assert outputs == {f"s{n}-{writer}-{i}" for n in range(2) for writer in range(10) for i in range(4)}
