"""Webhooks over real HTTP: signed, retried, to public addresses only, and never lost between queue and call."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from made import exchange, report
from standardwebhooks.webhooks import Webhook, WebhookVerificationError
from stub import Received, Stub, serving

from evidencerails.errors import SettingsError
from evidencerails.operations.review.package import package_of
from evidencerails.operations.review.queue import ReviewQueue
from evidencerails.operations.review.webhook import Notifier
from evidencerails.operations.store import Store
from evidencerails.operations.store.engine import reading
from evidencerails.settings.addresses import AddressError, checked_target, is_public
from evidencerails.settings.operations import StoreSettings, WebhookSettings

SECRET = "whsec_" + base64.b64encode(b"s3cret" * 5).decode()


class Receiver:
    """A receiver of calls; it answers with the given status codes, the last one for ever."""

    def __init__(self, stub: Stub, answers: list[int]) -> None:
        self.answers, self.url, self._stub = answers, stub.url, stub

    @property
    def bodies(self) -> list[bytes]:
        return [request.body for request in self._stub.requests]

    @property
    def headers(self) -> dict[str, str]:
        return self._stub.requests[-1].headers


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    answers = [200]

    def answer(_: Received) -> tuple[int, str]:
        return answers.pop(0) if len(answers) > 1 else answers[0], "/elsewhere"

    with serving(answer) as stub:
        yield Receiver(stub, answers)


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK_SECRET", SECRET)


def notifier(store: Store, url: str, allow_private: bool = True) -> Notifier:
    return Notifier(store, WebhookSettings(url=url, secret_env="HOOK_SECRET", allow_private=allow_private))


def submit(store: Store) -> str:
    package = package_of(report(), exchange())
    queue = ReviewQueue(store, notifies=True)
    return queue.submit(package, tier="synchronous", risk=0.55, stakes="medium", within_s=60).id


def notices(store: Store) -> list[tuple[Any, ...]]:
    """State, attempts and error of each notice."""
    with reading(store.engine) as connection:
        rows = connection.exec_driver_sql("SELECT state, attempts, error FROM notices ORDER BY id")
        return [tuple(row) for row in rows]


def test_a_call_is_signed_and_holds_no_text(store: Store, receiver: Receiver) -> None:
    review_id = submit(store)
    assert notifier(store, receiver.url + "/hook?x=1").send_due() == ["sent"]
    (body,) = receiver.bodies
    data = json.loads(body)
    expected = {"event": "review.submitted", "id": review_id, "tier": "synchronous", "stakes": "medium"}
    assert {name: data[name] for name in expected} == expected
    assert b"Rhenium" not in body and b"melts" not in body
    assert Webhook(SECRET).verify(body, receiver.headers) == data
    with pytest.raises(WebhookVerificationError):
        Webhook("b3RoZXI=").verify(body, receiver.headers)
    assert notices(store) == [("sent", 1, None)]


@pytest.mark.parametrize(("secret", "reason"), [("", "is not set"), ("s3cret!", "is no secret")])
def test_a_secret_that_cannot_sign_is_a_settings_error(
    store: Store, monkeypatch: pytest.MonkeyPatch, secret: str, reason: str
) -> None:
    monkeypatch.setenv("HOOK_SECRET", secret)
    with pytest.raises(SettingsError, match=reason):
        notifier(store, "https://example.org")


def test_a_failed_call_is_made_again_with_growing_pauses(
    store: Store, receiver: Receiver, passing: list[float]
) -> None:
    receiver.answers[:] = [500, 429, 200]
    submit(store)
    sender = notifier(store, receiver.url)
    assert sender.send_due() == ["waiting"]
    assert sender.send_due() == []  # not yet
    assert notices(store) == [("waiting", 1, "HTTP 500")]
    passing[0] += 1.3
    assert sender.send_due() == ["waiting"]
    passing[0] += 1.3
    assert sender.send_due() == []  # two seconds this time
    passing[0] += 1
    assert sender.send_due() == ["sent"]
    assert notices(store) == [("sent", 3, None)] and len(set(receiver.bodies)) == 1


def test_a_receiver_that_never_answers_well_is_given_up(
    store: Store, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, passing: list[float]
) -> None:
    receiver.answers[:] = [500]
    monkeypatch.setattr("evidencerails.operations.review.webhook.MAX_ATTEMPTS", 3)
    submit(store)
    sender, outcomes = notifier(store, receiver.url), []
    for _ in range(4):
        outcomes.append(sender.send_due())
        passing[0] += 200
    assert outcomes == [["waiting"], ["waiting"], ["given_up"], []]
    assert notices(store) == [("given_up", 3, "HTTP 500")]
    assert ReviewQueue(store).items()[0].state == "pending"  # the review itself is still there


def test_a_redirect_is_not_followed(store: Store, receiver: Receiver) -> None:
    receiver.answers[:] = [307, 200]
    submit(store)
    assert notifier(store, receiver.url).send_due() == ["waiting"]
    assert len(receiver.bodies) == 1


def test_a_call_that_a_crash_interrupted_is_made_by_the_next_service(
    store: Store, receiver: Receiver, passing: list[float]
) -> None:
    submit(store)
    dead, alive = (notifier(store, receiver.url) for _ in range(2))
    assert dead.take() is not None  # and then it dies
    assert alive.send_due() == []
    passing[0] += 120
    assert alive.send_due() == ["sent"]


def test_two_services_call_once(store: Store, receiver: Receiver) -> None:
    for _ in range(10):
        submit(store)
    threads = [threading.Thread(target=notifier(store, receiver.url).send_due) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(receiver.bodies) == len(set(receiver.bodies)) == 10


def test_the_thread_sends_soon_after_it_is_woken(sqlite_url: str, receiver: Receiver) -> None:
    with Store(StoreSettings(url=sqlite_url)) as store:
        sender = notifier(store, receiver.url)
        receiver.answers[:] = [503, 200]
        submit(store)
        sender.wake()
        end = time.monotonic() + 10
        while len(receiver.bodies) < 2 and time.monotonic() < end:
            time.sleep(0.05)
        sender.close()
        assert [state for state, _, _ in notices(store)] == ["sent"]


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


def test_a_private_receiver_gets_nothing_unless_allowed(store: Store, receiver: Receiver) -> None:
    submit(store)
    port = receiver.url.rpartition(":")[2]
    assert notifier(store, f"https://localhost:{port}/", allow_private=False).send_due() == ["waiting"]
    assert receiver.bodies == [] and "not public" in str(notices(store)[0][2])
