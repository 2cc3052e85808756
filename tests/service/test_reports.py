"""`groundrails monitor`, `report` and the trends page, over a store whose answers got worse after a change."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from service_process import Service

from groundrails.config_store import StoreSettings
from groundrails.exchange import Exchange, Labels
from groundrails.report import Report
from groundrails.store.store import Store

HOSTILE = "new prompt v3 <script>alert(1)</script> {{ 7*7 }}"


def fill(url: str, *, before: int, after: int) -> None:
    """Reports that are mostly fine, a change, and reports of which half are not."""
    from groundrails.monitoring.changes import add_change

    with Store(StoreSettings(url=url)) as store:
        for n in range(before + after):
            if n == before:
                assert store.flush(30)
                add_change(store, HOSTILE, author="ada")
            is_bad = n % 10 == 0 if n < before else n % 2 == 0
            report = Report(
                status="hallucinated" if is_bad else "grounded",
                hallucination_score=0.9 if is_bad else 0.05,
                metrics={"faithfulness": 0.1 if is_bad else 0.95},
                timings_ms={"total": 20.0 + n % 7},
            )
            store.put(report, Exchange.of("An answer.", labels=Labels(flow="faq", model="m1")))
        assert store.flush(60)


@pytest.fixture
def url(tmp_path: Path) -> str:
    where = f"sqlite:///{tmp_path}/kept.db"
    fill(where, before=520, after=160)
    return where


def groundrails(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "groundrails", *arguments], capture_output=True, text=True, timeout=120
    )


def test_monitor_finds_the_shift_and_names_the_change(url: str) -> None:
    done = groundrails("monitor", "--store", url)
    assert done.returncode == 1, done.stderr  # the budget: a mean score of 0.215 where 0.2 may be
    assert done.stdout.startswith("680 reports, 19.4 % hallucinated of those verified")
    assert "error budget exhausted" in done.stdout
    assert "shift up began" in done.stdout and "change before it: new prompt v3" in done.stdout


def test_report_as_json_has_the_same(url: str) -> None:
    done = groundrails("report", "--since", "2w", "--json", "--store", url)
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["reports"] == 680
    assert found["groups"]["Flow"] == [["faq", 680, "19.4 %"]]
    assert found["budget"]["state"] == "exhausted"
    (shift, *_) = found["shifts"]
    assert (shift["direction"], shift["change"]["author"]) == ("up", "ada")
    assert len(found["worst"]) == 10


def test_report_as_a_page_stands_alone_and_hostile_texts_stay_texts(url: str) -> None:
    done = groundrails("report", "--html", "report.html", "--store", url)
    assert done.returncode == 0, done.stderr
    text = Path("report.html").read_text(encoding="utf-8")
    assert "default-src 'none'" in text
    assert "<script>" not in text and "&lt;script&gt;" in text and "{{ 7*7 }}" in text
    assert "http://" not in text and "https://" not in text and "src=" not in text


def test_the_trends_page_shows_budget_cusum_and_change(serve: Callable[..., Service], url: str) -> None:
    with serve({"store": {"url": url}}).client() as client:
        reply: httpx.Response = client.get("/trends?days=30")
    assert reply.status_code == 200
    for words in ("Exhausted.", "Scores went up", "nearest change before it", "polyline", "&lt;script&gt;"):
        assert words in reply.text
    assert "<script>" not in reply.text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["report", "--since", "7x"], "no length of time"),
        (["report", "--since", "0d"], "no length of time"),
        (["monitor", "--store", "sqlite:///missing.db"], "there is no store"),
        (["report", "--html", "nowhere/x.html"], "cannot write"),
    ],
)
def test_wrong_usage_is_one_line(arguments: list[str], words: str) -> None:
    done = groundrails(*arguments)
    assert done.returncode == 2
    assert words in done.stderr and "Traceback" not in done.stderr
