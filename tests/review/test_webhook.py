"""Webhooks over real HTTP: signed, retried, to public addresses only."""

import asyncio
import base64
import json
import time
from collections.abc import Iterator

import pytest
from made import exchange, report
from standardwebhooks.webhooks import Webhook, WebhookVerificationError
from stub import Received, Stub, serving

from evidencerails import Guard
from evidencerails.config import GuardConfig
from evidencerails.errors import SettingsError
from evidencerails.operations.monitoring.alerts import Condition, notify
from evidencerails.operations.review.desk import ReviewDesk
from evidencerails.operations.review.webhook import Notifier
from evidencerails.operations.store import Store
from evidencerails.settings.addresses import AddressError, checked_target, is_public
from evidencerails.settings.operations import AlertSettings, WebhookSettings

pytestmark = pytest.mark.slow

SECRET = "whsec_" + base64.b64encode(b"s3cret" * 5).decode()


class Receiver:
    """A receiver of calls; it answers with the given status codes, the last one for ever."""

    def __init__(self, stub: Stub, answers: list[int]) -> None:
        self.answers, self.url, self._stub = answers, stub.url, stub

    @property
    def bodies(self) -> list[bytes]:
        return [request.body for request in self._stub.requests]

    @property
    def headers(self) -> list[dict[str, str]]:
        return [request.headers for request in self._stub.requests]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    answers = [200]

    def answer(_: Received) -> tuple[int, str]:
        return answers.pop(0) if len(answers) > 1 else answers[0], "/elsewhere"

    with serving(answer) as stub:
        yield Receiver(stub, answers)


@pytest.fixture(autouse=True)
def _a_secret_and_short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK_SECRET", SECRET)
    monkeypatch.setattr("evidencerails.operations.review.webhook.FIRST_PAUSE_S", 0.01)


def notifier(url: str, allow_private: bool = True) -> Notifier:
    return Notifier(WebhookSettings(url=url, secret_env="HOOK_SECRET", allow_private=allow_private))


def test_a_new_review_calls_the_webhook_signed_and_without_text(sqlite_url: str, receiver: Receiver) -> None:
    webhook = {"url": receiver.url + "/hook?x=1", "secret_env": "HOOK_SECRET", "allow_private": True}
    desk = ReviewDesk(GuardConfig.load({"store": {"url": sqlite_url}, "escalation": {"webhook": webhook}}))
    item = asyncio.run(desk.submit(report(), exchange(), "synchronous", 0.55))
    end = time.monotonic() + 10
    while not receiver.bodies and time.monotonic() < end:
        time.sleep(0.02)
    desk.close()
    (body,) = receiver.bodies
    data = json.loads(body)
    expected = {"event": "review.submitted", "id": item.id, "tier": "synchronous", "stakes": item.stakes}
    assert {name: data[name] for name in expected} == expected
    assert b"Rhenium" not in body and b"melts" not in body
    assert Webhook(SECRET).verify(body, *receiver.headers) == data
    with pytest.raises(WebhookVerificationError):
        Webhook("b3RoZXI=").verify(body, *receiver.headers)


@pytest.mark.parametrize(("secret", "reason"), [("", "is not set"), ("s3cret!", "is no secret")])
def test_a_secret_that_cannot_sign_stops_the_guard(monkeypatch: pytest.MonkeyPatch, secret: str, reason: str) -> None:
    monkeypatch.setenv("HOOK_SECRET", secret)
    with pytest.raises(SettingsError, match=reason):
        Guard({"escalation": {"webhook": {"url": "https://example.com/", "secret_env": "HOOK_SECRET"}}})


@pytest.mark.parametrize(
    ("answers", "attempts", "calls", "said"),
    [
        ([500, 429, 200], 8, 3, ""),
        ([500], 3, 3, "given up after 3 tries: HTTP 500"),
        ([307, 200], 1, 1, "given up after 1 tries: HTTP 307"),  # a redirect is not followed
    ],
)
def test_a_failed_call_is_made_again_with_the_same_id_until_it_is_given_up(
    receiver: Receiver, caplog: pytest.LogCaptureFixture, answers: list[int], attempts: int, calls: int, said: str
) -> None:
    receiver.answers[:] = answers
    assert notifier(receiver.url).send({"event": "x"}, attempts=attempts) == (not said)
    assert len(receiver.bodies) == calls and len(set(receiver.bodies)) == 1
    assert len({headers["webhook-id"] for headers in receiver.headers}) == 1
    assert said in caplog.text


def test_a_closed_notifier_tries_no_more(receiver: Receiver) -> None:
    receiver.answers[:] = [500]
    sender = notifier(receiver.url)
    sender.close()
    assert not sender.send({"event": "x"})
    assert len(receiver.bodies) == 1


def test_an_alert_that_the_receiver_did_not_get_is_sent_at_the_next_look(store: Store, receiver: Receiver) -> None:
    webhook = {"url": receiver.url, "secret_env": "HOOK_SECRET", "allow_private": True}
    settings = AlertSettings.model_validate({"webhook": webhook})
    wrong = [Condition("shift", "it has risen", {"worst": ["r1"]})]
    receiver.answers[:] = [500]
    assert [one.event for one in notify(store, wrong, settings)] == ["opened"]
    receiver.answers[:] = [200]
    assert [one.event for one in notify(store, wrong, settings)] == ["repeated"]
    assert notify(store, wrong, settings) == []
    last = json.loads(receiver.bodies[-1])
    assert (last["event"], last["alert"], last["message"]) == ("alert.repeated", "shift", "it has risen")
    assert last["worst"] == ["r1"]


NOT_PUBLIC = [
    "127.0.0.1", "localhost", "10.1.2.3", "169.254.169.254/latest/meta-data", "100.64.0.1", "0.0.0.0", "[::1]", "[::]",
    "[fe80::1]", "[fd00::1]", "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "2130706433", "0x7f.1",
    "224.0.0.1",
]  # fmt: skip


@pytest.mark.parametrize("place", NOT_PUBLIC)
def test_an_address_that_is_not_public_is_refused(place: str) -> None:
    with pytest.raises(AddressError, match=r"not public|cannot be resolved"):
        checked_target(f"https://{place}/", allow_private=False)


@pytest.mark.parametrize("url", ["https://", "https:///x", "ftp://93.184.215.14/", "https://user@93.184.215.14/"])
def test_a_url_without_a_plain_host_is_refused(url: str) -> None:
    with pytest.raises(AddressError):
        checked_target(url, allow_private=True)


def test_the_call_goes_to_the_address_that_was_checked() -> None:
    assert is_public("93.184.215.14") and is_public("2606:2800:21f:cb07:6820:80da:af6b:8b2c")
    target = checked_target("https://93.184.215.14:8443/a?b=c", allow_private=False)
    assert str(target.url) == "https://93.184.215.14:8443/a?b=c" and target.headers == {"Host": "93.184.215.14:8443"}
    target = checked_target("http://localhost:81/x", allow_private=True)
    assert target.headers == {"Host": "localhost:81"}
    assert str(target.url) in ("http://127.0.0.1:81/x", "http://[::1]:81/x")


def test_a_private_receiver_gets_nothing_unless_allowed(receiver: Receiver, caplog: pytest.LogCaptureFixture) -> None:
    port = receiver.url.rpartition(":")[2]
    assert not notifier(f"https://localhost:{port}/", allow_private=False).send({"event": "x"}, attempts=1)
    assert receiver.bodies == [] and "not public" in caplog.text
