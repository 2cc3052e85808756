"""What a session does around the calls: retries, budgets, several completions, counting."""

import asyncio
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest

from evidencerails.errors import BudgetExceededError, LlmError, LlmReplyError, LlmTimeoutError
from evidencerails.exchange import LlmReply, Message
from evidencerails.llm.session import LlmSession, client_from_settings
from evidencerails.settings.llm import LlmSettings
from evidencerails.testing import ReplayServer

PROMPT = (Message(role="user", content="Where?"),)


def make_session(server: ReplayServer, **fields: Any) -> LlmSession:
    settings = LlmSettings.model_validate({"base_url": server.base_url, "model": "replay", **fields})
    return LlmSession.of(client_from_settings(settings), settings)


def texts(reply: LlmReply) -> list[str]:
    return [completion.text for completion in reply.completions]


BUSY = {"status": 429, "retry_after_s": 0.0}


@pytest.mark.parametrize(
    ("faults", "requests", "is_answered"),
    [
        *(([fault], 2, True) for fault in (BUSY, {"status": 500}, {"cut": True}, {"text": "x", "broken_json": True})),
        ([BUSY, BUSY], 3, True),
        ([BUSY, BUSY, BUSY], 3, False),  # more than `max_retries`
        ([{"status": 401}], 1, False),  # a lasting one
    ],
)
async def test_a_passing_fault_is_retried(
    server: ReplayServer, faults: list[dict[str, Any]], requests: int, is_answered: bool
) -> None:
    for fault in faults:
        server.reply(**fault)
    server.say("a")
    session = make_session(server, max_retries=2)
    with nullcontext() if is_answered else pytest.raises(LlmError, match="scripted failure"):
        assert texts(await session.complete(PROMPT)) == ["a"]
    assert len(server.requests) == session.usage().calls == session.usage().round_trips == requests


async def test_the_wait_the_provider_asks_for_is_kept(server: ReplayServer) -> None:
    server.reply(status=429, retry_after_s=0.4)
    server.say("a")
    await make_session(server).complete(PROMPT)
    first, second = server.requests
    assert second.received_at - first.received_at >= 0.4


async def test_no_wait_beyond_the_budget(server: ReplayServer, monkeypatch: pytest.MonkeyPatch) -> None:
    server.reply(status=429, retry_after_s=300, when=lambda request: True)
    waits: list[float] = []
    sleep = asyncio.sleep

    async def noted(seconds: float) -> None:
        waits.append(seconds)
        await sleep(0)

    monkeypatch.setattr(asyncio, "sleep", noted)
    with pytest.raises(LlmError, match="scripted failure 429"):
        await make_session(server, budget={"seconds": 200.0}).complete(PROMPT)
    assert len(server.requests) == 1 and max(waits, default=0) < 300


async def test_calls_at_the_same_time_do_not_overspend_the_tokens(server: ReplayServer) -> None:
    # None of five had reported its cost when the next one asked, so all of them were let through.
    server.reply("a", usage=(100, 20), delay_s=0.2, when=lambda request: True)
    session = make_session(server, budget={"tokens": 250}, max_retries=0)
    long = (Message(role="user", content="word " * 80),)  # 400 characters: some 100 tokens
    replies = await asyncio.gather(*(session.complete(long) for _ in range(5)), return_exceptions=True)
    refused = [reply for reply in replies if isinstance(reply, BudgetExceededError)]
    assert (len(server.requests), len(refused)) == (2, 3)
    assert "250 tokens for one response is spent or would be: 0 spent, 200 in calls under way" in str(refused[0])
    usage = session.usage()
    assert (usage.calls, usage.prompt_tokens + usage.completion_tokens) == (2, 240)


async def test_calls_at_the_same_time_do_not_overspend_the_calls(server: ReplayServer) -> None:
    server.reply("a", delay_s=0.1, when=lambda request: True)
    session = make_session(server, budget={"calls": 3}, max_retries=0)
    replies = await asyncio.gather(*(session.complete(PROMPT) for _ in range(9)), return_exceptions=True)
    refused = [str(reply) for reply in replies if isinstance(reply, BudgetExceededError)]
    assert refused == ["budget of 3 calls for one response is spent (llm.budget.calls)"] * 6
    assert len(server.requests) == session.usage().calls == 3


async def test_a_provider_that_tells_no_tokens_is_counted_by_its_characters(server: ReplayServer) -> None:
    server.reply("word " * 80, usage=(0, 0), when=lambda request: True)
    session = make_session(server, budget={"tokens": 150})
    await session.complete(PROMPT)
    await session.complete(PROMPT)
    with pytest.raises(BudgetExceededError, match="150 tokens"):
        await session.complete(PROMPT)
    assert session.usage().prompt_tokens == 0  # the report says what was reported, the budget keeps what is likely


