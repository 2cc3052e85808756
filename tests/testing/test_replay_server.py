"""The stand-in provider, seen from the official client."""

import gc
import json
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import openai
import pytest

from evidencerails.testing import UNSCRIPTED_STATUS, ReplayRequest, ReplayServer


@pytest.fixture
def client(server: ReplayServer) -> Iterator[openai.OpenAI]:
    with connect(server) as connected:
        yield connected


def connect(server: ReplayServer) -> openai.OpenAI:
    return openai.OpenAI(base_url=server.base_url, api_key="any", max_retries=0, timeout=5.0)


def ask(client: openai.OpenAI, text: str = "Where?", **options: Any) -> Any:
    return client.chat.completions.create(model="replay", messages=[{"role": "user", "content": text}], **options)


def texts(answer: Any) -> list[str | None]:
    return [choice.message.content for choice in answer.choices]


def streamed(client: openai.OpenAI, *arguments: str, **options: Any) -> str:
    chunks = ask(client, *arguments, stream=True, **options)
    return "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)


# ---- the script


CAPITAL, WHERE = "The capital?", "Where?"
SCRIPTS: dict[str, tuple[Callable[[ReplayServer], Any], list[tuple[str, int]], list[list[str | None]]]] = {
    "once and in order": (lambda s: s.say("a", "b"), [(WHERE, 1)] * 2, [["a"], ["b"]]),
    "completions of n, then of later requests": (
        lambda s: s.reply(["a", "b", "c"], when="Where"), [(WHERE, 2)] * 2, [["a", "b"], ["c", "a"]]),
    "a rule before the queue": (
        lambda s: (s.say("queued"), s.reply("matched", when="capital")),
        [(CAPITAL, 1), (CAPITAL, 1), (WHERE, 1)], [["matched"], ["matched"], ["queued"]]),
    "a rule that is a function": (
        lambda s: (s.say("queued"), s.reply("matched", when=lambda request: request.last_user_text == CAPITAL)),
        [(WHERE, 1), (CAPITAL, 1)], [["queued"], ["matched"]]),
    "a rule for the first time": (
        lambda s: (s.reply("first", when="Where", times=1), s.reply("then", when="Where")),
        [(WHERE, 1)] * 3, [["first"], ["then"], ["then"]]),
    "written by a function": (
        lambda s: s.reply(lambda request: f"You said {request.last_user_text}", when="W"),
        [(WHERE, 1)], [["You said Where?"]]),
    "a default for the rest": (
        lambda s: (s.reply("a", when="Where"), s.default("b")), [(CAPITAL, 1), (WHERE, 1)], [["b"], ["a"]]),
    "n ignored": (lambda s: (setattr(s, "ignores_n", True), s.say("a")), [(WHERE, 3)], [["a"]]),
    "null and empty content": (lambda s: (s.reply(None), s.reply("")), [(WHERE, 1)] * 2, [[None], [""]]),
}  # fmt: skip


@pytest.mark.parametrize(("script", "asked", "answers"), SCRIPTS.values(), ids=SCRIPTS)
def test_a_script_is_played(server: ReplayServer, client: openai.OpenAI, script: Any, asked: Any, answers: Any) -> None:
    script(server)
    assert [texts(ask(client, text, n=n)) for text, n in asked] == answers
    assert server.unmatched == []
    server.reset()
    with pytest.raises(openai.APIStatusError):
        ask(client)


def test_a_reply_without_anything_is_refused(server: ReplayServer) -> None:
    with pytest.raises(ValueError, match="needs a text, tool calls, or a fault"):
        server.reply(when="x")


def test_what_was_not_scripted_is_a_loud_error_and_never_an_answer(
    server: ReplayServer, client: openai.OpenAI, caplog: pytest.LogCaptureFixture
) -> None:
    server.say("a")
    assert texts(ask(client)) == ["a"]  # and once only
    with pytest.raises(openai.APIStatusError) as caught:
        ask(client, "Unheard of?")
    assert caught.value.status_code == UNSCRIPTED_STATUS
    assert "nothing scripted for this request; last user text: 'Unheard of?'" in str(caught.value)
    assert [request.last_user_text for request in server.unmatched] == ["Unheard of?"]
    assert "Unheard of?" in caplog.text


# ---- the protocol


def test_an_answer_has_the_form_of_the_protocol(server: ReplayServer) -> None:
    server.say("In Paris.")
    body = {"model": "m1", "messages": [{"role": "user", "content": "Where is it?"}]}
    answer = httpx.post(f"{server.base_url}/chat/completions", json=body).json()
    assert (answer.pop("id")[:7], answer.pop("created") > 0) == ("replay-", True)
    message = {"role": "assistant", "content": "In Paris."}
    assert answer == {
        "object": "chat.completion",
        "model": "m1",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
    }


