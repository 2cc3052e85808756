"""What is kept of a judge's replies, for how long, and what never is."""

import asyncio
import gc
import json
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from evidencerails import Guard
from evidencerails.errors import LlmError, LlmReplyError
from evidencerails.exchange import Message
from evidencerails.llm.cache import ReplyCache, ask_cached, cache_from_settings, cache_key
from evidencerails.llm.session import LlmSession, client_from_settings
from evidencerails.settings.llm import CacheSettings, LlmSettings
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
        return ReplyCache(None, DAY_S, 2, clock=clock)
    return ReplyCache(tmp_path / "deep" / "replies.sqlite", DAY_S, 2, clock=clock)


def session_of(server: ReplayServer, model: str = "replay") -> LlmSession:
    settings = LlmSettings(base_url=server.base_url, model=model, max_retries=0)
    return LlmSession.of(client_from_settings(settings), settings)


def key_of(session: LlmSession) -> str:
    """Where the reply to `asked` is kept."""
    parameters = {"temperature": 0.0, "json_schema": None, "server": session.client.server}
    return cache_key("replay", "1", PROMPT, parameters)


async def asked(cache: ReplyCache | None, session: LlmSession, version: str = "1", **more: Any) -> int:
    def number(text: str) -> int:
        try:
            return int(text)
        except ValueError:
            raise LlmReplyError(f"expected a number, got {text!r}") from None

    return await ask_cached(cache, session, PROMPT, number, prompt_version=version, repair="A number!", **more)


# ---- the two stores


async def test_a_text_is_found_until_it_expires(cache: ReplyCache, clock: Clock) -> None:
    assert await cache.get("k") is None
    await cache.put("k", "old")
    await cache.put("k", "hé\n\x00😀")
    clock.now += DAY_S - 1
    assert await cache.get("k") == "hé\n\x00😀"
    clock.now += 1
    assert await cache.get("k") is None


