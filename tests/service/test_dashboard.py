"""The dashboard in a real browser: texts stay texts, nothing comes from elsewhere, keyboard and readers can use it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from extras import needs
from service_process import BAD, FACT, GOOD, Service

from evidencerails.service.keys import hash_of
from evidencerails.settings.store import StoreSettings

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
playwright = needs("playwright.sync_api")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine: apt-get install chromium"),
]

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{ 7*7 }} {% include '/etc/passwd' %}",
    "</textarea><svg onload=alert(1)>",
    "\u202egnp.exe",
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


class Seen:
    """A page, and what it did that it should not."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.dialogs: list[str] = []
        self.errors: list[str] = []
        self.hosts: set[str] = set()
        page.on("dialog", lambda dialog: (self.dialogs.append(dialog.message), dialog.dismiss()))
        page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self.hosts.add(httpx.URL(request.url).netloc.decode()))

    def require_clean(self, service: Service) -> None:
        assert self.dialogs == []
        assert [text for text in self.errors if "Content Security Policy" in text] == []
        assert self.hosts <= {httpx.URL(service.url).netloc.decode()}


@pytest.fixture
def seen(browser: Any) -> Iterator[Seen]:
    context = browser.new_context(viewport={"width": 1100, "height": 900})
    context.set_default_timeout(15_000)
    yield Seen(context.new_page())
    context.close()


def check(page: Any, service: Service, response: str, evidence: str) -> None:
    page.goto(service.url)
    page.get_by_label("Answer", exact=True).fill(response)
    page.get_by_label("Evidence: what the answer must agree with").fill(evidence)
    page.get_by_role("button", name="Check").click()


def test_an_answer_is_checked_marked_and_explained(seen: Seen, service: Service) -> None:
    page = seen.page
    check(page, service, BAD["response"], FACT)
    assert page.get_by_role("heading", name="Verdict: hallucinated").is_visible()
    assert "1200" in page.locator("mark").first.inner_text()
    page.locator("mark a").first.click()
    assert page.locator("details.claim blockquote").first.inner_text().startswith("Rhenium melts at 3186")
    seen.require_clean(service)


def test_evidence_can_come_from_a_file(seen: Seen, service: Service, tmp_path: Path) -> None:
    (tmp_path / "facts.txt").write_text(FACT, encoding="utf-8")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\xff\xfe")
    page = seen.page
    page.goto(service.url)
    page.get_by_label("Answer", exact=True).fill(GOOD["response"])
    page.get_by_label("Evidence from a text file").set_input_files(tmp_path / "facts.txt")
    page.get_by_role("button", name="Check").click()
    assert page.get_by_role("heading", name="Verdict: grounded").is_visible()
    page.get_by_label("Evidence from a text file").set_input_files(tmp_path / "picture.png")
    page.get_by_role("button", name="Check").click()
    assert "not UTF-8" in page.get_by_role("alert").inner_text()


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_answers_and_evidence_stay_texts(seen: Seen, service: Service, text: str) -> None:
    page = seen.page
    check(page, service, f"Rhenium melts at 1200 degrees {text}.", f"{FACT} {text}")
    page.locator(".answer").wait_for()
    page.evaluate("document.querySelectorAll('.answer .tag').forEach(e => e.remove())")
    shown = page.locator(".answer").inner_text()
    assert ("\\u202e" if "\u202e" in text else text) in shown
    assert "49" not in shown and "root:" not in page.content()
    assert page.locator(".answer script, .answer img, .answer svg").count() == 0
    seen.require_clean(service)