async def test_a_judge_of_its_own_spends_from_the_same_budget(server: ReplayServer) -> None:
    server.reply("a", delay_s=0.05, when=lambda request: True)
    main = make_session(server, budget={"calls": 2}, max_concurrency=1)
    judge = LlmSession(main.client, LlmSettings(), beside=main)
    await asyncio.gather(main.complete(PROMPT), judge.complete(PROMPT))
    assert _most_at_once(server) == 1
    with pytest.raises(BudgetExceededError):
        await judge.complete(PROMPT)
    assert (main.usage().calls, judge.usage().calls) == (1, 1)


async def test_an_endpoint_has_its_own_timeout(server: ReplayServer) -> None:
    server.reply("a", delay_s=0.5, when=lambda request: True)
    main = make_session(server, timeout_s=0.1, max_retries=0)
    slow = make_session(server, timeout_s=20.0).client
    patient = LlmSession(slow, LlmSettings(timeout_s=0.1), beside=main, timeout_s=20.0)
    with pytest.raises(LlmTimeoutError):
        await main.complete(PROMPT)
    assert texts(await patient.complete(PROMPT)) == ["a"]


async def test_seconds_are_counted_from_the_first_call(server: ReplayServer) -> None:
    server.default("a")
    session = make_session(server, budget={"seconds": 0.3})
    await session.complete(PROMPT)
    await asyncio.sleep(0.35)
    with pytest.raises(BudgetExceededError, match=r"0\.3 seconds"):
        await session.complete(PROMPT)


@pytest.mark.parametrize(
    ("said", "how", "found", "asked"),
    [
        ([["a", "b", "c"]], "auto", ["a", "b", "c"], [3]),  # several take one round trip
        (["a", "b", "c"], "many", ["a", "b", "c"], [1, 1, 1]),
        (["a", 401, "c"], "many", ["a", "c"], [1, 1, 1]),  # a part that failed leaves the rest
        ([["a", None, "  "]], "one", ["a"], [3]),  # completions without text are left out
    ],
)
async def test_several_completions(
    server: ReplayServer, said: list[Any], how: Any, found: list[str], asked: list[int]
) -> None:
    for one in said:
        server.reply(status=one) if isinstance(one, int) else server.say(one)
    session = make_session(server)
    assert sorted(texts(await session.complete(PROMPT, n=3, requests=how))) == found
    assert [request.n for request in server.requests] == asked
    usage = session.usage()
    assert (usage.calls, usage.round_trips, usage.saved_calls) == (len(asked), 1, 3 - len(asked))


async def test_what_an_ignored_n_left_out_is_asked_for_singly(server: ReplayServer) -> None:
    server.ignores_n = True
    server.say("a", "b", "c", "d")
    assert texts(await make_session(server).complete(PROMPT, n=3, requests="one")) == ["a"]
    session = make_session(server)
    assert sorted(texts(await session.complete(PROMPT, n=3))) == ["b", "c", "d"]
    server.say("e", "f")
    await session.complete(PROMPT, n=2)
    assert [request.n for request in server.requests[1:]] == [3, 1, 1, 1, 1]  # learned: no second try of `n`


async def test_where_n_is_refused_single_requests_run_at_the_same_time(server: ReplayServer) -> None:
    server.refuse("n")
    server.reply(["a", "b", "c"], when="Where", delay_s=0.2)
    session = make_session(server)
    assert sorted(texts(await session.complete(PROMPT, n=3))) == ["a", "b", "c"]
    assert (session.usage().calls, session.usage().round_trips) == (4, 2)
    assert _most_at_once(server) == 3


async def test_no_more_at_once_than_the_settings_allow(server: ReplayServer) -> None:
    server.reply("a", when="Where", delay_s=0.1)
    session = make_session(server, max_concurrency=2)
    await session.complete(PROMPT, n=5, requests="many")
    assert _most_at_once(server) == 2
    assert session.usage().round_trips == 3


async def test_no_text_at_all_is_an_error_that_tells_why(server: ReplayServer) -> None:
    server.reply("", finish_reason="length", times=1)
    with pytest.raises(LlmReplyError, match=r"without text .*length"):
        await make_session(server).complete(PROMPT)


async def test_a_cancelled_caller_stops_the_request(server: ReplayServer) -> None:
    server.reply("a", delay_s=5.0)
    task = asyncio.create_task(make_session(server).complete(PROMPT))
    await _until(lambda: bool(server.requests))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await _until(lambda: server.requests[0].is_abandoned)


def _most_at_once(server: ReplayServer) -> int:
    """How many of the answered requests were open at the same time."""
    spans = [(r.received_at, r.finished_at or 0.0) for r in server.requests if r.status == 200]
    return max(sum(start <= moment < end for start, end in spans) for moment, _ in spans)


async def _until(condition: Callable[[], bool]) -> None:
    for _ in range(200):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("did not come true within 2 s")
