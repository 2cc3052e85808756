"""Hostile bodies, slow and vanishing clients, crowds, a missing model, a stop in the middle: each with its outcome."""

import asyncio
import concurrent.futures
import json
import os
import shutil
import signal
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from service_process import BAD, FACT, GOOD, Service, until

import evidencerails

pytestmark = pytest.mark.slow

JSON = {"content-type": "application/json"}
LONG = {"response": " ".join(f"Rhenium melts at {n} degrees." for n in range(30)), "evidence": [FACT] * 20}


def deep(levels: int) -> bytes:
    return b'{"response": "x", "schema": ' + b'{"a":' * levels + b"1" + b"}" * levels + b"}"


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b'{"response": "' + b"a" * (2 * 1024 * 1024) + b'"}', 413, "too_large"),
        (deep(70), 400, "too_deep"),
        (b"[" * 500_000, 400, "too_deep"),
        (b'{"response": "\xff\xfe"}', 400, "not_utf8"),
        (rb'{"response": "\ud800"}', 400, "not_utf8"),
        (rb'{"response": "x", "schema": {"\udc00": 1}}', 400, "not_utf8"),
        (b"{", 400, "not_json"),
        (b'{"response": NaN}', 400, "not_json"),
        (b'{"response": "It is right.", "response": "It is wrong."}', 400, "not_json"),
        (b'{"response": "x", "schema": {"a": ' + b"9" * 10_000 + b"}}", 400, "not_json"),
        (b"null", 422, "invalid"),
    ],
    ids=lambda value: repr(value[:24]) if isinstance(value, bytes) else None,
)
def test_a_body_that_cannot_be_read_is_refused_by_name(http: httpx.Client, body: bytes, status: int, code: str) -> None:
    reply = http.post("/v1/check", content=body, headers=JSON)
    assert (reply.status_code, reply.json()["error"]["code"]) == (status, code)


def test_a_body_that_hides_its_length_is_cut_off(http: httpx.Client) -> None:
    def chunks() -> object:
        for _ in range(64):
            yield b"a" * 65536

    try:
        status = http.post("/v1/check", content=chunks(), headers=JSON).status_code  # type: ignore[arg-type]
    except httpx.WriteError:  # the connection closed before the answer could be read
        status = 413
    assert status == 413
    assert http.post("/v1/check", json=GOOD).status_code == 200


def test_other_content_than_json_is_refused(http: httpx.Client) -> None:
    """A form or plain text is what another site's page can send without being asked first."""
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""):
        reply = http.post("/v1/check", content=json.dumps(GOOD), headers={"content-type": kind})
        assert reply.status_code == 415


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", ""])
def test_a_service_without_keys_answers_to_its_own_names_only(service: Service, host: str) -> None:
    with service.client(headers={"host": host}) as client:
        assert client.get("/v1/history").status_code in (400, 421)
    with service.client(headers={"host": "localhost:1"}) as client:
        assert client.get("/v1/history").status_code == 200


async def test_five_hundred_at_once_are_answered_or_asked_to_come_back(serve: Callable[..., Service]) -> None:
    running = serve({"service": {"max_concurrency": 16, "max_waiting": 200}})
    limits = httpx.Limits(max_connections=500)
    async with httpx.AsyncClient(base_url=running.url, timeout=120, limits=limits, trust_env=False) as client:

        async def one(place: int) -> tuple[int, str]:
            reply = await client.post("/v1/check", json={**(BAD if place % 2 else GOOD)})
            if reply.status_code == 429:
                assert int(reply.headers["retry-after"]) >= 1
            return reply.status_code, reply.json().get("status", "")

        work = asyncio.gather(*(one(place) for place in range(500)))
        await asyncio.sleep(0.5)
        async with httpx.AsyncClient(base_url=running.url, timeout=30, trust_env=False) as other:
            assert (await other.get("/healthz")).status_code == 200
        outcomes = Counter(await work)
    assert set(outcomes) <= {(200, "grounded"), (200, "hallucinated"), (429, "")}
    assert outcomes[200, "grounded"] >= 50 and outcomes[200, "hallucinated"] >= 50
    wait_for_requests(running, 0)