def test_a_stream_brings_the_whole_text_and_then_the_usage(server: ReplayServer, client: openai.OpenAI) -> None:
    text = "In Paris,\n\n  since 1889. "
    server.reply(text, times=1, usage=(3, 4))
    chunks = list(ask(client, stream=True, stream_options={"include_usage": True}))
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == text
    assert sum(bool(c.choices and c.choices[0].delta.content) for c in chunks) > 3
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert (chunks[-1].choices, chunks[-1].usage.total_tokens) == ([], 7)


def test_a_stream_of_several_completions_keeps_them_apart(server: ReplayServer, client: openai.OpenAI) -> None:
    server.say(["a b", "c d"])
    choices = [choice for chunk in ask(client, n=2, stream=True) for choice in chunk.choices]
    assert ["".join(c.delta.content or "" for c in choices if c.index == index) for index in (0, 1)] == ["a b", "c d"]


def test_logprobs_come_whole_and_streamed(server: ReplayServer, client: openai.OpenAI) -> None:
    server.reply("In Paris", logprobs=[("In", -0.1), (" Paris", -0.7)], times=2)
    whole = ask(client, logprobs=True).choices[0].logprobs.content
    parts = [chunk.choices[0].logprobs for chunk in ask(client, logprobs=True, stream=True)]
    for tokens in (whole, [token for part in parts if part for token in part.content]):
        assert [(token.token, token.logprob) for token in tokens] == [("In", -0.1), (" Paris", -0.7)]


def test_tool_calls_come_whole_and_streamed(server: ReplayServer, client: openai.OpenAI) -> None:
    server.reply(tool_calls=[{"name": "look_up", "arguments": {"city": "Paris"}}], times=2)
    choice = ask(client).choices[0]
    assert (choice.message.content, choice.finish_reason) == (None, "tool_calls")
    assert choice.message.tool_calls[0].function.name == "look_up"
    assert json.loads(choice.message.tool_calls[0].function.arguments) == {"city": "Paris"}
    calls = [c.choices[0].delta.tool_calls for c in ask(client, stream=True) if c.choices[0].delta.tool_calls]
    assert json.loads(calls[0][0].function.arguments) == {"city": "Paris"}


def test_the_legacy_route_and_the_list_of_models(client: openai.OpenAI, server: ReplayServer) -> None:
    server.say(["a", "b"])
    answer = client.completions.create(model="m", prompt="Where?", n=2)
    assert [choice.text for choice in answer.choices] == ["a", "b"]
    assert server.requests[0].last_user_text == "Where?"
    server.say("c d")
    chunks = client.completions.create(model="m", prompt="Where?", stream=True)
    assert "".join(chunk.choices[0].text for chunk in chunks) == "c d"
    assert [model.id for model in client.models.list()] == ["replay"]


def test_reasoning_comes_beside_the_answer_and_text_in_parts_is_read(
    server: ReplayServer, client: openai.OpenAI
) -> None:
    server.reply("a", when="second", reasoning="because")
    parts: Any = [{"type": "text", "text": "first"}, {"type": "text", "text": "second"}]
    answer = client.chat.completions.create(model="m", messages=[{"role": "user", "content": parts}])
    assert answer.choices[0].message.reasoning_content == "because"
    assert server.requests[0].last_user_text == "first\nsecond"


def test_odd_characters_arrive_as_they_are(server: ReplayServer, client: openai.OpenAI) -> None:
    text = 'nul \x00 bidi \u202e emoji 🗼 quote " 日本'
    server.say(text, text)
    assert texts(ask(client, text)) == [text]
    assert streamed(client, text) == text
    assert server.requests[0].last_user_text == text


@pytest.mark.parametrize("path", ["/v1/embeddings", "/nothing"])
def test_other_paths_are_not_found(server: ReplayServer, path: str) -> None:
    root = server.base_url.removesuffix("/v1")
    assert httpx.post(root + path, json={}).status_code == 404
    assert httpx.get(root + path).status_code == 404


def test_a_body_that_is_no_object_is_a_bad_request(server: ReplayServer) -> None:
    for body in (b"", b"[1]", b"{", b"\xff"):
        assert httpx.post(f"{server.base_url}/chat/completions", content=body).status_code == 400


# ---- faults


@pytest.mark.parametrize(
    ("status", "error"),
    [(400, openai.BadRequestError), (401, openai.AuthenticationError), (429, openai.RateLimitError),
     (500, openai.InternalServerError)],
)  # fmt: skip
def test_a_status_is_an_error(server: ReplayServer, client: openai.OpenAI, status: int, error: type[Exception]) -> None:
    server.reply(status=status, message="no such luck", retry_after_s=7)
    with pytest.raises(error, match="no such luck") as caught:
        ask(client)
    assert caught.value.response.headers["retry-after"] == "7"  # type: ignore[attr-defined]