def test_hostile_ids_labels_and_questions_stay_texts_in_history_and_report(seen: Seen, service: Service) -> None:
    with service.client() as client:
        body = {
            **BAD,
            "evidence": [{"id": HOSTILE[1], "text": FACT, "source": HOSTILE[0]}],
            "prompt": HOSTILE[4],
            "labels": {"flow": HOSTILE[0], "agent": HOSTILE[1], "model": HOSTILE[2]},
        }
        made = client.post("/v1/check", json=body).json()
    time.sleep(1)
    page = seen.page
    for path in ("/history", f"/reports/{made['id']}", "/trends"):
        page.goto(service.url + path)
        assert "<script>alert(1)</script>" in page.inner_text("body")
        assert page.locator("main script, main img").count() == 0
    page.goto(service.url + "/history")
    page.get_by_label("Flow").fill(HOSTILE[0])
    page.get_by_role("button", name="Filter").click()
    assert page.locator("tbody tr").count() == 1
    seen.require_clean(service)


def test_it_can_be_used_by_keyboard_alone(seen: Seen, service: Service) -> None:
    page = seen.page
    page.goto(service.url)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "response"
    page.keyboard.type(BAD["response"])
    page.keyboard.press("Tab")
    page.keyboard.type(FACT)
    for _ in range(3):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Verdict: hallucinated").wait_for()


def test_readers_find_names_headings_and_landmarks(seen: Seen, service: Service) -> None:
    page = seen.page
    for path in ("/", "/history", "/trends", "/review"):
        page.goto(service.url + path)
        assert page.locator("h1").count() == 1
        assert page.locator("main").count() == page.locator("html[lang=en]").count() == 1
        nameless = page.evaluate(
            "[...document.querySelectorAll('input:not([type=hidden]),textarea,select')]"
            ".filter(e => !e.labels.length && !e.ariaLabel).length"
        )
        assert nameless == 0
        assert page.locator("nav [aria-current]").count() >= 1
        assert page.locator("th:not([scope])").count() == 0


