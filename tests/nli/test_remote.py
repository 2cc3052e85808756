"""The remote backend against a real HTTP server on loopback that speaks text-embeddings-inference's `/predict`."""

import json
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from stub import Received, Stub, serving

from evidencerails.errors import NliError, SettingsError
from evidencerails.nli.base import NliModel
from evidencerails.nli.remote import RemoteModel
from evidencerails.nli.service import NliService
from evidencerails.settings.llm import NliSettings

INFO = {
    "model_id": "some/nli", "model_sha": "abcdef0123", "version": "1.7.0", "max_input_length": 512,
    "max_client_batch_size": 4,
}  # fmt: skip


class Server:
    """What text-embeddings-inference answers, unless `replies` holds something else."""

    def __init__(self) -> None:
        self.info: tuple[int, Any] = (200, INFO)
        self.replies: list[tuple[int, Any]] = []
        self.delay_s = 0.0

    def __call__(self, request: Received) -> tuple[int, str]:
        if request.path == "/info":
            status, content = self.info
        elif self.replies:
            status, content = self.replies.pop(0)
        else:
            status, content = 200, [_entries(*pair) for pair in json.loads(request.body)["inputs"]]
        time.sleep(self.delay_s if request.path != "/info" else 0)
        return status, content if isinstance(content, str) else json.dumps(content)

    def serve(self, stub: Stub) -> None:
        self.url, self.requests = stub.url, stub.requests

    @property
    def asked(self) -> list[dict[str, Any]]:
        """The bodies of the requests for scores."""
        return [json.loads(request.body) for request in self.requests if request.path == "/predict"]


def _entries(premise: str, hypothesis: str) -> list[dict[str, Any]]:
    """As the server does: sorted by score, with the model's own names."""
    is_in = hypothesis in premise
    scores = {"ENTAILMENT": 0.8, "NEUTRAL": 0.15, "CONTRADICTION": 0.05}
    scores = scores if is_in else {"NEUTRAL": 0.7, "CONTRADICTION": 0.2, "ENTAILMENT": 0.1}
    return [{"score": score, "label": label} for label, score in scores.items()]


@pytest.fixture
def server() -> Iterator[Server]:
    answers = Server()
    with serving(answers) as stub:
        answers.serve(stub)
        yield answers


@pytest.fixture
def remote(server: Server) -> Iterator[RemoteModel]:
    model = RemoteModel(server.url + "/")
    yield model
    model.close()


def test_scores_are_put_in_the_order_of_labels(server: Server, remote: RemoteModel) -> None:
    scores = remote.scores([("Paris is big", "Paris"), ("Paris is big", "Rome")])
    np.testing.assert_allclose(scores, [[0.8, 0.15, 0.05], [0.1, 0.7, 0.2]], rtol=1e-6)
    inputs = [["Paris is big", "Paris"], ["Paris is big", "Rome"]]
    assert server.asked == [{"inputs": inputs, "raw_scores": False, "truncate": False}]


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
    assert sorted(len(body["inputs"]) for body in server.asked) == [3, 4, 4]


def test_a_long_pair_is_sent_in_parts(server: Server, remote: RemoteModel) -> None:
    premise = "filler " * 2000 + "Paris"
    assert remote.scores([(premise, "Paris")]).argmax() == 0
    sent = [pair[0] for body in server.asked for pair in body["inputs"]]
    assert len(sent) > 5
    assert all(part in premise for part in sent) and max(map(len, sent)) < len(premise)


@pytest.mark.slow
def test_odd_text_can_be_sent(remote: RemoteModel) -> None:
    assert remote.scores([("\ud800 \x00 \u202e", "é")]).shape == (1, 3)
    assert remote.scores([]).shape == (0, 3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "is_retryable"),
    [(400, False), (413, False), (429, True), (500, True)],
)
def test_an_error_status_says_whether_another_try_can_help(
    server: Server, remote: RemoteModel, status: int, is_retryable: bool
) -> None:
    server.replies = [(status, {"error": "model is overloaded"})] * 3
    with pytest.raises(NliError, match=f"answered status {status}.*overloaded") as caught:
        remote.scores([("a", "a")])
    assert caught.value.retryable is is_retryable


@pytest.mark.slow
def test_a_busy_server_is_asked_once_more(server: Server, remote: RemoteModel) -> None:
    server.replies = [(429, {"error": "overloaded"})]
    assert remote.scores([("a", "a")]).argmax() == 0


PAIR = _entries("a", "a")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<html>", "no JSON"),
        ({"error": "x"}, "answered no list of 1, as many as pairs"),
        ([PAIR, PAIR], "answered no list of 1, as many as pairs"),
        ([[{"score": "high", "label": "ENTAILMENT"}]], "answered no list of"),
        ([[{"score": 1.0, "label": "ENTAILMENT"}]], "expected exactly three"),
        ([[{"score": 0.3, "label": f"LABEL_{n}"} for n in range(3)]], "expected exactly three"),
        ([[{**entry, "score": 3.1} for entry in PAIR]], "no probabilities"),
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


@pytest.mark.slow
def test_a_server_that_is_not_there_is_a_retryable_error() -> None:
    with serving(Server()) as gone:
        pass
    with pytest.raises(NliError, match="did not answer") as caught:
        RemoteModel(gone.url)
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