@pytest.mark.parametrize(("cut", "streaming"), [(True, False), ("at_once", False), ("at_once", True)])
def test_a_connection_is_cut(server: ReplayServer, client: openai.OpenAI, streaming: bool, cut: Any) -> None:
    server.reply("a b c d e f", cut=cut)
    with pytest.raises((openai.APIConnectionError, httpx.RemoteProtocolError)):
        list(ask(client, stream=streaming))


def test_a_stream_is_cut_in_the_middle(server: ReplayServer, client: openai.OpenAI) -> None:
    server.reply("a b c d e f", cut=True)
    got = ""
    with pytest.raises(httpx.RemoteProtocolError):
        for chunk in ask(client, stream=True):
            got += chunk.choices[0].delta.content or ""
    assert got and "a b c d e f".startswith(got) and got != "a b c d e f"


def test_json_is_broken(server: ReplayServer, client: openai.OpenAI) -> None:
    server.reply("a", broken_json=True, times=2)
    with pytest.raises(json.JSONDecodeError):
        ask(client)
    with pytest.raises(json.JSONDecodeError):
        list(ask(client, stream=True))


@pytest.mark.slow
def test_answers_and_chunks_are_late(server: ReplayServer, client: openai.OpenAI) -> None:
    server.reply("a", delay_s=0.3)
    server.reply("a b c", chunk_delay_s=0.1)
    started = time.monotonic()
    assert texts(ask(client)) == ["a"]
    assert time.monotonic() - started >= 0.3
    moments = [time.monotonic() for _ in ask(client, stream=True)]
    assert moments[-1] - moments[0] >= 0.3


def test_a_parameter_is_refused(server: ReplayServer, client: openai.OpenAI) -> None:
    server.refuse("temperature", "n")
    server.default("a")
    for options in ({"temperature": 0.0}, {"n": 2}):
        with pytest.raises(openai.BadRequestError) as caught:
            ask(client, **options)
        assert caught.value.param in options
    assert texts(ask(client, n=1)) == ["a"]


# ---- records


def test_requests_are_recorded(server: ReplayServer, client: openai.OpenAI) -> None:
    server.say("a")
    ask(client, "Where?", n=1, temperature=0.5, extra_headers={"X-Team": "blue"})
    (request,) = server.requests
    assert isinstance(request, ReplayRequest)
    assert (request.path, request.status, request.n, request.is_streaming) == ("/v1/chat/completions", 200, 1, False)
    assert request.messages == [{"role": "user", "content": "Where?"}]
    assert (request.body["temperature"], request.headers["x-team"]) == (0.5, "blue")
    assert request.finished_at is not None and request.finished_at >= request.received_at


def test_many_clients_at_once_each_get_one_answer(server: ReplayServer) -> None:
    server.say(*(f"answer {i}" for i in range(64)))
    with connect(server) as client, ThreadPoolExecutor(32) as pool:
        got = [texts(answer)[0] for answer in pool.map(lambda _: ask(client), range(64))]
    assert sorted(got) == sorted(f"answer {i}" for i in range(64))
    assert len(server.requests) == 64


def test_a_client_that_hangs_up_is_noticed(server: ReplayServer, client: openai.OpenAI) -> None:
    server.reply("a", delay_s=5.0)
    with pytest.raises(openai.APITimeoutError):
        ask(client, timeout=0.1)
    while server.requests[0].finished_at is None:
        time.sleep(0.01)
    assert server.requests[0].is_abandoned
    assert server.requests[0].status is None


# ---- its life


@pytest.mark.slow
def test_it_ends_at_once_and_leaves_nothing_open() -> None:
    threads = set(threading.enumerate())
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with ReplayServer() as server, connect(server) as client:
            port = httpx.URL(server.base_url).port
            server.say("a")
            server.reply("late", delay_s=30.0)
            ask(client)
            pool = ThreadPoolExecutor(1)
            late = pool.submit(ask, client)
            while len(server.requests) < 2:
                time.sleep(0.01)
            server.stop()  # and not half a minute later
            assert isinstance(late.exception(), openai.APIConnectionError)
            pool.shutdown()
        gc.collect()
    assert set(threading.enumerate()) <= threads  # threads of earlier tests may end meanwhile
    left_open = [str(w.message) for w in seen if issubclass(w.category, ResourceWarning)]
    assert not any(str(port) in message for message in left_open)  # what others left is collected here too


async def test_it_runs_in_async_code_and_can_start_again() -> None:
    server = ReplayServer()
    with pytest.raises(RuntimeError, match="not running"):
        _ = server.base_url
    for text in ("a", "b"):
        async with server, openai.AsyncOpenAI(base_url=server.base_url, api_key="any", max_retries=0) as client:
            server.say(text)
            answer = await client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Where?"}])
            assert answer.choices[0].message.content == text
