"""The pages over HTTP: sessions, roles, forms that only this service can have made, decisions, and its own files."""

from collections.abc import Callable

import httpx
import pytest
from commands import Run
from service_process import BAD, KEYED, KEYS, Service, submitted, until

from evidencerails.operations.review.queue import ReviewQueue

pytestmark = pytest.mark.slow

HOSTILE = "<script>alert(1)</script> {{ 7*7 }}"


def token_in(page: httpx.Response) -> str:
    return page.text.split('name="token" value="')[1].split('"')[0]


def decide(client: httpx.Client, review: str, **fields: str) -> httpx.Response:
    """Send the form of the review page."""
    token = token_in(client.get(f"/review/{review}"))
    return client.post(f"/review/{review}", data={"version": "1", "token": token, **fields})


def test_an_answer_is_checked_and_shown_with_its_claims(http: httpx.Client) -> None:
    form = {**BAD, "response": f"{BAD['response']} {HOSTILE}", "token": token_in(http.get("/"))}
    page = http.post("/", data=form)
    assert page.status_code == 200 and "Verdict" in page.text and "&lt;script&gt;" in page.text
    assert "<script>" not in page.text and ">49<" not in page.text
    empty = http.post("/", data={**form, "response": " "})
    assert empty.status_code == 422 and "give an answer to check" in empty.text
    file = {"file": ("picture.png", b"\x89PNG\xff\xfe")}
    assert "not UTF-8" in http.post("/", data=form, files=file).text


def test_history_and_report_show_texts_as_texts(http: httpx.Client) -> None:
    asked = f"{HOSTILE} At how many degrees does rhenium melt? " * 9
    body = {**BAD, "prompt": asked, "labels": {"flow": HOSTILE}}
    made = http.post("/v1/check", json=body).json()
    until(lambda: http.get(f"/v1/reports/{made['id']}").status_code == 200)
    for path in ("/history", f"/reports/{made['id']}", "/trends"):
        text = http.get(path).text
        assert "&lt;script&gt;" in text and "<script>" not in text
    rows = http.get("/history", params={"flow": HOSTILE}).text.split("<tbody>")[1]
    assert rows.count("<tr>") == 1 and BAD["response"] in rows and "…" in rows
    missing = http.get("/reports/none", headers={"accept": "text/html"})
    assert missing.status_code == 404 and "no report of this id" in missing.text


def test_a_reviewer_gives_a_name_once_and_approves_edits_and_rejects(service: Service, queue: ReviewQueue) -> None:
    with service.client() as client:
        for verdict, more in (
            ("approved", {"reviewer": "Ada Łovelace"}),
            ("edited", {"text": "New."}),
            ("rejected", {}),
        ):
            review = submitted(queue, f"Rhenium melts. {HOSTILE}")
            if verdict != "approved":
                assert 'value="Ada Łovelace"' in client.get(f"/review/{review}").text  # the form has it already
            done = decide(client, review, verdict=verdict, **{"reviewer": "Ada Łovelace", **more})
            assert (done.status_code, done.headers["location"]) == (303, f"/review?said={verdict}")
            found = queue.get(review)
            assert (found.item.state, found.item.reviewer, found.edited) == (verdict, "Ada Łovelace", more.get("text"))


def test_what_cannot_be_decided_is_said_and_what_was_typed_stays(service: Service, queue: ReviewQueue) -> None:
    review = submitted(queue, "Rhenium melts\r\nat 1200 degrees.")
    with service.client() as client:
        typed = {"verdict": "approved", "reviewer": "Ada", "text": "It melts at 3186 degrees.", "note": "see the table"}
        changed = decide(client, review, **typed)
        assert changed.status_code == 422 and "choose Edit" in changed.text
        assert all(f'value="{typed[name]}"' in changed.text for name in ("reviewer", "note"))
        assert queue.get(review).item.state == "pending"
        token = token_in(changed)
        queue.decide(review, "approved", reviewer="Grace")
        late = client.post(f"/review/{review}", data={**typed, "text": "", "version": "1", "token": token})
        assert late.status_code == 409 and "already approved by Grace" in late.text


@pytest.mark.parametrize("token", [None, "", "0" * 64, "of another session", "right, but sent by another site"])
def test_forged_review_actions_do_nothing(service: Service, queue: ReviewQueue, token: str | None) -> None:
    review = submitted(queue, "An answer.")
    fields, headers = {"verdict": "approved", "version": "1", "reviewer": "Mallory", "token": str(token)}, {}
    with service.client() as client, service.client() as other:
        own, foreign = (token_in(one.get(f"/review/{review}")) for one in (client, other))
        if token is None:
            del fields["token"]
        elif token == "of another session":
            fields["token"] = foreign
        elif token.startswith("right"):
            fields["token"], headers = own, {"sec-fetch-site": "cross-site", "origin": "https://evil.example"}
        assert client.post(f"/review/{review}", data=fields, headers=headers).status_code == 403
    assert queue.get(review).item.state == "pending"


def test_with_keys_pages_ask_for_one_and_obey_its_role(serve: Callable[..., Service]) -> None:
    running = serve({"service": KEYED, "store": {"url": "sqlite:///keyed.db"}})
    with running.client() as client:
        browser = {"accept": "text/html"}
        assert client.get("/", headers=browser).headers["location"] == "/login"
        assert "not known" in client.post("/login", data={"key": "gr_wrong"}).text
        logged_in = client.post("/login", data={"key": KEYS["review"]})
        cookie = logged_in.headers["set-cookie"].lower()
        assert logged_in.headers["location"] == "/" and "httponly" in cookie and "samesite=strict" in cookie
        page = client.get("/review", headers=browser)
        assert page.status_code == 200 and ">Check</a>" not in page.text
        assert client.get("/v1/history").status_code == 401  # the API takes no cookie
        assert client.post("/logout", data={"token": token_in(page)}).headers["location"] == "/login"
        assert client.get("/review", headers=browser).headers["location"] == "/login"
        client.post("/login", data={"key": KEYS["check"]})
        assert client.get("/history").status_code == client.get("/review").status_code == 403
        secure = client.post("/login", data={"key": KEYS["read"]}, headers={"x-forwarded-proto": "https"})
        assert "secure" in secure.headers["set-cookie"].lower()
    with running.client(cookies={"evidencerails_session": "cmVhZAo=.0000"}) as client:
        assert client.get("/history", headers=browser).headers["location"] == "/login"
    assert not any(key in running.log_text for key in KEYS.values())


@pytest.mark.parametrize(
    "path", ["/static/../../errors.py", "/static/%2e%2e%2fkeys.py", "/static/app.py", "/static//etc/passwd"]
)
def test_only_the_packages_own_assets_are_served(http: httpx.Client, path: str) -> None:
    assert http.get("/static/style.css").status_code == 200
    assert http.get(path).status_code == 404


def test_a_short_secret_of_sessions_stops_the_start(evidencerails: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVIDENCERAILS_SESSION_SECRET", "short")
    done = evidencerails("serve", "--port", "0")
    assert done.code == 2 and "has 5 characters; give at least 32" in done.err
