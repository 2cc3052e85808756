"""Takes the pictures of the dashboard for the documentation, from a service that runs for it with made-up reports.

python docs/screenshots.py     # needs playwright and chromium; writes docs/images/dashboard-*.png

tests/service/test_screenshots.py runs the same into a folder of its own, and fails if a page is newer than its picture.
"""

from __future__ import annotations

import hashlib
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
from playwright.sync_api import sync_playwright

IMAGES = Path(__file__).resolve().parent / "images"
PACKAGE = IMAGES.parents[1] / "evidencerails"
SOURCES = ("service/templates/*", "service/static/*", "service/charts.py", "text/vega.py")
"""What the pages look like is decided here."""
PAGES = ("check", "trends", "trends-dark", "history", "review")
SETTINGS = """\
checks: [grounding, claims, citations]
store: {url: 'sqlite:///reports.db'}
escalation: {tiers: {blocking: 1.0}}
policies:
  - {when: {kind: unsupported_claim, label: absent}, then: escalate}
abstention: {enabled: true}
monitoring:
  cusum: {baseline_size: 60, false_alarm_every: 1000}
  budget: {when_exhausted: {max_hallucination_score: 0.5}}
service: {max_items: 200}
"""
FACTS = [
    {"id": "1", "text": "Items can be returned within 30 days of delivery."},
    {"id": "2", "text": "Refunds are paid within 5 business days."},
    {"id": "3", "text": "Support is open from 8:00 to 18:00 on working days."},
]
ANSWER = "You can return items within 30 days of delivery. Refunds are paid within 12 business days."
TRUE = (
    "Refunds are paid within 5 business days [2].",
    "Items can be returned within 30 days of delivery [1].",
    "Support is open from 8:00 to 18:00 on working days [3].",
)
FALSE = (
    "Refunds are paid within 12 business days [2].",
    "Support is open on Sundays and at night [3].",
    "Returns cost 7 euros [9].",
    "The warehouse is in Rotterdam and ships to 40 countries.",
)
PARTS = ((80, 0.08, "assistant-2"), (45, 0.6, "assistant-3"))
"""Reports, share of false answers, and model before and after the change."""
DAY_S = 86_400


def main(images: Path = IMAGES) -> None:
    """Start a service with some days of reports, and photograph its pages."""
    images.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "s.yml").write_text(SETTINGS, encoding="utf-8")
        process = subprocess.Popen(
            [sys.executable, "-m", "evidencerails", "serve", "--port", "0", "--config", "s.yml"],
            cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        try:
            assert process.stdout is not None
            url = process.stdout.readline().split()[-1]
            _fill(url, folder)
            _spread(folder / "reports.db")
            _photograph(url, images)
            (images / "made-from.txt").write_text(made_from() + "\n", encoding="utf-8")
        finally:
            process.terminate()
            process.communicate(timeout=30)


def made_from() -> str:
    """A hash of what the pages look like: pictures with another one are out of date."""
    files = sorted(file for pattern in SOURCES for file in PACKAGE.glob(pattern))
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


def _fill(url: str, folder: Path) -> None:
    chosen = random.Random(7)
    with httpx.Client(base_url=url, timeout=300, trust_env=False) as client:
        for number, (count, false_share, model) in enumerate(PARTS):
            if number:
                command = ["change", f"answers come from {model}", "--author", "ada", "--config", "s.yml"]
                subprocess.run([sys.executable, "-m", "evidencerails", *command], cwd=folder, check=True)
            items = [
                {
                    "response": " ".join(
                        chosen.choice(texts) for texts in (TRUE, FALSE if chosen.random() < false_share else TRUE)
                    ),
                    "prompt": "How do returns and refunds work, and when is support open?",
                    "evidence": FACTS,
                    "stakes": chosen.choice(("low", "low", "medium", "high")),
                    "labels": {"flow": chosen.choice(("returns", "opening hours")), "agent": "writer", "model": model},
                }
                for _ in range(count)
            ]
            written = _written(client)
            client.post("/v1/batch", json={"items": items}).raise_for_status()
            while _written(client) < written + count:  # the store writes behind the answers
                time.sleep(0.2)


def _written(client: httpx.Client) -> int:
    return len(client.get("/v1/history", params={"limit": 1000}).raise_for_status().json()["reports"])


def _spread(file: Path) -> None:
    """Put reports and changes into the past week, as if they had come one by one."""
    now = time.time()
    with sqlite3.connect(file, timeout=30) as database:
        numbers = [row[0] for row in database.execute("SELECT seq FROM reports ORDER BY seq")]
        for place, seq in enumerate(numbers):
            at = now - 7 * DAY_S * (1 - place / len(numbers))
            database.execute("UPDATE reports SET created_at = ? WHERE seq = ?", (at, seq))
        database.execute(
            "UPDATE changes SET at = (SELECT max(created_at) + 1 FROM reports WHERE seq <= changes.after_seq)"
        )


def _photograph(url: str, images: Path) -> None:
    with sync_playwright() as running:
        chromium = running.chromium.launch(
            executable_path=shutil.which("chromium") or "chromium", args=["--no-sandbox"]
        )
        page = chromium.new_page()
        page.set_default_timeout(60_000)

        def show(path: str) -> None:
            answer = page.goto(url + path)
            assert answer is not None and answer.ok, f"{path}: {page.content()}"

        def take(name: str, *, height: int = 760) -> None:
            page.set_viewport_size({"width": 1000, "height": height})
            page.screenshot(path=images / f"dashboard-{name}.png")

        show("/")
        page.get_by_label("Answer", exact=True).fill(ANSWER)
        page.get_by_label("Evidence: what the answer must agree with").fill(" ".join(fact["text"] for fact in FACTS))
        page.get_by_role("button", name="Check").click()
        page.locator("mark").first.wait_for()
        take("check")
        page.emulate_media(color_scheme="dark")
        show("/trends")
        take("trends-dark")
        page.emulate_media(color_scheme="light")
        take("trends", height=1500)
        show("/history")
        take("history")
        show("/review")
        page.locator("tbody a").first.click()
        take("review", height=1260)
        chromium.close()


if __name__ == "__main__":
    main()
