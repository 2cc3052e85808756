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
from evidencerails.operations.store.clock import SteadyClock
from evidencerails.operations.store.engine import reading
from evidencerails.settings.addresses import AddressError, checked_target, is_public
from evidencerails.settings.escalation import WebhookSettings
from evidencerails.settings.store import StoreSettings

SECRET = "whsec_" + base64.b64encode(b"s3cret" * 5).decode()


class Receiver:
    """A receiver of calls; it answers with the given status codes, the last one for ever."""

    def __init__(self, stub: Stub) -> None:
        self.answers = [200]
        self.url = stub.url
        self._stub = stub

    @property
    def calls(self) -> list[tuple[bytes, dict[str, str]]]:
        return [(request.body, request.headers) for request in self._stub.requests]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    def answer(_: Received) -> tuple[int, str]:
        return running.answers.pop(0) if len(running.answers) > 1 else running.answers[0], "/elsewhere"

    with serving(answer) as stub:
        running = Receiver(stub)
        yield running


@pytest.fixture
def passing() -> list[float]:
    """A clock that the test moves."""
    return [time.time()]


@pytest.fixture
def steady_store(sqlite_url: str, passing: list[float]) -> Iterator[Store]:
    clock = SteadyClock(wall=lambda: passing[0], monotonic=lambda: passing[0])
    with Store(StoreSettings(url=sqlite_url), clock=clock) as opened:
        yield opened


def notifier(store: Store, url: str, monkeypatch: pytest.MonkeyPatch, **more: Any) -> Notifier:
    monkeypatch.setenv("HOOK_SECRET", SECRET)
    return Notifier(store, WebhookSettings(url=url, secret_env="HOOK_SECRET", allow_private=True, **more))


def submit(store: Store) -> str:
    queue = ReviewQueue(store, notifies=True)
    package = package_of(report(), exchange())
    return queue.submit(package, tier="synchronous", risk=0.55, stakes="medium", within_s=60).id


def notices(store: Store) -> list[tuple[str, int, str | None]]:
    with reading(store.engine) as connection:
        rows = connection.exec_driver_sql("SELECT state, attempts, error FROM notices ORDER BY id")
        return [tuple(row) for row in rows]  # type: ignore[misc]


