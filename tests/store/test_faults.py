"""A store that is locked, full, gone or shared, and a clock that jumps: turns go on, no report is lost in silence."""

from __future__ import annotations

import json
import logging
import multiprocessing
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from extras import needs
from made import entry, exchange, grounded, report

from evidencerails import Guard
from evidencerails.errors import StoreError
from evidencerails.operations.store import Store, queries
from evidencerails.operations.store.clock import SteadyClock
from evidencerails.operations.store.records import record_of
from evidencerails.operations.store.spool import Spool
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


def test_while_the_store_is_locked_reports_are_spooled_and_replayed(tmp_path: Path, sqlite_url: str) -> None:
    with opened(sqlite_url) as store:
        fill(store, 1, "before")
        assert store.flush(10)
        with locked(tmp_path):
            fill(store, 20)
            assert store.flush(10)
            assert store.status.spooled == 20 and store.status.error is not None
        require_settled(store, 21)
        assert store.spool.waiting() == 0 and store.status.lost == 0


def test_a_full_database_spools_and_goes_on_once_there_is_room(
    sqlite_url: str, caplog: pytest.LogCaptureFixture
) -> None:
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


def test_a_store_that_cannot_be_opened_spools_from_the_start(blocked: Path, tmp_path: Path) -> None:
    url, spool = f"sqlite:///{blocked}/store.db", tmp_path / "spool"
    with opened(url, spool=str(spool)) as store:
        fill(store, 3)
        assert store.flush(10) and store.spool.waiting() == 3
    blocked.unlink()
    with opened(url, spool=str(spool)) as store:
        fill(store, 1, "next")
        require_settled(store, 4)
    assert list(spool.glob("*.jsonl")) == []


def test_a_database_server_that_goes_away_spools_and_replays(postgresql_url: str) -> None:
    psycopg = needs("psycopg")
    folder, _, name = postgresql_url.rpartition("/")
    with (
        opened(postgresql_url, spool="spool") as store,
        psycopg.connect(f"{folder}/postgres", autocommit=True) as admin,
    ):
        fill(store, 1, "before")
        assert store.flush(10)
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))
        fill(store, 1, "during")
        assert store.flush(20) and store.spool.waiting() == 1
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
        require_settled(store, 2)


def test_a_turn_goes_on_without_its_store(blocked: Path, caplog: pytest.LogCaptureFixture) -> None:
    guard = Guard({"store": {"url": f"sqlite:///{blocked}/x.db", "spool": str(blocked / "spool")}})
    made = guard.check_sync("Paris is in Italy.", evidence="Paris is the capital of France.")
    assert made.status == "hallucinated" and made.id
    guard.close()
    assert guard.store is not None and guard.store.status.lost == 1
    assert "1 reports are lost: neither store nor spool takes them" in caplog.text
    assert "Paris" not in caplog.text


def test_more_than_the_queue_holds_goes_to_the_spool(tmp_path: Path, sqlite_url: str) -> None:
    with opened(sqlite_url, queue_size=5, lock_timeout_s=2) as store:
        _ = store.engine
        with locked(tmp_path):
            fill(store, 300)
            assert store.spool.waiting() > 0
        require_settled(store, 300)
        assert store.status.lost == 0


