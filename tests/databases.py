"""A PostgreSQL server of the tests' own, in a temporary folder, where its programs are installed."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from evidencerails.operations.store import Store
from evidencerails.settings.operations import StoreSettings

UNPRIVILEGED = ("postgres", "nobody")
"""PostgreSQL refuses to run as root; one of these users runs it then."""


class NoServerError(Exception):
    """PostgreSQL cannot be started here; the message says why."""


@contextmanager
def postgresql() -> Iterator[str]:
    """The URL of a fresh server, which ends with the block.

    Raises:
        NoServerError: its programs are not installed, or it does not start.
    """
    programs = _programs()
    with tempfile.TemporaryDirectory(prefix="evidencerails-postgresql-") as folder:
        user = _user()
        data, port = Path(folder) / "data", _free_port()
        if user is not None:
            shutil.chown(folder, user)
        options = ("-D", str(data), "-U", "evidencerails", "-A", "trust", "-E", "UTF8", "--locale=C")
        _run(user, str(programs / "initdb"), *options)
        settings = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off -c max_connections=120"
        control = (str(programs / "pg_ctl"), "-D", str(data), "-w")
        _run(user, *control, "-l", str(Path(folder) / "log"), "-o", settings, "start")
        try:
            yield f"postgresql://evidencerails@127.0.0.1:{port}/postgres"
        finally:
            _run(user, *control, "-m", "immediate", "stop")


def _programs() -> Path:
    found = shutil.which("initdb")
    places = [Path(found).parent] if found else []
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for place in places:
        if (place / "initdb").is_file() and (place / "pg_ctl").is_file():
            return place
    raise NoServerError("PostgreSQL's initdb and pg_ctl are not installed (Debian package: postgresql)")


def _user() -> str | None:
    """Who runs the server: ourselves, or somebody else where we are root."""
    if os.geteuid() != 0:
        return None
    if shutil.which("runuser") is None:
        raise NoServerError("PostgreSQL does not run as root, and there is no runuser")
    known = {entry.pw_name for entry in pwd.getpwall()}
    for name in UNPRIVILEGED:
        if name in known:
            return name
    raise NoServerError("PostgreSQL does not run as root, and there is no user postgres or nobody")


def _run(user: str | None, *command: str) -> None:
    whole = ["runuser", "-u", user, "--", *command] if user is not None else list(command)
    with tempfile.TemporaryFile("w+") as output:  # pg_ctl leaves the server with its standard output: no pipe
        done = subprocess.run(whole, stdout=output, stderr=subprocess.STDOUT, cwd="/", timeout=60)
        if done.returncode != 0:
            output.seek(0)
            raise NoServerError(f"{Path(command[0]).name} failed: {output.read()[-500:]}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def postgresql_url(postgresql_server: str) -> Iterator[str]:
    """A fresh database on it."""
    import psycopg

    name = f"t{uuid.uuid4().hex}"
    with psycopg.connect(postgresql_server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    yield postgresql_server.rpartition("/")[0] + f"/{name}"
    with psycopg.connect(postgresql_server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A fresh database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/store.db"
    return str(request.getfixturevalue("postgresql_url"))


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """A fresh SQLite file."""
    return f"sqlite:///{tmp_path}/store.db"


@pytest.fixture
def passing() -> list[float]:
    """The time, which the test moves on."""
    return [time.time() - 3 * 3600]


@pytest.fixture
def store(url: str, passing: list[float]) -> Iterator[Store]:
    """A store whose clock the test moves, in a fresh database of each kind."""
    with Store(StoreSettings(url=url), now=lambda: passing[0]) as one:
        yield one
