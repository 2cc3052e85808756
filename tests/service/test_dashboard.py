"""The dashboard in a real browser: texts stay texts, nothing comes from elsewhere, keyboard and readers can use it."""

import shutil
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from extras import needs
from service_process import BAD, FACT, Service, submitted

from evidencerails.operations.review.queue import ReviewQueue
from evidencerails.report import Claim, Finding, Quote, Span

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
    context.set_default_timeout(60_000)
    yield Seen(context.new_page())
    context.close()


def check(page: Any, service: Service, response: str, evidence: str) -> None:
    page.goto(service.url)
    page.get_by_label("Answer", exact=True).fill(response)
    page.get_by_label("Evidence: what the answer must agree with").fill(evidence)
    page.get_by_role("button", name="Check").click()
    page.locator(".answer").wait_for()  # a click does not wait for the page that it leads to


def test_an_answer_is_checked_marked_and_explained(seen: Seen, service: Service) -> None:
    page = seen.page
    check(page, service, BAD["response"], FACT)
    assert page.get_by_role("heading", name="Verdict: hallucinated").is_visible()
    assert "1200" in page.locator("mark").first.inner_text()
    page.locator("mark a").first.click()
    assert page.locator("details.claim blockquote").first.inner_text().startswith("Rhenium melts at 3186")
    seen.require_clean(service)


def test_hostile_answers_and_evidence_stay_texts(seen: Seen, service: Service) -> None:
    page, text = seen.page, " ".join(HOSTILE)
    check(page, service, f"Rhenium melts at 1200 degrees {text}.", f"{FACT} {text}")
    page.evaluate("document.querySelectorAll('.answer .tag').forEach(e => e.remove())")
    shown = page.locator(".answer").inner_text()
    assert text.replace("\u202e", "\\u202e") in shown
    assert "49" not in shown and "root:" not in page.content()
    assert page.locator(".answer script, .answer img, .answer svg").count() == 0
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
def test_light_and_dark_are_readable(seen: Seen, service: Service, scheme: str) -> None:
    page = seen.page
    page.emulate_media(color_scheme=scheme)
    check(page, service, BAD["response"] + " It was discovered in 1925.", FACT)
    for selector in ("h1", ".hallucinated", ".dim", "a", ".label"):
        assert contrast(page, selector) >= 4.5, selector
    while not page.locator("svg").count():  # the store writes behind the answers
        page.goto(service.url + "/trends?days=1")
    for selector in ("svg .role-axis-label text", "svg .role-axis-title text", "svg .role-legend-label text"):
        assert contrast(page, selector, "fill") >= 4.5, selector
    assert contrast(page, "svg .mark-rect.role-mark path", "fill") >= 3  # WCAG 2.1, 1.4.11: graphics


def test_the_review_page_marks_the_words_in_the_answer(seen: Seen, service: Service, queue: ReviewQueue) -> None:
    answer = "Rhenium is a metal. Rhenium melts at 1200 degrees [7]."
    said, cited = (Span.of(answer, answer.index(text), answer.index(text) + len(text)) for text in (answer[20:], "[7]"))
    quote = Quote(passage_id="1", span=Span(start=0, end=29, text="Rhenium melts at 3186 degrees"), score=0.9)
    claim = Claim(text=said.text, span=said, label="contradicted", score=0.9, evidence=(quote,))
    finding = Finding(kind="citation_violation", category="structural", severity="high", origin="extrinsic", span=cited,
                      reason="there is no source 7", score=0.9, check="citations", version="1")  # fmt: skip
    review = submitted(queue, answer, flagged_claims=(claim,), findings=(finding,))
    page = seen.page
    page.goto(f"{service.url}/review/{review}")
    page.evaluate("document.querySelectorAll('.answer .tag').forEach(e => e.remove())")
    assert page.locator(".answer mark").all_inner_texts() == ["1200", "[7]"]
    assert page.locator(".answer").first.inner_text() == answer
    assert "there is no source 7" in page.inner_text("main")