def contrast(page: Any, selector: str, of: str = "color") -> float:
    """WCAG 2 contrast of an element's text with the page behind it."""
    return float(
        page.evaluate(
            """([selector, of]) => {
            const light = (css) => { const [r, g, b] = css.match(/[0-9.]+/g).slice(0, 3).map((v) => v / 255)
              .map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
              return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
            const text = light(getComputedStyle(document.querySelector(selector))[of]);
            const back = light(getComputedStyle(document.body).backgroundColor);
            return (Math.max(text, back) + 0.05) / (Math.min(text, back) + 0.05); }""",
            [selector, of],
        )
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_are_readable(seen: Seen, service: Service, scheme: str, repository: Path) -> None:
    page = seen.page
    page.emulate_media(color_scheme=scheme)
    check(page, service, BAD["response"] + " It was discovered in 1925.", FACT)
    page.locator("mark").first.wait_for()
    for selector in ("h1", ".hallucinated", ".dim", "a", ".label"):
        assert contrast(page, selector) >= 4.5, selector
    while not page.locator("svg").count():  # the store writes behind the answers
        page.goto(service.url + "/trends?days=1")
    for selector in ("svg .role-axis-label text", "svg .role-axis-title text", "svg .role-legend-label text"):
        assert contrast(page, selector, "fill") >= 4.5, selector
    assert contrast(page, "svg .mark-rect.role-mark path", "fill") >= 3  # WCAG 2.1, 1.4.11: graphics


def submit_review(folder: Path, output: str, **more: Any) -> str:
    from evidencerails.operations.review.package import Package
    from evidencerails.operations.review.queue import ReviewQueue
    from evidencerails.operations.store.store import Store

    with Store(StoreSettings(url=f"sqlite:///{folder}/reports.db")) as store:
        context = {"question": "Where?", "response": output}
        package = Package(output=output, status="hallucinated", reason="1 contradicted", context=context, **more)
        return ReviewQueue(store).submit(package, tier="expert", risk=0.9, stakes="high", within_s=3600).id


@pytest.fixture
def folder(service: Service) -> Path:
    return service.log.parent


def decide(page: Any, verdict: str, **typed: str) -> None:
    form = page.get_by_role("form", name="Decision")
    form.get_by_label(verdict).check()
    for label, text in typed.items():
        form.get_by_label(label.replace("_", " ")).fill(text)
    form.get_by_role("button", name="Decide").click()


def test_a_reviewer_gives_a_name_once_and_approves_edits_and_rejects(
    seen: Seen, service: Service, folder: Path
) -> None:
    page = seen.page
    for number, verdict in enumerate(("Approve", "Edit", "Reject")):
        review = submit_review(folder, f"Rhenium melts at 1200 degrees. {HOSTILE[0]}")
        page.goto(f"{service.url}/review/{review}")
        assert page.get_by_label("Your name").count() == 1
        typed = {"Your_name": "Ada Łovelace"} if number == 0 else {}
        decide(page, verdict, **typed, **({"New_text": "Rhenium melts at 3186 degrees."} if verdict == "Edit" else {}))
        page.get_by_role("status").wait_for(state="visible", timeout=10_000)
        page.goto(f"{service.url}/review/{review}")
        assert "by Ada Łovelace" in page.inner_text("main")
        assert ("Rhenium melts at 3186 degrees." in page.inner_text("main")) is (verdict == "Edit")
    seen.require_clean(service)


def test_a_changed_text_is_not_lost_by_an_approval(seen: Seen, service: Service, folder: Path) -> None:
    page = seen.page
    review = submit_review(folder, "Rhenium melts\r\nat 1200 degrees.")
    page.goto(f"{service.url}/review/{review}")
    decide(page, "Approve", Your_name="Ada", New_text="Rhenium melts at 3186 degrees.", Note="see the table")
    assert "choose Edit" in page.get_by_role("alert").inner_text()
    form = page.get_by_role("form", name="Decision")
    assert form.get_by_label("New text").input_value() == "Rhenium melts at 3186 degrees."
    assert (form.get_by_label("Note").input_value(), form.get_by_label("Your name").input_value()) == (
        "see the table",
        "Ada",
    )
    assert "pending" in page.inner_text("h1")
    page.goto(page.url)
    decide(page, "Approve", Your_name="Ada")
    page.get_by_role("status").wait_for()


def test_the_review_page_marks_the_words_in_the_answer(seen: Seen, service: Service, folder: Path) -> None:
    from evidencerails.report import Claim, Finding, Quote, Span

    answer = "Rhenium is a metal. Rhenium melts at 1200 degrees [7]."
    said, cited = (Span.of(answer, answer.index(text), answer.index(text) + len(text)) for text in (answer[20:], "[7]"))
    quote = Quote(passage_id="1", span=Span(start=0, end=29, text="Rhenium melts at 3186 degrees"), score=0.9)
    claim = Claim(text=said.text, span=said, label="contradicted", score=0.9, evidence=(quote,))
    finding = Finding(kind="citation_violation", category="structural", severity="high", origin="extrinsic", span=cited,
                      reason="there is no source 7", score=0.9, check="citations", version="1")  # fmt: skip
    review = submit_review(folder, answer, flagged_claims=(claim,), findings=(finding,))
    page = seen.page
    page.goto(f"{service.url}/review/{review}")
    page.evaluate("document.querySelectorAll('.answer .tag').forEach(e => e.remove())")
    assert page.locator(".answer mark").all_inner_texts() == ["1200", "[7]"]
    assert page.locator(".answer").first.inner_text() == answer
    assert "there is no source 7" in page.inner_text("main")


def test_the_history_shows_question_and_answer(seen: Seen, service: Service) -> None:
    with service.client() as client:
        asked = "At how many degrees does rhenium melt? " * 9 + HOSTILE[0]
        made = client.post("/v1/check", json={**BAD, "prompt": asked, "labels": {"flow": "shown"}}).json()
        while client.get(f"/v1/reports/{made['id']}").status_code == 404:
            time.sleep(0.1)  # the store writes behind the answers
    page = seen.page
    page.goto(service.url + "/history?flow=shown")
    row = page.locator("tbody tr").inner_text()
    assert BAD["response"] in row and "At how many degrees" in row and "…" in row and len(row) < 500
    seen.require_clean(service)


def test_of_two_reviewers_one_learns_that_it_is_too_late(browser: Any, service: Service, folder: Path) -> None:
    review = submit_review(folder, "Rhenium melts at 1200 degrees.")
    pages = [browser.new_context().new_page() for _ in range(2)]
    for page in pages:
        page.goto(f"{service.url}/review/{review}")
    for page, name in zip(pages, ("Ada", "Grace"), strict=True):
        decide(page, "Approve", Your_name=name)
    assert "already approved by Ada" in pages[1].get_by_role("alert").inner_text()


def forms(service: Service, folder: Path) -> Iterator[tuple[str, dict[str, str], dict[str, str]]]:
    review = submit_review(folder, "An answer.")
    fields = {"verdict": "approved", "version": "1", "reviewer": "Mallory"}
    with service.client() as other:
        other.get("/review")
        foreign = other.get(f"/review/{review}").text.split('name="token" value="')[1].split('"')[0]
    yield review, fields, {}
    yield review, {**fields, "token": ""}, {}
    yield review, {**fields, "token": "0" * 64}, {}
    yield review, {**fields, "token": foreign}, {}
    yield review, {**fields, "token": "right"}, {"sec-fetch-site": "cross-site", "origin": "https://evil.example"}


def test_forged_review_actions_do_nothing(service: Service, folder: Path) -> None:
    for review, fields, headers in forms(service, folder):
        with service.client() as client:
            page = client.get(f"/review/{review}").text
            if fields.get("token") == "right":
                fields = {**fields, "token": page.split('name="token" value="')[1].split('"')[0]}
            reply = client.post(f"/review/{review}", data=fields, headers=headers)
            assert reply.status_code == 403
            assert "pending" in client.get(f"/review/{review}").text


def test_with_keys_pages_ask_for_one_and_obey_its_role(seen: Seen, serve: Callable[..., Service]) -> None:
    keys = {role: f"gr_dashboard-{role}" for role in ("check", "read", "review", "admin")}
    entries = [{"name": role, "role": role, "sha256": hash_of(key)} for role, key in keys.items()]
    running = serve({"service": {"keys": entries}, "store": {"url": "sqlite:///keyed.db"}})
    page = seen.page
    page.goto(running.url)
    assert page.url.endswith("/login")
    page.get_by_label("API key").fill("gr_wrong")
    page.get_by_role("button", name="Log in").click()
    assert "not known" in page.get_by_role("alert").inner_text()
    page.get_by_label("API key").fill(keys["review"])
    page.get_by_role("button", name="Log in").click()
    page.goto(running.url + "/review")
    assert page.get_by_role("heading", name="Review").is_visible()
    assert page.locator("nav").get_by_text("Check").count() == 0
    with running.client() as client:
        client.post("/login", data={"key": keys["check"]})
        assert client.get("/history").status_code == client.get("/review").status_code == 403
        assert client.get("/v1/history").status_code == 401  # the API takes no cookie
    page.get_by_role("button", name="Log out").click()
    assert page.url.endswith("/login")
    with running.client(cookies={"evidencerails_session": "cmVhZAo=.0000"}) as client:
        assert client.get("/history").headers["location"] == "/login"
    assert not any(key in running.log.read_text(encoding="utf-8") for key in keys.values())


@pytest.mark.parametrize(
    "path", ["/static/../../errors.py", "/static/%2e%2e%2fkeys.py", "/static/app.py", "/static//etc/passwd"]
)
def test_only_the_packages_own_assets_are_served(service: Service, path: str) -> None:
    with service.client() as client:
        assert client.get("/static/style.css").status_code == 200
        assert client.get(path).status_code == 404
