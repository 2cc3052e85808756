"""Takes the pictures of the dashboard for the documentation, from a service that runs for it with made-up reports.

python docs/screenshots.py     # needs playwright and chromium; writes docs/images/dashboard-*.png
"""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
from playwright.sync_api import sync_playwright

IMAGES = Path(__file__).resolve().parent / "images"
FACTS = (
    "Items can be returned within 30 days of delivery. Refunds are paid within 5 business days. Support is open from "
    "8:00 to 18:00 on working days."
)
ANSWER = "You can return items within 30 days of delivery. Refunds are paid within 12 business days."
TRUE = ("Refunds are paid within 5 business days.", "Items can be returned within 30 days of delivery.")
FALSE = ("Refunds are paid within 12 business days.", "Support is open on Sundays.", "Returns cost 7 euros.")
DAY_S = 86_400


def main() -> None:
    """Start a service with some days of reports, and photograph its pages."""
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "s.yml").write_text("store: {url: 'sqlite:///reports.db'}\n", encoding="utf-8")
        process = subprocess.Popen(
            [sys.executable, "-m", "groundrails", "serve", "--port", "0", "--config", "s.yml"],
            cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        try:
            assert process.stdout is not None
            url = process.stdout.readline().split()[-1]
            _fill(url)
            _spread(folder / "reports.db")
            _photograph(url)
        finally:
            process.terminate()
            process.wait(30)


def _fill(url: str) -> None:
    chosen = random.Random(7)
    with httpx.Client(base_url=url, timeout=120, trust_env=False) as client:
        for _ in range(2):
            items = [
                {
                    "response": chosen.choice(FALSE if chosen.random() < 0.2 else TRUE),
                    "evidence": FACTS,
                    "labels": {"flow": chosen.choice(("returns", "opening hours")), "model": "assistant-2"},
                }
                for _ in range(60)
            ]
            client.post("/v1/batch", json={"items": items}).raise_for_status()
        time.sleep(3)


def _spread(file: Path) -> None:
    """Put the reports into the past week, as if they had come one by one."""
    import sqlite3

    now = time.time()
    with sqlite3.connect(file, timeout=30) as database:
        ids = [row[0] for row in database.execute("SELECT seq FROM reports ORDER BY seq")]
        random.Random(3).shuffle(ids)
        for place, seq in enumerate(ids):
            at = now - 7 * DAY_S * (1 - place / len(ids))
            database.execute("UPDATE reports SET created_at = ? WHERE seq = ?", (at, seq))


def _photograph(url: str) -> None:
    with sync_playwright() as running:
        chromium = running.chromium.launch(
            executable_path=shutil.which("chromium") or "chromium", args=["--no-sandbox"]
        )
        page = chromium.new_page(viewport={"width": 1000, "height": 760})
        page.set_default_timeout(120_000)
        page.goto(url)
        page.get_by_label("Answer", exact=True).fill(ANSWER)
        page.get_by_label("Evidence: what the answer must agree with").fill(FACTS)
        page.get_by_role("button", name="Check").click()
        page.locator("mark").first.wait_for(timeout=120_000)
        page.screenshot(path=IMAGES / "dashboard-check.png")
        page.emulate_media(color_scheme="dark")
        page.screenshot(path=IMAGES / "dashboard-check-dark.png")
        page.emulate_media(color_scheme="light")
        for name in ("trends", "history"):
            page.goto(f"{url}/{name}")
            page.screenshot(path=IMAGES / f"dashboard-{name}.png")
        chromium.close()


if __name__ == "__main__":
    main()