def test_a_full_spool_is_counted_and_logged(blocked: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    url = f"sqlite:///{blocked}/x.db"
    with opened(url, spool=str(tmp_path / "spool"), spool_max_mb=0.01, queue_size=2) as store:
        for _ in range(30):
            fill(store, 1)
            store.flush(10)
        status = store.status
    assert status.spooled + status.lost + status.waiting == 30 and status.spooled > 0 and status.lost > 0
    assert "reports are lost" in caplog.text and "has reached 10000 bytes" in caplog.text


def test_a_full_disk_keeps_the_newest_in_memory_and_writes_them_when_there_is_room(blocked: Path) -> None:
    with opened(f"sqlite:///{blocked}/x.db", spool=str(blocked / "spool"), queue_size=3) as store:
        for number in range(10):
            fill(store, 1, str(number))
            store.flush(10)
        assert (store.status.lost, store.status.waiting, store.status.spooled) == (7, 3, 0)
        blocked.unlink()  # room
        require_settled(store, 3)
        assert kept(store) == {"70", "80", "90"}
        assert (store.status.lost, store.status.waiting) == (7, 0)


def test_what_waits_is_spooled_when_the_process_ends(tmp_path: Path, sqlite_url: str) -> None:
    store = opened(sqlite_url, lock_timeout_s=30)
    _ = store.engine
    with locked(tmp_path):
        fill(store, 1, "in the thread's hands")
        time.sleep(0.2)
        fill(store, 1, "waiting")
        store.close(timeout_s=0.2)
        assert store.spool.waiting() == 1
    store.replay()
    require_settled(store, 2)
    store.close()


def test_a_record_that_is_refused_holds_nobody_up(sqlite_url: str, caplog: pytest.LogCaptureFixture) -> None:
    bad = record_of(entry("bad"))
    bad["report"]["status"] = None
    with opened(sqlite_url) as store:
        store.spool.append([record_of(entry("a")), bad, record_of(entry("b"))])
        assert store.replay() == 3
        assert kept(store) == {"a", "b"}
        aside = [json.loads(line) for file in store.spool.aside() for line in file.read_text().splitlines()]
    assert [line["report"]["id"] for line in aside] == ["bad"]
    assert "a report was refused and is kept in the spool" in caplog.text


def test_a_spool_line_that_a_crash_cut_is_kept_aside(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    spool = Spool(tmp_path / "spool", 1e6)
    spool.append([record_of(entry("whole"))])
    (file,) = spool.files()
    file.write_bytes(file.read_bytes() + b'{"report": {"id": "cut", ')
    taken: list[str] = []
    assert spool.replay(lambda records: taken.extend(r["report"]["id"] for r in records)) == 1
    assert taken == ["whole"] and spool.files() == []
    assert [f.read_bytes() for f in spool.aside()] == [b'{"report": {"id": "cut", \n']
    assert "1 spooled lines cannot be read" in caplog.text


def test_a_replay_that_fails_half_way_repeats_without_duplicates(sqlite_url: str) -> None:
    with opened(sqlite_url) as store:
        store.spool.append([record_of(entry(f"r{n}")) for n in range(450)])
        written: list[int] = []

        def write_once(records: object) -> None:
            if written:
                raise StoreError("gone", retryable=True)
            written.append(len(records))  # type: ignore[arg-type]
            store.write(records)  # type: ignore[arg-type]

        with pytest.raises(StoreError):
            store.spool.replay(write_once)
        assert queries.count(store.engine) == written[0] == 200
        store.replay()
        assert queries.count(store.engine) == 450


def _write_some(url: str, name: str, count: int) -> None:
    with opened(url, lock_timeout_s=10) as store:
        fill(store, count, name)
        store.flush(60)
        if store.status.written != count:
            os._exit(3)


@pytest.mark.slow
def test_two_services_start_on_one_empty_store_at_once(url: str) -> None:
    context = multiprocessing.get_context("spawn")
    services = [context.Process(target=_write_some, args=(url, f"s{n}-", 200)) for n in range(2)]
    for service in services:
        service.start()
    for service in services:
        service.join(60)
    assert [service.exitcode for service in services] == [0, 0]
    with opened(url) as store:
        assert queries.count(store.engine) == len(kept(store)) == 400


def test_two_services_replay_one_spool_without_duplicates(sqlite_url: str) -> None:
    with opened(sqlite_url) as first, opened(sqlite_url) as second:
        for number in range(10):
            (first if number % 2 else second).spool.append([record_of(entry(f"r{number}"))])
        assert first.replay() + second.replay() == 10
        assert queries.count(first.engine) == 10


class Clock(SteadyClock):
    """A clock whose wall and monotonic time the test moves."""

    def __init__(self) -> None:
        self.at, self.passed = 1000.0, 0.0
        super().__init__(wall=lambda: self.at, monotonic=lambda: self.passed)

    def after(self, seconds: float, jump: float = 0.0) -> float:
        self.at += seconds + jump
        self.passed += seconds
        return self.now()


def test_the_clock_does_not_follow_a_jump(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    assert clock.after(10) == 1010
    assert clock.after(10, jump=1.5) == 1021.5  # what NTP does is followed
    assert clock.after(10, jump=86_400 * 365) == 1031.5 and not clock.is_settled
    assert clock.after(100) == 1131.5
    assert clock.after(10, jump=-86_400 * 365) == 1141.5 and clock.is_settled
    assert clock.after(10, jump=-7200) == 1151.5
    assert clock.after(700) == pytest.approx(1851.5 - 7200) and clock.is_settled  # it has lasted: somebody set it right
    assert [r.levelno for r in caplog.records].count(logging.WARNING) == 3


def test_a_clock_that_jumps_deletes_nothing_and_keeps_the_order(sqlite_url: str) -> None:
    clock = Clock()
    with Store(StoreSettings(url=sqlite_url), clock=clock) as store:
        for number, jump in enumerate([0, 86_400 * 365, -86_400 * 700]):
            clock.after(1, jump)
            fill(store, 1, str(number))
            store.flush(10)
        with pytest.raises(StoreError, match="clock has jumped"):
            store.purge()
        rows = queries.history(store.engine)
    assert [row.id for row in rows] == ["20", "10", "00"]
    assert max(row.created_at for row in rows) - min(row.created_at for row in rows) < 5