def test_a_call_is_signed_and_holds_no_text(
    steady_store: Store, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    review_id = submit(steady_store)
    assert notifier(steady_store, receiver.url + "/hook?x=1", monkeypatch).send_due() == ["sent"]
    ((body, headers),) = receiver.calls
    data = json.loads(body)
    assert (data["event"], data["id"], data["tier"], data["stakes"]) == (
        "review.submitted",
        review_id,
        "synchronous",
        "medium",
    )
    assert b"Rhenium" not in body and b"melts" not in body
    assert Webhook(SECRET).verify(body, headers) == data
    with pytest.raises(WebhookVerificationError):
        Webhook("b3RoZXI=").verify(body, headers)
    assert notices(steady_store) == [("sent", 1, None)]


@pytest.mark.parametrize(("secret", "reason"), [("", "is not set"), ("s3cret!", "is no secret")])
def test_a_secret_that_cannot_sign_is_a_settings_error(
    steady_store: Store, monkeypatch: pytest.MonkeyPatch, secret: str, reason: str
) -> None:
    monkeypatch.setenv("HOOK_SECRET", secret)
    with pytest.raises(SettingsError, match=reason):
        Notifier(steady_store, WebhookSettings(url="https://example.org", secret_env="HOOK_SECRET"))


def test_a_failed_call_is_made_again_with_growing_pauses(
    steady_store: Store, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, passing: list[float]
) -> None:
    receiver.answers = [500, 429, 200]
    submit(steady_store)
    sender = notifier(steady_store, receiver.url, monkeypatch)
    assert sender.send_due() == ["waiting"]
    assert sender.send_due() == []  # not yet
    assert notices(steady_store) == [("waiting", 1, "HTTP 500")]
    passing[0] += 1.3
    assert sender.send_due() == ["waiting"]
    passing[0] += 1.3
    assert sender.send_due() == []  # two seconds this time
    passing[0] += 1
    assert sender.send_due() == ["sent"]
    assert notices(steady_store) == [("sent", 3, None)]
    assert len({body for body, _ in receiver.calls}) == 1


def test_a_receiver_that_never_answers_well_is_given_up(
    steady_store: Store, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, passing: list[float]
) -> None:
    receiver.answers = [500]
    monkeypatch.setattr("evidencerails.operations.review.webhook.MAX_ATTEMPTS", 3)
    submit(steady_store)
    sender = notifier(steady_store, receiver.url, monkeypatch)
    outcomes = []
    for _ in range(4):
        outcomes.append(sender.send_due())
        passing[0] += 200
    assert outcomes == [["waiting"], ["waiting"], ["given_up"], []]
    assert notices(steady_store) == [("given_up", 3, "HTTP 500")]
    assert ReviewQueue(steady_store).items()[0].state == "pending"  # the review itself is still there


def test_a_redirect_is_not_followed(steady_store: Store, receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    receiver.answers = [307, 200]
    submit(steady_store)
    assert notifier(steady_store, receiver.url, monkeypatch).send_due() == ["waiting"]
    assert len(receiver.calls) == 1


def test_a_call_that_a_crash_interrupted_is_made_by_the_next_service(
    steady_store: Store, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, passing: list[float]
) -> None:
    submit(steady_store)
    dead, alive = (notifier(steady_store, receiver.url, monkeypatch) for _ in range(2))
    assert dead.take() is not None  # and then it dies
    assert alive.send_due() == []
    passing[0] += 120
    assert alive.send_due() == ["sent"]


def test_two_services_call_once(steady_store: Store, receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(10):
        submit(steady_store)
    senders = [notifier(steady_store, receiver.url, monkeypatch) for _ in range(2)]
    threads = [threading.Thread(target=sender.send_due) for sender in senders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(receiver.calls) == len({body for body, _ in receiver.calls}) == 10


def test_the_thread_sends_soon_after_it_is_woken(
    sqlite_url: str, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store(StoreSettings(url=sqlite_url)) as store:
        sender = notifier(store, receiver.url, monkeypatch)
        receiver.answers = [503, 200]
        submit(store)
        sender.wake()
        end = time.monotonic() + 10
        while len(receiver.calls) < 2 and time.monotonic() < end:
            time.sleep(0.05)
        sender.close()
        assert [state for state, _, _ in notices(store)] == ["sent"]


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1/",
        "https://localhost/",
        "https://10.1.2.3/",
        "https://169.254.169.254/latest/meta-data/",
        "https://100.64.0.1/",
        "https://0.0.0.0/",
        "https://[::1]/",
        "https://[::]/",
        "https://[fe80::1]/",
        "https://[fd00::1]/",
        "https://[::ffff:127.0.0.1]/",
        "https://[64:ff9b::7f00:1]/",
        "https://[2002:7f00:1::]/",
        "https://2130706433/",
        "https://0x7f.1/",
        "https://224.0.0.1/",
    ],
)
def test_an_address_that_is_not_public_is_refused(url: str) -> None:
    with pytest.raises(AddressError, match=r"not public|cannot be resolved"):
        checked_target(url, allow_private=False)


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


def test_a_private_receiver_gets_nothing_unless_allowed(
    steady_store: Store, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit(steady_store)
    monkeypatch.setenv("HOOK_SECRET", SECRET)
    port = receiver.url.rpartition(":")[2]
    strict = WebhookSettings(url=f"https://localhost:{port}/", secret_env="HOOK_SECRET")
    assert Notifier(steady_store, strict).send_due() == ["waiting"]
    assert receiver.calls == []
    assert "not public" in str(notices(steady_store)[0][2])
