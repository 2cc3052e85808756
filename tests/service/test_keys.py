"""Who may do what, and that nothing else opens the door."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from commands import Run
from service_process import GOOD, KEYED, KEYS, Service, submitted

from evidencerails.operations.review.queue import ReviewQueue
from evidencerails.service.keys import find_key, hash_of, new_key
from evidencerails.settings.operations import ApiKey

SETTINGS = {"service": KEYED}


def as_role(role: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {KEYS[role]}"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("role", "allowed"),
    [
        ("check", {"check"}),
        ("read", {"history", "metrics"}),
        ("review", {"history", "metrics"}),
        ("admin", {"check", "history", "metrics"}),
    ],
)
def test_each_role_may_what_it_says(http: httpx.Client, role: str, allowed: set[str]) -> None:
    replies = {
        "check": http.post("/v1/check", json=GOOD, headers=as_role(role)),
        "history": http.get("/v1/history", headers=as_role(role)),
        "metrics": http.get("/metrics", headers=as_role(role)),
    }
    assert {name for name, reply in replies.items() if reply.status_code == 200} == allowed
    assert {reply.status_code for reply in replies.values()} <= {200, 403}


def test_a_released_text_is_fetched_by_whoever_may_check_or_review(http: httpx.Client, queue: ReviewQueue) -> None:
    review_id, other = submitted(queue, "Wrong."), submitted(queue, "Wrong.")
    path = f"/v1/reviews/{review_id}/released"

    def fetch(role: str) -> tuple[int, Any]:
        reply = http.get(path, headers=as_role(role))
        return reply.status_code, reply.json().get("error", {}).get("code", reply.json().get("text"))

    assert fetch("check") == (409, "review_pending")
    queue.decide(review_id, "edited", reviewer="ann", text="Right.")
    assert [fetch(role) for role in ("check", "review", "admin")] == [(200, "Right.")] * 3
    assert fetch("read") == (403, "forbidden")
    assert http.get(path).status_code == 401
    missing = http.get("/v1/reviews/ffff/released", headers=as_role("check"))
    assert (missing.status_code, missing.json()["error"]["code"]) == (404, "no_such_review")
    queue.decide(other, "rejected", reviewer="ann")
    reply = http.get(f"/v1/reviews/{other}/released", headers=as_role("check"))
    assert (reply.status_code, reply.json()["error"]["code"]) == (409, "review_rejected")


FORGED = {
    "none": {},
    "the hash": {"Authorization": f"Bearer {hash_of(KEYS['admin'])}"},
    "a prefix": {"Authorization": f"Bearer {KEYS['admin'][:-1]}"},
    "other scheme": {"Authorization": f"Basic {KEYS['admin']}"},
    "very long": {"Authorization": "Bearer " + "a" * 8000},
    "bytes": {"Authorization": b"Bearer \xff\xfe\x80"},
    "cookie": {"Cookie": f"session={KEYS['admin']}; evidencerails={KEYS['admin']}"},
}


@pytest.mark.parametrize("how", FORGED)
def test_forged_keys_are_refused(http: httpx.Client, how: str) -> None:
    reply = http.post("/v1/check", json=GOOD, headers=FORGED[how])  # type: ignore[arg-type]
    assert reply.status_code == 401
    assert reply.headers["www-authenticate"].startswith("Bearer")
    assert http.get("/v1/history?key=" + KEYS["admin"]).status_code == 401


def test_a_key_is_compared_as_a_whole_whichever_it_is() -> None:
    made = [new_key() for _ in range(3)]
    keys = [ApiKey(name=str(n), role="check", sha256=digest) for n, (_, digest) in enumerate(made)]
    assert [find_key(keys, key).name for key, _ in made] == ["0", "1", "2"]  # type: ignore[union-attr]
    assert find_key(keys, "gr_") is None
    assert len({key for key, _ in made}) == 3
    assert min(len(key) for key, _ in made) > 40


@pytest.mark.parametrize("name", ["", "x" * 65])
def test_a_new_key_needs_a_name(evidencerails: Run, name: str) -> None:
    done = evidencerails("serve", "--new-key", name)
    assert (done.code, done.out, len(done.err.splitlines())) == (2, "", 1)
    assert f"--new-key {name!r} should have at" in done.err


@pytest.mark.parametrize("text", ["", "[]", "# none yet\n"])
def test_a_file_without_keys_is_not_taken_for_no_file(evidencerails: Run, text: str) -> None:
    Path("keys.yml").write_text(text)
    settings = Path("s.yml")
    settings.write_text(yaml.safe_dump({"evidencerails": {"service": {"keys_file": "keys.yml"}}}))
    for options in (("--keys-file", "keys.yml"), ("--config", settings)):
        done = evidencerails("serve", "--port", "0", *options)
        assert (done.code, done.out) == (2, "") and "no API key in 'keys.yml'" in done.err


@pytest.mark.slow
def test_a_new_key_opens_the_service_and_stands_nowhere_else(
    tmp_path: Path, evidencerails: Run, serve: Callable[..., Service]
) -> None:
    key, entry = evidencerails("serve", "--new-key", "ci", "--role", "check").out.splitlines()
    (tmp_path / "keys.yml").write_text(entry, encoding="utf-8")
    assert key not in entry
    running = serve({"service": {"keys_file": str(tmp_path / "keys.yml")}})
    with running.client() as client:
        assert client.post("/v1/check", json=GOOD).status_code == 401
        assert client.post("/v1/check", json=GOOD, headers={"X-API-Key": key}).status_code == 200
    assert key not in running.log_text
    assert yaml.safe_load(entry)[0]["role"] == "check"


def test_two_keys_that_are_alike_stop_the_start(evidencerails: Run) -> None:
    key = {"name": "a", "role": "check", "sha256": "0" * 64}
    Path("s.yml").write_text(yaml.safe_dump({"evidencerails": {"service": {"keys": [key, key]}}}), encoding="utf-8")
    done = evidencerails("serve", "--config", "s.yml", "--port", "0")
    assert done.code == 2 and "two API keys" in done.err
