"""What is kept, for how long, and what never is."""

from __future__ import annotations

import json
import pickletools
import sqlite3
from pathlib import Path

import pytest

from evidencerails import Guard
from evidencerails.config import CacheSettings, LlmSettings
from evidencerails.errors import LlmError, LlmReplyError
from evidencerails.exchange import Message
from evidencerails.llm.cache import DiskCache, MemoryCache, ReplyCache, ask_cached, cache_from_settings, cache_key
from evidencerails.llm.session import LlmSession, client_from_settings
from evidencerails.testing import ReplayServer

DAY_S = 86_400.0
PROMPT = (Message(role="user", content="Is it true?"),)


class Clock:
    """A clock that is set by hand."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["memory", "disk"])
def cache(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> ReplyCache:
    if request.param == "memory":
        return MemoryCache(2, DAY_S, clock=clock)
    return DiskCache(tmp_path / "deep" / "replies.sqlite", DAY_S, 2, clock=clock)


def session_of(server: ReplayServer, model: str = "replay") -> LlmSession:
    settings = LlmSettings(base_url=server.base_url, model=model, max_retries=0)
    session = LlmSession.of(client_from_settings(settings), settings)
    assert session is not None
    return session


def read_number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise LlmReplyError(f"expected a number, got {text!r}") from None


async def asked(cache: ReplyCache | None, session: LlmSession, version: str = "1", **more: object) -> int:
    return await ask_cached(
        cache,
        session,
        PROMPT,
        read_number,
        prompt_version=version,
        repair="A number!",
        **more,  # type: ignore[arg-type]
    )


# ---- the two stores


async def test_a_text_is_found_until_it_expires(cache: ReplyCache, clock: Clock) -> None:
    await cache.put("k", "hé\n\x00😀")
    clock.now += DAY_S - 1
    assert await cache.get("k") == "hé\n\x00😀"
    clock.now += 1
    assert await cache.get("k") is None


async def test_an_unknown_key_has_no_text(cache: ReplyCache) -> None:
    assert await cache.get("k") is None


async def test_a_new_text_replaces_the_old_one(cache: ReplyCache) -> None:
    await cache.put("k", "old")
    await cache.put("k", "new")
    assert await cache.get("k") == "new"


async def test_memory_throws_out_what_was_not_asked_for_longest() -> None:
    cache = MemoryCache(2, DAY_S)
    await cache.put("a", "1")
    await cache.put("b", "2")
    await cache.get("a")
    await cache.put("c", "3")
    assert [await cache.get(key) for key in "abc"] == ["1", None, "3"]
    assert len(cache) == 2


async def test_disk_outlives_the_process_and_throws_out_the_oldest(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evidencerails.llm.cache.PURGE_EVERY", 1)
    path = tmp_path / "r.sqlite"
    for key in "abc":
        clock.now += 1
        await DiskCache(path, DAY_S, 2, clock=clock).put(key, key)
    assert [await DiskCache(path, DAY_S, 2, clock=clock).get(key) for key in "abc"] == [None, "b", "c"]


async def test_disk_holds_json_and_no_pickle(tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    await DiskCache(path, DAY_S, 10).put("k", "text")
    connection = sqlite3.connect(path)
    (value,) = connection.execute("SELECT value FROM replies").fetchone()
    connection.close()
    assert json.loads(value) == "text"
    with pytest.raises(Exception, match=r"opcode|exhausted|unknown"):
        list(pickletools.genops(value.encode()))


@pytest.mark.parametrize("content", [b"no database at all" * 100, b""])
async def test_a_damaged_file_is_as_an_empty_cache(
    tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "r.sqlite"
    path.write_bytes(content)
    cache = DiskCache(path, DAY_S, 10)
    assert await cache.get("k") is None
    await cache.put("k", "text")
    assert await cache.get("k") == ("text" if not content else None)
    assert len(caplog.records) == (1 if content else 0)


async def test_a_place_that_cannot_be_written_is_as_an_empty_cache(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = DiskCache(tmp_path / "file" / "r.sqlite", DAY_S, 10)
    await cache.put("k", "text")
    assert await cache.get("k") is None


async def test_a_value_that_is_no_text_is_not_given_back(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path / "r.sqlite", DAY_S, 10)
    await cache.put("k", "text")
    connection = sqlite3.connect(tmp_path / "r.sqlite")
    with connection:
        connection.execute("UPDATE replies SET value = '[1]'")
    connection.close()
    assert await cache.get("k") is None


# ---- the key


def test_the_key_changes_with_everything_that_may_change_the_reply() -> None:
    base = ("m", "1", PROMPT, {"temperature": 0.0})
    others = [
        ("m2", "1", PROMPT, {"temperature": 0.0}),
        ("m", "2", PROMPT, {"temperature": 0.0}),
        ("m", "1", (Message(role="user", content="Is it true? "),), {"temperature": 0.0}),
        ("m", "1", (Message(role="system", content="Is it true?"),), {"temperature": 0.0}),
        ("m", "1", (*PROMPT, *PROMPT), {"temperature": 0.0}),
        ("m", "1", PROMPT, {"temperature": 0.5}),
    ]
    keys = {cache_key(*parts) for parts in [base, *others]}
    assert len(keys) == 1 + len(others)
    assert cache_key(*base) in keys


def test_neighbouring_parts_do_not_run_together() -> None:
    one = (Message(role="user", content="a"), Message(role="user", content="b"))
    other = (Message(role="user", content="a\nb"),)
    assert cache_key("m", "1", one, {}) != cache_key("m", "1", other, {})


def test_lone_surrogates_have_a_key() -> None:
    assert cache_key("m", "1", (Message(role="user", content="\ud800"),), {})


# ---- asking


async def test_the_second_time_nobody_is_asked(server: ReplayServer) -> None:
    server.say("7")
    cache, session = MemoryCache(10, DAY_S), session_of(server)
    assert [await asked(cache, session), await asked(cache, session)] == [7, 7]
    assert (len(server.requests), session.usage().calls, session.usage().saved_calls) == (1, 1, 1)


async def test_without_a_cache_everybody_is_asked(server: ReplayServer) -> None:
    server.say("7", "8")
    session = session_of(server)
    assert [await asked(None, session), await asked(None, session)] == [7, 8]


async def test_another_model_or_prompt_version_is_asked(server: ReplayServer) -> None:
    server.say("1", "2", "3")
    cache = MemoryCache(10, DAY_S)
    assert await asked(cache, session_of(server)) == 1
    assert await asked(cache, session_of(server, "other")) == 2
    assert await asked(cache, session_of(server), version="2") == 3


async def test_a_failure_is_not_kept(server: ReplayServer) -> None:
    # ChainCheck kept what it fell back to in an outage for 24 hours, and served it after the recovery.
    server.reply(status=500)
    server.say("7")
    cache, session = MemoryCache(10, DAY_S), session_of(server)
    with pytest.raises(LlmError):
        await asked(cache, session)
    assert len(cache) == 0
    assert await asked(cache, session) == 7


async def test_an_unreadable_reply_is_not_kept(server: ReplayServer) -> None:
    server.say("no", "idea", "7")
    cache, session = MemoryCache(10, DAY_S), session_of(server)
    with pytest.raises(LlmReplyError):
        await asked(cache, session)
    assert len(cache) == 0
    assert await asked(cache, session) == 7


async def test_of_a_repaired_reply_the_readable_one_is_kept(server: ReplayServer) -> None:
    server.say("seven", "7")
    cache, session = MemoryCache(10, DAY_S), session_of(server)
    assert [await asked(cache, session), await asked(cache, session)] == [7, 7]
    assert len(server.requests) == 2


async def test_an_incomplete_reply_is_not_kept(server: ReplayServer) -> None:
    server.say("7", "8")
    cache, session = MemoryCache(10, DAY_S), session_of(server)
    found = [await asked(cache, session, is_complete=lambda n: n > 7) for _ in range(3)]
    assert found == [7, 8, 8]


async def test_a_kept_reply_that_is_no_longer_readable_is_asked_for_again(server: ReplayServer) -> None:
    server.say("7")
    cache, session = MemoryCache(10, DAY_S), session_of(server)
    parameters = {"temperature": 0.0, "max_tokens": None, "json_schema": None, "server": session.client.server}
    key = cache_key("replay", "1", PROMPT, parameters)
    await cache.put(key, "seven")
    assert await asked(cache, session) == 7
    assert session.usage().saved_calls == 0


async def test_two_servers_with_one_model_name_share_no_replies(server: ReplayServer) -> None:
    cache = MemoryCache(10, DAY_S)
    server.say("7")
    with ReplayServer() as other:
        other.say("8")
        found = [await asked(cache, session_of(one)) for one in (server, other, server)]
    assert found == [7, 8, 7]
    assert (len(server.requests), len(other.requests)) == (1, 1)


# ---- settings


def test_every_guard_has_a_cache_of_its_own() -> None:
    one, other = Guard(), Guard()
    assert isinstance(one._cache, MemoryCache)
    assert one._cache is not other._cache


def test_cache_from_settings(tmp_path: Path) -> None:
    assert cache_from_settings(CacheSettings(backend="off")) is None
    assert isinstance(cache_from_settings(CacheSettings(backend="disk", path=str(tmp_path / "r"))), DiskCache)
    assert CacheSettings().ttl_s == DAY_S
