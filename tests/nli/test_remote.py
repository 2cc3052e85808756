"""The remote backend against a real HTTP server on loopback that speaks text-embeddings-inference's `/predict`."""

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from evidencerails.config import NliSettings
from evidencerails.errors import NliError, SettingsError
from evidencerails.nli.base import NliModel
from evidencerails.nli.remote import RemoteModel
from evidencerails.nli.service import NliService

INFO = {
    "model_id": "some/nli",
    "model_sha": "abcdef0123",
    "version": "1.7.0",
    "max_input_length": 512,
    "max_client_batch_size": 4,
}


class Server(ThreadingHTTPServer):
    """Answers by the attribute `reply`: a status and a body, or a function of the request."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[tuple[str, Any, dict[str, str]]] = []
        self.info: tuple[int, Any] = (200, INFO)
        self.replies: list[tuple[int, Any]] = []
        self.delay_s = 0.0
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def reply(self, path: str, body: Any) -> tuple[int, Any]:
        if path == "/info":
            return self.info
        if self.replies:
            return self.replies.pop(0)
        return 200, [_entries(premise, hypothesis) for premise, hypothesis in body["inputs"]]


def _entries(premise: str, hypothesis: str) -> list[dict[str, Any]]:
    """As the server does: sorted by score, with the model's own names."""
    if hypothesis in premise:
        return [
            {"score": 0.8, "label": "ENTAILMENT"},
            {"score": 0.15, "label": "NEUTRAL"},
            {"score": 0.05, "label": "CONTRADICTION"},
        ]
    return [
        {"score": 0.7, "label": "NEUTRAL"},
        {"score": 0.2, "label": "CONTRADICTION"},
        {"score": 0.1, "label": "ENTAILMENT"},
    ]


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def _answer(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        body = json.loads(self.rfile.read(length)) if length else None
        self.server.requests.append((self.path, body, dict(self.headers)))
        status, content = self.server.reply(self.path, body)
        time.sleep(self.server.delay_s if self.path != "/info" else 0)
        payload = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    do_GET = do_POST = _answer

    def log_message(self, *args: Any) -> None: ...


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def remote(server: Server) -> Iterator[RemoteModel]:
    model = RemoteModel(server.url + "/")
    yield model
    model.close()


def test_scores_are_put_in_the_order_of_labels(server: Server, remote: RemoteModel) -> None:
    scores = remote.scores([("Paris is big", "Paris"), ("Paris is big", "Rome")])
    np.testing.assert_allclose(scores, [[0.8, 0.15, 0.05], [0.1, 0.7, 0.2]], rtol=1e-6)
    path, body, _ = server.requests[-1]
    assert path == "/predict"
    assert body == {
        "inputs": [["Paris is big", "Paris"], ["Paris is big", "Rome"]],
        "raw_scores": False,
        "truncate": False,
    }


def test_the_server_says_what_it_is(remote: RemoteModel) -> None:
    assert isinstance(remote, NliModel)
    assert (remote.name, remote.version, remote.max_tokens) == ("some/nli", "1.7.0+abcdef01", 512)


def test_a_server_without_info_is_used_by_its_url(server: Server) -> None:
    server.info = (404, {"error": "nothing here"})
    model = RemoteModel(server.url)
    assert (model.name, model.max_tokens) == (server.url, 512)
    assert model.scores([("a", "a")]).argmax() == 0
    model.close()


def test_batches_respect_the_servers_limit_and_keep_their_order(server: Server, remote: RemoteModel) -> None:
    pairs = [(f"premise {n}", f"{n}" if n % 2 else "other") for n in range(11)]
    assert remote.scores(pairs).argmax(axis=1).tolist() == [n % 2 == 0 for n in range(11)]
    sizes = [len(body["inputs"]) for path, body, _ in server.requests if path == "/predict"]
    assert sorted(sizes) == [3, 4, 4]


def test_a_long_pair_is_sent_in_parts(server: Server, remote: RemoteModel) -> None:
    premise = "filler " * 2000 + "Paris"
    assert remote.scores([(premise, "Paris")]).argmax() == 0
    sent = [pair[0] for path, body, _ in server.requests if path == "/predict" for pair in body["inputs"]]
    assert len(sent) > 5
    assert all(part in premise for part in sent) and max(map(len, sent)) < len(premise)


def test_odd_text_can_be_sent(remote: RemoteModel) -> None:
    assert remote.scores([("\ud800 \x00 \u202e", "é")]).shape == (1, 3)
    assert remote.scores([]).shape == (0, 3)


@pytest.mark.parametrize(
    ("status", "is_retryable"),
    [(400, False), (401, False), (413, False), (422, False), (429, True), (500, True), (503, True)],
)
def test_an_error_status_says_whether_another_try_can_help(
    server: Server, remote: RemoteModel, status: int, is_retryable: bool
) -> None:
    server.replies = [(status, {"error": "model is overloaded"})] * 3
    with pytest.raises(NliError, match=f"answered status {status}.*overloaded") as caught:
        remote.scores([("a", "a")])
    assert caught.value.retryable is is_retryable


def test_a_busy_server_is_asked_once_more(server: Server, remote: RemoteModel) -> None:
    server.replies = [(429, {"error": "overloaded"})]
    assert remote.scores([("a", "a")]).argmax() == 0


PAIR = _entries("a", "a")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<html>", "no JSON"),
        ({"error": "x"}, "answered no list of 1, as many as pairs"),
        ([], "answered no list of 1, as many as pairs"),
        ([PAIR, PAIR], "answered no list of 1, as many as pairs"),
        (PAIR, "answered no list of 1, as many as pairs"),
        ([["ENTAILMENT"]], "answered no list of"),
        ([[{"score": "high", "label": "ENTAILMENT"}]], "answered no list of"),
        ([[{"score": 1.0, "label": "ENTAILMENT"}]], "expected exactly three"),
        ([[{"score": 0.3, "label": f"LABEL_{n}"} for n in range(3)]], "expected exactly three"),
        ([[{**entry, "score": 3.1} for entry in PAIR]], "no probabilities"),
        ([[{**entry, "score": float("nan")} for entry in PAIR]], "no probabilities"),
    ],
)
def test_an_answer_of_another_shape_is_an_error(
    server: Server, remote: RemoteModel, content: Any, message: str
) -> None:
    server.replies = [(200, content)]
    with pytest.raises(NliError, match=message):
        remote.scores([("a", "a")])


def test_a_slow_server_is_a_retryable_error(server: Server) -> None:
    model = RemoteModel(server.url, timeout_s=0.1)
    server.delay_s = 0.5
    with pytest.raises(NliError, match="did not answer: ReadTimeout") as caught:
        model.scores([("a", "a")])
    assert caught.value.retryable
    model.close()


def test_a_server_that_is_not_there_is_a_retryable_error(server: Server) -> None:
    server.server_close()
    with pytest.raises(NliError, match="did not answer") as caught:
        RemoteModel(server.url)
    assert caught.value.retryable


async def test_settings_lead_to_the_server(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NLI_KEY", "secret")
    service = NliService.from_settings(NliSettings(backend="remote", url=server.url, api_key_env="NLI_KEY"))
    assert (await service.scores([("a b", "a")])).argmax() == 0
    assert service.name == "some/nli"
    assert all(headers["Authorization"] == "Bearer secret" for _, _, headers in server.requests)


def test_a_key_that_is_not_set_is_named(server: Server) -> None:
    with pytest.raises(SettingsError, match="'NLI_KEY', which is not set"):
        RemoteModel.from_settings(NliSettings(backend="remote", url=server.url, api_key_env="NLI_KEY"))
