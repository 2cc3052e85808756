"""A store that is locked, full, gone or shared, and a clock that jumps: turns go on, no report is lost in silence."""

from __future__ import annotations

import json
import logging
import multiprocessing
import os
import sqlite3
import time
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
from evidencerails.settings.store import StoreSettings

QUICK = {"lock_timeout_s": 0.1}


def settings(url: str, **more: object) -> StoreSettings:
    return StoreSettings(**{"url": url, **QUICK, **more})  # type: ignore[arg-type]


def settled(store: Store, count: int, timeout_s: float = 60) -> bool:
    """True once that many reports are in the database."""
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        try:
            if queries.count(store.engine) == count:
                return True
        except StoreError:
            pass
        time.sleep(0.05)
    return False


def test_while_the_store_is_locked_reports_are_spooled_and_replayed(tmp_path: Path, sqlite_url: str) -> None:
    with Store(settings(sqlite_url)) as store:
        store.put(report(id="before"), exchange())
        assert store.flush(10)
        other = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        started = time.perf_counter()
        for number in range(20):
            store.put(report(id=f"r{number}"), exchange())
        assert time.perf_counter() - started < 0.1  # a turn never waits
        assert store.flush(10)
        assert store.status.spooled == 20 and store.status.error is not None
        other.execute("ROLLBACK")
        other.close()
        assert settled(store, 21), store.status
        assert store.spool.waiting() == 0 and store.status.lost == 0


def test_a_full_database_spools_and_goes_on_once_there_is_room(
    sqlite_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    from sqlalchemy import event

    with Store(settings(sqlite_url)) as store:
        store.put(grounded(id="first"), exchange())
        store.flush(10)

        def limit(connection: sqlite3.Connection, _record: object) -> None:
            pages = connection.execute("PRAGMA page_count").fetchone()[0]
            connection.execute(f"PRAGMA max_page_count = {pages}")

        event.listen(store.engine, "connect", limit)
        store.engine.dispose()
        big = exchange("x" * 150_000)
        for number in range(5):
            store.put(grounded(id=f"r{number}"), big)
        assert store.flush(10)
        assert "full" in str(store.status.error)
        assert "database or disk is full" in caplog.text
        # The store has let go of its engine; the next one is without the limit, as a disk on which somebody made room.
        assert settled(store, 6), store.status
        assert store.status.lost == 0


def test_a_deleted_database_is_made_again_and_loses_nothing_new(tmp_path: Path, sqlite_url: str) -> None:
    with Store(settings(sqlite_url)) as store:
        store.put(report(id="old"), exchange())
        store.flush(10)
        for file in tmp_path.glob("store.db*"):
            if file.is_file():
                file.unlink()
        store.put(report(id="new"), exchange())
        assert store.flush(10)
        assert settled(store, 1)
        assert [row.id for row in queries.history(store.engine)] == ["new"]


def test_a_store_that_cannot_be_opened_spools_from_the_start(tmp_path: Path) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where the folder should be")
    spool = tmp_path / "spool"
    with Store(settings(f"sqlite:///{blocked}/store.db", spool=str(spool))) as store:
        for number in range(3):
            store.put(report(id=f"r{number}"), exchange())
        assert store.flush(10) and store.spool.waiting() == 3
    blocked.unlink()
    with Store(settings(f"sqlite:///{blocked}/store.db", spool=str(spool))) as store:
        store.put(report(id="next"), exchange())
        assert settled(store, 4), store.status
    assert list(spool.glob("*.jsonl")) == []


def test_a_database_server_that_goes_away_spools_and_replays(postgresql_url: str) -> None:
    psycopg = needs("psycopg")
    with Store(settings(postgresql_url, spool="spool")) as store:
        store.put(report(id="before"), exchange())
        assert store.flush(10)
        name = postgresql_url.rpartition("/")[2]
        admin = postgresql_url.rpartition("/")[0] + "/postgres"
        with psycopg.connect(admin, autocommit=True) as connection:
            connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))
            store.put(report(id="during"), exchange())
            assert store.flush(20) and store.spool.waiting() == 1
            connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
        assert settled(store, 2), store.status


def test_a_turn_goes_on_without_its_store(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "no").write_text("")
    guard = Guard({"store": {"url": f"sqlite:///{tmp_path}/no/x.db", "spool": str(tmp_path / "no" / "spool")}})
    made = guard.check_sync("Paris is in Italy.", evidence="Paris is the capital of France.")
    assert made.status == "hallucinated" and made.id
    guard.close()
    assert guard.store is not None and guard.store.status.lost == 1
    assert "1 reports are lost: neither store nor spool takes them" in caplog.text
    assert "Paris" not in caplog.text


def test_more_than_the_queue_holds_goes_to_the_spool(tmp_path: Path, sqlite_url: str) -> None:
    with Store(settings(sqlite_url, queue_size=5, lock_timeout_s=2)) as store:
        _ = store.engine
        other = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        for number in range(300):
            store.put(grounded(id=f"r{number}"), exchange())
        assert store.spool.waiting() > 0
        other.execute("ROLLBACK")
        other.close()
        assert settled(store, 300), store.status
        assert store.status.lost == 0


def test_a_full_spool_is_counted_and_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "no").write_text("")
    small = settings(f"sqlite:///{tmp_path}/no/x.db", spool=str(tmp_path / "spool"), spool_max_mb=0.01, queue_size=2)
    with Store(small) as store:
        for number in range(30):
            store.put(report(id=f"r{number}"), exchange())
            store.flush(10)
        spooled, lost, waiting = store.status.spooled, store.status.lost, store.status.waiting
    assert spooled + lost + waiting == 30 and spooled > 0 and lost > 0
    assert "reports are lost" in caplog.text and "has reached 10000 bytes" in caplog.text


