"""Samples are drawn once, grow on demand, and fail in the open."""

import asyncio
from typing import Any

import pytest

from evidencerails.errors import LlmError
from evidencerails.exchange import Message
from evidencerails.llm.sampling import Sampler, clean_sample
from evidencerails.llm.session import LlmSession, client_from_settings
from evidencerails.settings.claims import ConsistencySettings
from evidencerails.settings.llm import LlmSettings
from evidencerails.testing import ReplayServer

PROMPT = (Message(role="user", content="Where?"),)


def make_sampler(server: ReplayServer, **fields: Any) -> Sampler:
    settings = LlmSettings(base_url=server.base_url, model="replay", max_retries=0)
    session = LlmSession.of(client_from_settings(settings), settings)
    return Sampler(session, PROMPT, ConsistencySettings.model_validate(fields))


async def draw(sampler: Sampler, k: int) -> list[str]:
    return [sample.text for sample in await sampler.draw(k)]


async def test_more_are_drawn_only_when_more_are_wanted(server: ReplayServer) -> None:
    server.say("a", ["b", "c"], ["d", "e"])
    sampler = make_sampler(server)
    assert await draw(sampler, 1) == ["a"]
    assert await draw(sampler, 1) == ["a"]
    assert await draw(sampler, 3) == ["a", "b", "c"]
    assert await draw(sampler, 5) == ["a", "b", "c", "d", "e"]
    assert await draw(sampler, 2) == ["a", "b", "c", "d", "e"]
    assert [request.n for request in server.requests] == [1, 2, 2]


async def test_concurrent_callers_share_one_draw(server: ReplayServer) -> None:
    server.reply(["a", "b"], times=1, delay_s=0.1)
    sampler = make_sampler(server)
    assert await asyncio.gather(draw(sampler, 2), draw(sampler, 2)) == [["a", "b"], ["a", "b"]]
    assert len(server.requests) == 1


async def test_a_cancelled_caller_does_not_take_the_samples_from_the_other(server: ReplayServer) -> None:
    server.reply(["a", "b"], when="Where", delay_s=0.2)
    sampler = make_sampler(server)
    first = asyncio.create_task(draw(sampler, 2))
    second = asyncio.create_task(draw(sampler, 2))
    await asyncio.sleep(0.1)
    first.cancel()
    assert sorted(await second) == ["a", "b"]


@pytest.mark.parametrize(("mode", "shapes"), [("auto", [2]), ("n", [2]), ("parallel", [1, 1]), ("piggyback", [2])])
async def test_each_mode_asks_in_its_way(server: ReplayServer, mode: str, shapes: list[int]) -> None:
    server.reply(["a", "b"], when="Where")
    assert sorted(await draw(make_sampler(server, sampling=mode, temperature=0.8), 2)) == ["a", "b"]
    assert [request.n for request in server.requests] == shapes
    assert {request.body["temperature"] for request in server.requests} == {0.8}


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "Only one choice per request is available on this endpoint."),
        (501, "multiple completions are not implemented"),
        (405, ""),
        (403, "your plan allows one choice"),
    ],
)
async def test_when_several_at_once_are_refused_in_any_words_single_requests_follow(
    server: ReplayServer, caplog: pytest.LogCaptureFixture, status: int, message: str
) -> None:
    server.refuse("n", status=status, message=message)
    server.reply(["a", "b", "c", "d"], when="Where")
    sampler = make_sampler(server)
    assert sorted(await draw(sampler, 2)) == ["a", "b"]
    assert sorted(await draw(sampler, 4)) == ["a", "b", "c", "d"]
    assert [request.n for request in server.requests] == [2, 1, 1, 1, 1]  # learned once, for the model
    assert [record.message for record in caplog.records if "does not take `n`" in record.message] == [
        "model 'replay' does not take `n`: each sample is a request of its own from now on"
    ]


@pytest.mark.parametrize(("status", "requests"), [(401, 1), (404, 3), (429, 1), (500, 1)])
async def test_when_single_requests_fail_too_nothing_is_learned(
    server: ReplayServer, status: int, requests: int
) -> None:
    server.reply(status=status, message="no", when="Where")
    sampler = make_sampler(server)
    with pytest.raises(LlmError, match="no"):
        await sampler.draw(2)
    assert sampler.session is not None and sampler.session.client.supports_n
    assert len(server.requests) == requests


async def test_mode_n_never_makes_a_second_request(server: ReplayServer) -> None:
    server.ignores_n = True
    server.say("a", "b")
    sampler = make_sampler(server, sampling="n")
    assert await draw(sampler, 2) == ["a"]
    assert await draw(sampler, 2) == ["a"]
    assert len(server.requests) == 1


async def test_a_failure_is_raised_again_without_asking_again(server: ReplayServer) -> None:
    server.reply(status=500, when="Where")
    sampler = make_sampler(server)
    for _ in range(2):
        with pytest.raises(LlmError, match="scripted failure 500"):
            await sampler.draw(2)
    assert len(server.requests) == 1


async def test_a_later_failure_leaves_what_was_drawn(server: ReplayServer) -> None:
    server.say("a")
    server.reply(status=500)
    sampler = make_sampler(server)
    assert await draw(sampler, 1) == ["a"]
    assert await draw(sampler, 3) == ["a"]


async def test_without_model_or_prompt_it_says_so(server: ReplayServer) -> None:
    no_model = Sampler(None, PROMPT, ConsistencySettings())
    no_prompt = Sampler(make_sampler(server).session, (), ConsistencySettings())
    assert (no_model.unavailable, no_prompt.unavailable) == ("no_model", "no_prompt")
    assert make_sampler(server).unavailable is None
    for sampler in (no_model, no_prompt):
        with pytest.raises(LlmError, match=sampler.unavailable):
            await sampler.draw(2)
    assert server.requests == []


@pytest.mark.parametrize(
    ("raw", "sample"),
    [
        ("In Paris.", "In Paris."),
        ('  "In Paris."\n', "In Paris."),
        ('Bot message: "In Paris."', "In Paris."),
        ("Assistant: In Paris.", "In Paris."),
        ('In Paris.\nuser "And Rome?"\n  ask\nbot "In Italy."', "In Paris."),
        ("In Paris.\n\nUser: And Rome?", "In Paris."),
        ("<think>It is in France.</think>In Paris.", "In Paris."),
        ('"Yes" and "no" are words.', '"Yes" and "no" are words.'),
        ("First paragraph.\n\nSecond paragraph for the user: done.", None),
        ("<think>never ends", ""),
    ],
)
def test_a_raw_completion_becomes_an_answer(raw: str, sample: str | None) -> None:
    assert clean_sample(raw) == (raw if sample is None else sample)