def connect(service: Service) -> socket.socket:
    address = urlsplit(service.url)
    return socket.create_connection((address.hostname, address.port), timeout=60)  # type: ignore[arg-type]


def head(body: bytes, path: bytes = b"/v1/check", more: bytes = b"") -> bytes:
    """The head of a request with this body."""
    return (
        b"POST " + path + b" HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + more
        + b"Content-Length: " + str(len(body)).encode() + b"\r\n\r\n"
    )  # fmt: skip


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with little patience and few items."""
    running = Service(tmp_path_factory.mktemp("strict"), {"service": {"client_timeout_s": 1, "max_items": 3}})
    yield running.wait_until_ready()
    running.stop()


def test_too_many_items_are_named(strict: Service) -> None:
    with strict.client() as client:
        batch = client.post("/v1/batch", json={"items": [GOOD] * 4})
        check = client.post("/v1/check", json={**GOOD, "evidence": [FACT] * 4})
    assert batch.json()["error"]["message"] == "the batch has 4 items; at most 3"
    assert check.json()["error"]["code"] == "too_many_items"


def test_slow_clients_are_cut_off_and_hold_nobody_up(strict: Service) -> None:
    silent, heads, bodies = ([connect(strict) for _ in range(100)] for _ in range(3))
    for each in heads:
        each.sendall(b"POST /v1/check HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
    for each in bodies:
        each.sendall(head(b" " * 1000) + b'{"response": "')
    with strict.client() as client:
        assert client.post("/v1/check", json=GOOD).status_code == 200
    assert {each.recv(100) for each in (*silent, *heads)} == {b""}
    assert {each.recv(100).split(b"\r\n")[0].split(b" ")[1] for each in bodies} == {b"408"}
    for each in (*silent, *heads, *bodies):
        each.close()


def answers_to(service: Service, *parts: bytes) -> bytes:
    """All that comes back until the service closes the connection, `client_timeout_s` after its last answer."""
    with connect(service) as caller:
        received = b""
        try:
            for part in parts:
                caller.sendall(part)
                time.sleep(0.05)
            while data := caller.recv(65536):
                received += data
        except ConnectionError:  # it was closed while we sent
            pass
        return received


def test_heads_that_ask_for_another_protocol_come_in_pieces_or_never_end(strict: Service) -> None:
    body = json.dumps(GOOD).encode()
    upgrade = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAAA\r\n"
    asked = head(body, more=upgrade)  # what Java's client sends with every request
    for parts in ([asked + body], [asked[:70], asked[70:-3], asked[-3:] + body[:5], body[5:]]):
        received = answers_to(strict, *parts)
        assert received.startswith(b"HTTP/1.1 200 OK\r\n") and b'"status":"grounded"' in received
    endless = [b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n", *[b"X-A: " + b"a" * 16_000 + b"\r\n"] * 8]
    refused = answers_to(strict, *endless)  # nothing, if the connection was closed while we still sent
    assert refused[:13] in (b"", b"HTTP/1.1 400 ")
    smuggled = asked.replace(b"Content-Length", b"Transfer-Encoding: chunked\r\nContent-Length") + b"0\r\n\r\n"
    assert b'"two_lengths"' in answers_to(strict, smuggled)


def test_work_of_a_caller_who_left_is_stopped(serve: Callable[..., Service]) -> None:
    running = serve({"service": {"max_concurrency": 1}})
    for path in (b"/v1/check", b"/v1/stream"):
        with connect(running) as gone:
            gone.sendall(head(json.dumps(LONG).encode(), path) + json.dumps(LONG).encode())
            time.sleep(0.05)
    wait_for_requests(running, 0)
    assert 'status="500"' not in running.metrics()


def test_a_check_that_takes_too_long_ends_with_504(serve: Callable[..., Service]) -> None:
    with serve({"service": {"check_timeout_s": 0.001}}).client() as client:
        reply = client.post("/v1/check", json=LONG)
        assert (reply.status_code, reply.json()["error"]["code"]) == (504, "timeout")
        with client.stream("POST", "/v1/stream", json=LONG) as stream:
            assert "event: error" in stream.read().decode()


def wait_for_requests(running: Service, count: int) -> None:
    """Wait until so many are under way: what has not been accepted when a server stops was never its to answer."""
    until(lambda: f"evidencerails_requests_under_way {count:.1f}" in running.metrics())


def test_a_stop_lets_requests_under_way_end(serve: Callable[..., Service]) -> None:
    running = serve({"service": {"drain_s": 200}})  # however slow the machine is
    with concurrent.futures.ThreadPoolExecutor(8) as pool, running.client() as client:
        work = [pool.submit(client.post, "/v1/check", json=LONG) for _ in range(8)]
        wait_for_requests(running, 8)
        running.process.send_signal(signal.SIGTERM)
        replies = [each.result() for each in work]
    assert {reply.status_code for reply in replies} == {200}
    assert running.process.wait(30) == 0


def test_what_has_not_ended_when_the_drain_is_over_is_asked_to_come_back(serve: Callable[..., Service]) -> None:
    running = serve({"service": {"drain_s": 0}})
    endless = {
        "response": " ".join(f"Rhenium melts at {n} degrees in oven {n}." for n in range(2000)),
        "evidence": FACT,
    }
    with concurrent.futures.ThreadPoolExecutor(4) as pool, running.client() as client:
        work = [pool.submit(client.post, "/v1/check", json=endless) for _ in range(4)]
        wait_for_requests(running, 4)
        running.process.send_signal(signal.SIGTERM)
        replies = [each.result() for each in work]
    assert {(reply.status_code, reply.json()["error"]["code"]) for reply in replies} == {(503, "stopping")}
    assert running.process.wait(60) == 0


def test_without_its_model_file_the_service_lives_but_is_not_ready(
    tmp_path: Path, repository: Path, serve: Callable[..., Service]
) -> None:
    package = Path(evidencerails.__file__).parent
    shutil.copytree(package, tmp_path / "copy" / "evidencerails", ignore=shutil.ignore_patterns("model.onnx", "__pyc*"))
    shutil.copytree(repository / "prompts", tmp_path / "copy" / "prompts")
    running = serve(ready=False, environment={"PYTHONPATH": str(tmp_path / "copy"), "PATH": os.environ["PATH"]})
    with running.client() as client:
        until(lambda: "ModelFileError" in client.get("/readyz").text)
        ready = client.get("/readyz")
        assert ready.status_code == 503 and "model.onnx" in ready.json()["reason"]
        assert client.get("/healthz").status_code == 200
        report = client.post("/v1/check", json=GOOD).json()
    assert report["status"] == "unverified"
    assert report["reason"].startswith("check_failed: ModelFileError")


def test_readiness_and_metrics_show_what_is_lost(serve: Callable[..., Service], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    place = {"url": f"sqlite:///{tmp_path}/file/reports.db", "queue_size": 2}
    with serve({"store": place}).client() as client:
        assert client.get("/readyz").json() == {"status": "ready"}
        for _ in range(5):
            made = client.post("/v1/check", json=BAD)
            assert (made.status_code, made.json()["status"]) == (200, "hallucinated")
        until(lambda: "evidencerails_store_lost 3.0" in client.get("/metrics").text)
        ready, metrics, history = (client.get(path) for path in ("/readyz", "/metrics", "/v1/history"))
    store = {"is_written": False, "waiting_in_memory": 2, "lost": 3}
    assert (ready.status_code, ready.json()) == (200, {"status": "ready", "store": store})
    assert "evidencerails_store_waiting 2.0" in metrics.text
    assert (history.status_code, history.json()["error"]["code"]) == (503, "store_unavailable")
    assert int(history.headers["retry-after"]) >= 1