def test_a_full_disk_keeps_the_newest_in_memory_and_writes_them_when_there_is_room(tmp_path: Path) -> None:
    blocked = tmp_path / "no"
    blocked.write_text("")  # neither the database's folder nor the spool's can be made
    url = f"sqlite:///{blocked}/x.db"
    with Store(settings(url, spool=str(blocked / "spool"), queue_size=3)) as store:
        for number in range(10):
            store.put(report(id=f"r{number}"), exchange())
            store.flush(10)
        assert (store.status.lost, store.status.waiting, store.status.spooled) == (7, 3, 0)
        blocked.unlink()  # room
        assert settled(store, 3), store.status
        assert {row.id for row in queries.history(store.engine)} == {"r7", "r8", "r9"}
        assert (store.status.lost, store.status.waiting) == (7, 0)


def test_what_waits_is_spooled_when_the_process_ends(tmp_path: Path, sqlite_url: str) -> None:
    store = Store(settings(sqlite_url, lock_timeout_s=30))
    _ = store.engine
    other = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    store._writer.put(entry("r1"))
    time.sleep(0.2)
    store.put(report(id="r2"), exchange())
    store._writer.close(timeout_s=0.2)
    assert store.spool.waiting() == 1  # r2; r1 is in the hands of the thread
    other.execute("ROLLBACK")
    other.close()
    store.replay()
    assert settled(store, 2)
    store.close()


def test_a_record_that_is_refused_holds_nobody_up(sqlite_url: str, caplog: pytest.LogCaptureFixture) -> None:
    bad = record_of(entry("bad"))
    bad["report"]["status"] = None
    with Store(settings(sqlite_url)) as store:
        store.spool.append([record_of(entry("a")), bad, record_of(entry("b"))])
        assert store.replay() == 3
        assert {row.id for row in queries.history(store.engine)} == {"a", "b"}
        kept = [json.loads(line) for file in store.spool.aside() for line in file.read_text().splitlines()]
    assert [line["report"]["id"] for line in kept] == ["bad"]
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


def test_a_replay_that_fails_half_way_repeats_without_duplicates(tmp_path: Path, sqlite_url: str) -> None:
    entries = [record_of(entry(f"r{n}")) for n in range(450)]
    with Store(settings(sqlite_url)) as store:
        store.spool.append(entries)
        written = []

        def write_once(records: list[object]) -> None:
            if written:
                raise StoreError("gone", retryable=True)
            written.append(len(records))
            store.write(records)  # type: ignore[arg-type]

        with pytest.raises(StoreError):
            store.spool.replay(write_once)  # type: ignore[arg-type]
        assert queries.count(store.engine) == written[0] == 200
        store.replay()
        assert queries.count(store.engine) == 450


def _write_some(url: str, name: str, count: int) -> None:
    with Store(StoreSettings(url=url, lock_timeout_s=10)) as store:
        for number in range(count):
            store.put(report(id=f"{name}-{number}"), exchange())
        store.flush(60)
        if store.status.written != count:
            os._exit(3)


def test_two_services_start_on_one_empty_store_at_once(url: str) -> None:
    context = multiprocessing.get_context("spawn")
    services = [context.Process(target=_write_some, args=(url, f"s{n}", 200)) for n in range(2)]
    for service in services:
        service.start()
    for service in services:
        service.join(60)
    assert [service.exitcode for service in services] == [0, 0]
    with Store(StoreSettings(url=url)) as store:
        rows = list(queries.summaries(store.engine))
    assert len(rows) == len({row.id for row in rows}) == 400


def test_two_services_replay_one_spool_without_duplicates(sqlite_url: str) -> None:
    with Store(settings(sqlite_url)) as first, Store(settings(sqlite_url)) as second:
        for number in range(10):
            (first if number % 2 else second).spool.append([record_of(entry(f"r{number}"))])
        assert first.replay() + second.replay() == 10
        assert queries.count(first.engine) == 10


def test_the_clock_does_not_follow_a_jump(caplog: pytest.LogCaptureFixture) -> None:
    wall, monotonic = [1000.0], [0.0]
    clock = SteadyClock(wall=lambda: wall[0], monotonic=lambda: monotonic[0])

    def passes(seconds: float, jump: float = 0.0) -> float:
        wall[0] += seconds + jump
        monotonic[0] += seconds
        return clock.now()

    assert passes(10) == 1010
    assert passes(10, jump=1.5) == 1021.5  # what NTP does is followed
    assert passes(10, jump=86_400 * 365) == 1031.5 and not clock.is_settled
    assert passes(100) == 1131.5
    assert passes(10, jump=-86_400 * 365) == 1141.5 and clock.is_settled
    assert passes(10, jump=-7200) == 1151.5
    assert passes(700) == pytest.approx(1851.5 - 7200) and clock.is_settled  # it has lasted: somebody set it right
    assert [r.levelno for r in caplog.records].count(logging.WARNING) == 3


def test_a_clock_that_jumps_deletes_nothing_and_keeps_the_order(sqlite_url: str) -> None:
    wall, monotonic = [time.time()], [0.0]
    clock = SteadyClock(wall=lambda: wall[0], monotonic=lambda: monotonic[0])
    with Store(settings(sqlite_url, keep_days=30), clock=clock) as store:
        for number, jump in enumerate([0, 86_400 * 365, -86_400 * 700]):
            wall[0] += jump
            monotonic[0] += 1
            store.put(report(id=f"r{number}"), exchange())
            store.flush(10)
        with pytest.raises(StoreError, match="clock has jumped"):
            store.purge()
        rows = queries.history(store.engine)
    assert [row.id for row in rows] == ["r2", "r1", "r0"]
    assert max(row.created_at for row in rows) - min(row.created_at for row in rows) < 5
