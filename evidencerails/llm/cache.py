"""Replies of judges that were read without trouble, kept for a while: the same question is not paid for twice.

Only text that a parser accepted is ever kept: no failure, no repaired half, no fallback. Only replies at temperature 0
are kept: samples have to differ. A cache belongs to one `Guard`; a disk cache is shared by those that name its file.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from evidencerails.errors import LlmReplyError
from evidencerails.exchange import Message
from evidencerails.llm.parsing import ask
from evidencerails.llm.session import LlmSession
from evidencerails.settings.llm import CacheSettings

log = logging.getLogger("evidencerails")

T = TypeVar("T")
Clock = Callable[[], float]

KEY_FORMAT = 1
"""Part of every key; raised when keys or values change their meaning, so that old files are not misread."""
PURGE_EVERY = 100
"""A cache throws out what has expired once in so many writes, first at the first one."""
_LOCK_WAIT_S = 2.0
MAX_ENTRIES = 10_000
"""Entries kept; the oldest go first."""


def cache_key(model: str, prompt_version: str, messages: Sequence[Message], parameters: dict[str, Any]) -> str:
    """A key that changes with the model, the prompt, any text in it, and any parameter of the call."""
    parts = {
        "format": KEY_FORMAT,
        "model": model,
        "prompt_version": prompt_version,
        "messages": [[message.role, message.content] for message in messages],
        "parameters": parameters,
    }
    source = json.dumps(parts, ensure_ascii=False, sort_keys=True, default=str)
    return hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()


class ReplyCache:
    """Texts by key in SQLite, as JSON strings; nothing in it is ever executed, whoever wrote the file.

    No method raises: a file that is damaged, locked or not writable is logged once and then as empty.

    Args:
        path: of the file, which is read and written in threads; folders are made. None keeps texts in this process.
        ttl_s: seconds until an entry expires.
        max_entries: the oldest beyond so many are thrown out.
    """

    def __init__(
        self, path: str | Path | None, ttl_s: float, max_entries: int = MAX_ENTRIES, *, clock: Clock = time.time
    ) -> None:
        self._path = None if path is None else Path(path)
        self._ttl_s, self._max_entries, self._clock = ttl_s, max_entries, clock
        self._memory: sqlite3.Connection | None = None
        if path is None:
            self._memory = _with_table(sqlite3.connect(":memory:", check_same_thread=False))
            weakref.finalize(self, self._memory.close)  # from Python 3.13 on, SQLite warns of one left open
        self._lock = threading.Lock()  # one guard may serve several event loops in several threads
        self._writes = 0
        self._has_complained = False

    async def get(self, key: str) -> str | None:
        """The text kept under the key; None if there is none or it has expired."""
        return await self._done(self._read, key)

    async def put(self, key: str, text: str) -> None:
        """Keep a text."""
        await self._done(self._write, key, text)

    async def _done(self, work: Callable[..., str | None], *args: str) -> str | None:
        return self._guarded(work, *args) if self._memory else await asyncio.to_thread(self._guarded, work, *args)

    def _guarded(self, work: Callable[..., str | None], *args: str) -> str | None:
        try:
            with self._opened() as connection, connection:
                return work(connection, *args)
        except (sqlite3.Error, OSError, ValueError) as error:
            if not self._has_complained:
                log.warning("reply cache %s cannot be used: %s: %s", self._path, type(error).__name__, error)
                self._has_complained = True
            return None

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        if self._memory or self._path is None:
            with self._lock:
                yield self._memory  # type: ignore[misc]
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(self._path, timeout=_LOCK_WAIT_S)) as connection:
            yield _with_table(connection)

    def _read(self, connection: sqlite3.Connection, key: str) -> str | None:
        wanted = "SELECT value FROM replies WHERE key = ? AND expires_at > ?"
        row = connection.execute(wanted, (key, self._clock())).fetchone()
        value = json.loads(row[0]) if row else None
        return value if isinstance(value, str) else None

    def _write(self, connection: sqlite3.Connection, key: str, text: str) -> None:
        entry = (key, json.dumps(text), self._clock() + self._ttl_s)
        connection.execute("INSERT OR REPLACE INTO replies VALUES (?, ?, ?)", entry)
        if self._writes % PURGE_EVERY == 0:
            kept = "SELECT key FROM replies WHERE expires_at > ? ORDER BY expires_at DESC LIMIT ?"
            limits = (self._clock(), self._max_entries)
            connection.execute(f"DELETE FROM replies WHERE key NOT IN ({kept})", limits)
        self._writes += 1


def _with_table(connection: sqlite3.Connection) -> sqlite3.Connection:
    connection.execute(
        "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, value TEXT NOT NULL, expires_at REAL NOT NULL)"
    )
    return connection


def cache_from_settings(settings: CacheSettings) -> ReplyCache | None:
    """The cache that the settings ask for; None if it is off."""
    if settings.backend == "off":
        return None
    return ReplyCache(settings.path if settings.backend == "disk" else None, settings.ttl_s)


async def ask_cached(
    cache: ReplyCache | None,
    session: LlmSession,
    messages: Sequence[Message],
    parse: Callable[[str], T],
    *,
    prompt_version: str,
    repair: str,
    json_schema: dict[str, Any] | None = None,
    is_complete: Callable[[T], bool] = lambda _: True,
) -> T:
    """What `parse` reads from a kept reply, or from a fresh one at temperature 0 (see `parsing.ask`).

    A fresh reply is kept if it could be read and `is_complete` accepts what it says. A kept one that cannot be read any
    more is asked for again. A call that the cache saved is counted in the session's `saved_calls`.

    Raises:
        LlmReplyError: no reply could be read.
        LlmError: the provider failed.
    """
    server: str = getattr(session.client, "server", "")  # two servers may give different models one name
    parameters = {"temperature": 0.0, "json_schema": json_schema, "server": server}
    key = cache_key(session.client.model, prompt_version, messages, parameters)
    kept = await cache.get(key) if cache is not None else None
    if kept is not None:
        try:
            value = parse(kept)
        except LlmReplyError:  # kept by an earlier version with a laxer parser
            log.info("a kept reply cannot be read any more, asking again")
        else:
            session.note_saved(1)
            return value
    accepted = ""

    def parse_and_remember(text: str) -> T:
        nonlocal accepted
        parsed = parse(text)
        accepted = text
        return parsed

    value = await ask(session, messages, parse_and_remember, repair=repair, json_schema=json_schema)
    if cache is not None and is_complete(value):
        await cache.put(key, accepted)
    return value