async def test_the_oldest_are_thrown_out(cache: ReplyCache, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evidencerails.llm.cache.PURGE_EVERY", 1)
    for key in "abc":
        clock.now += 1
        await cache.put(key, key)
    assert [await cache.get(key) for key in "abc"] == [None, "b", "c"]


async def test_disk_holds_json_and_gives_back_texts_alone(tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    cache = ReplyCache(path, DAY_S, 10)
    await cache.put("k", "text")
    with closing(sqlite3.connect(path)) as connection, connection:
        (value,) = connection.execute("SELECT value FROM replies").fetchone()
        connection.execute("UPDATE replies SET value = '[1]'")
    assert json.loads(value) == "text"
    assert await cache.get("k") is None


async def test_calls_do_not_wait_for_each_other_at_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache, both = ReplyCache(tmp_path / "r.sqlite", DAY_S), threading.Barrier(2, timeout=10)
    monkeypatch.setattr(cache, "_read", lambda *_: str(both.wait()))
    assert sorted(await asyncio.gather(cache.get("a"), cache.get("b")), key=str) == ["0", "1"]


def test_a_cache_in_memory_closes_its_connection() -> None:
    cache = ReplyCache(None, DAY_S)
    connection = cache._memory
    del cache
    gc.collect()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")


@pytest.mark.parametrize(("content", "found", "warnings"), [(b"no database at all" * 100, None, 1), (b"", "text", 0)])
async def test_a_damaged_file_is_as_an_empty_cache(
    tmp_path: Path, content: bytes, found: str | None, warnings: int, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "r.sqlite").write_bytes(content)
    cache = ReplyCache(tmp_path / "r.sqlite", DAY_S, 10)
    assert await cache.get("k") is None
    await cache.put("k", "text")
    assert (await cache.get("k"), len(caplog.records)) == (found, warnings)
    nowhere = ReplyCache(tmp_path / "r.sqlite" / "r.sqlite", DAY_S, 10)
    await nowhere.put("k", "text")
    assert await nowhere.get("k") is None


# ---- the key


def test_the_key_changes_with_everything_that_may_change_the_reply() -> None:
    def said(*texts: str, role: Any = "user") -> tuple[Message, ...]:
        return tuple(Message(role=role, content=text) for text in texts)

    cold = {"temperature": 0.0}
    every = [
        ("m", "1", PROMPT, cold), ("m2", "1", PROMPT, cold), ("m", "2", PROMPT, cold),
        ("m", "1", PROMPT, {"temperature": 0.5}), ("m", "1", said("Is it true? "), cold),
        ("m", "1", said("Is it true?", role="system"), cold), ("m", "1", said("Is it true?", "Is it true?"), cold),
        ("m", "1", said("a", "b"), cold), ("m", "1", said("a\nb"), cold), ("m", "1", said("\ud800"), cold),
    ]  # fmt: skip
    assert len({cache_key(*parts) for parts in every}) == len(every)
    assert cache_key(*every[0]) == cache_key(*every[0])


# ---- asking


async def test_the_second_time_nobody_is_asked(server: ReplayServer) -> None:
    server.say("seven", "7")  # of a repaired reply the readable one is kept
    cache, session = ReplyCache(None, DAY_S), session_of(server)
    assert [await asked(cache, session), await asked(cache, session)] == [7, 7]
    assert (len(server.requests), session.usage().saved_calls) == (2, 1)


async def test_another_model_prompt_version_or_server_is_asked_and_without_a_cache_everybody(
    server: ReplayServer,
) -> None:
    server.say(*"1234")
    cache = ReplyCache(None, DAY_S)
    assert await asked(cache, session_of(server)) == 1
    assert await asked(cache, session_of(server, "other")) == 2
    assert await asked(cache, session_of(server), version="2") == 3
    assert await asked(None, session_of(server)) == 4
    with ReplayServer() as other:
        other.say("5")
        assert await asked(cache, session_of(other)) == 5
    assert await asked(cache, session_of(server)) == 1


@pytest.mark.parametrize(
    ("replies", "error"), [([{"status": 500}], LlmError), ([{"text": "no"}, {"text": "idea"}], LlmReplyError)]
)
async def test_a_failure_is_not_kept(server: ReplayServer, replies: Any, error: type[Exception]) -> None:
    # ChainCheck kept what it fell back to in an outage for 24 hours, and served it after the recovery.
    for reply in replies:
        server.reply(**reply)
    server.say("7")
    cache, session = ReplyCache(None, DAY_S), session_of(server)
    with pytest.raises(error):
        await asked(cache, session)
    assert await cache.get(key_of(session)) is None
    assert (await asked(cache, session), await cache.get(key_of(session))) == (7, "7")


async def test_an_incomplete_reply_is_not_kept(server: ReplayServer) -> None:
    server.say("7", "8")
    cache, session = ReplyCache(None, DAY_S), session_of(server)
    assert [await asked(cache, session, is_complete=lambda n: n > 7) for _ in range(3)] == [7, 8, 8]


async def test_a_kept_reply_that_is_no_longer_readable_is_asked_for_again(server: ReplayServer) -> None:
    server.say("7")
    cache, session = ReplyCache(None, DAY_S), session_of(server)
    await cache.put(key_of(session), "seven")
    assert await asked(cache, session) == 7
    assert session.usage().saved_calls == 0


async def test_the_settings_choose_the_cache_and_each_guard_has_its_own(server: ReplayServer, tmp_path: Path) -> None:
    assert cache_from_settings(CacheSettings(backend="off")) is None
    for backend, is_kept in (("disk", True), ("memory", False)):
        settings = CacheSettings(backend=backend, path=str(tmp_path / backend))
        await cache_from_settings(settings).put("k", "text")
        assert (await cache_from_settings(settings).get("k") == "text") is is_kept
    server.default('{"answers": [{"claim": 1, "answer": "yes"}]}')
    llm = {"base_url": server.base_url, "model": "replay", "api_key": "none"}
    for guard in (Guard({"checks": ["grounding"], "llm": llm, "scoring": {"measures": ["qa"]}}) for _ in range(2)):
        for _ in range(2):
            await guard.check("The bridge opened in 1932.", evidence="The bridge opened in 1932.")
        guard.close()
    assert len(server.requests) == 2
