"""`evidencerails monitor`, `report` and the trends page, over a store whose answers got worse after a change."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import made
import pytest
from commands import Run
from service_process import Service

from evidencerails.exchange import Exchange, Labels
from evidencerails.operations.monitoring.changes import add_change
from evidencerails.operations.store.records import ATTRIBUTION
from evidencerails.operations.store.store import Store
from evidencerails.report import Abstention, Report
from evidencerails.settings.operations import StoreSettings

pytestmark = pytest.mark.slow

HOSTILE = "new prompt v3 <script>alert(1)</script> {{ 7*7 }}"


CLAIM = made.CLAIM.model_copy(update={"text": "It melts at 12 degrees. <b>bold</b>"})
FINDING = made.FINDING.model_copy(update={"error_types": ("number", "temporal")})
GOOD = {"faithfulness": 0.95, **dict.fromkeys(ATTRIBUTION, 1.0)}
BAD = {"faithfulness": 0.1, **dict(zip(ATTRIBUTION, (0.25, 0.5, 1.0, 0.5), strict=True))}


def fill(url: str, *, before: int, after: int) -> None:
    """Reports that are mostly fine, a change, and reports of which half are not."""
    with Store(StoreSettings(url=url)) as store:
        for n in range(before + after):
            if n == before:
                assert store.flush(30)
                add_change(store, HOSTILE, author="ada")
            is_bad = n % 10 == 0 if n < before else n % 2 == 0
            quality = 0.2 if is_bad else 0.9 - n % 3 / 10
            report = Report(
                status="hallucinated" if is_bad else "grounded",
                hallucination_score=0.9 if is_bad else 0.05,
                metrics=BAD if is_bad else GOOD,
                findings=(FINDING,) if is_bad else (),
                claims=(CLAIM,) if is_bad else (),
                abstention=Abstention(action="answer", parts={"retrieval_quality": quality}),
                timings_ms={"total": 20.0 + n % 7},
            )
            store.put(report, Exchange.of("An answer.", labels=Labels(flow="faq", agent="writer", model="m1")))
        assert store.flush(60)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    where = f"sqlite:///{tmp_path_factory.mktemp('kept')}/kept.db"
    fill(where, before=520, after=160)
    return where


def test_monitor_finds_the_shift_and_names_the_change(url: str, evidencerails: Run) -> None:
    Path("strict.yml").write_text(f"store: {{url: '{url}'}}\nmonitoring: {{budget: {{max_share: 0.15}}}}\n")
    done = evidencerails("monitor", "--config", "strict.yml")
    assert done.code == 1, done.err  # the budget: 19.4 % where 15 % may be
    assert done.out.startswith("680 reports, 19.4 % hallucinated of those verified")
    assert "error budget exhausted" in done.out and "last 500 reports: " in done.out
    assert "shift up began" in done.out and "change before it: new prompt v3" in done.out


def test_report_as_json_has_the_same(url: str, evidencerails: Run) -> None:
    done = evidencerails("report", "--since", "2w", "--json", "--store", url)
    found: dict[str, Any] = json.loads(done.out)
    assert found["reports"] == 680
    assert found["groups"]["Flow"] == [["faq", 680, "19.4 %"]]
    assert (found["budget"]["state"], found["budget"]["spent"]) == ("ok", 132)  # 136 may be
    (shift, *_) = found["shifts"]
    assert (shift["direction"], shift["change"]["author"]) == ("up", "ada")
    assert len(found["worst"]) == 10


def test_report_as_a_page_stands_alone_and_hostile_texts_stay_texts(url: str, evidencerails: Run) -> None:
    done = evidencerails("report", "--html", "report.html", "--store", url)
    assert done.code == 0, done.err
    text = Path("report.html").read_text(encoding="utf-8")
    assert "default-src 'none'" in text
    assert "<script>" not in text and "&lt;script&gt;" in text and "{{ 7*7 }}" in text
    loaded = re.sub(r'xmlns(:\w+)?="[^"]*"', "", text)
    assert "http://" not in loaded and "https://" not in loaded and "src=" not in loaded


def test_the_trends_page_has_every_panel(serve: Callable[..., Service], url: str) -> None:
    with serve({"store": {"url": url}, "monitoring": {"budget": {"max_share": 0.15}}}).client() as client:
        text = client.get("/trends?days=30").text
    for words in ("Exhausted.", "Scores went up", "nearest change before it", "CUSUM statistics", "&lt;script&gt;"):
        assert words in text
    assert "<script>" not in text
    cells = {
        tuple(re.sub(r"<[^>]+>|\s+", " ", cell).strip() for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S))
        for row in re.findall(r"<tr>(.*?)</tr>", text, re.S)
    }
    bad = 52 + 80  # of 520 before the change and 160 after it
    share = f"{100 * bad / 680:.1f} %"
    mean = 1 - 0.5 * bad / 680
    for row in (
        ("factual", str(bad), share),
        ("number", str(bad), share),
        ("temporal", str(bad), share),
        ("contradicted", str(bad), share),
        ("writer", "680", share),
        ("m1", "680", share),
        ("existence", f"{mean:.3f}", "680"),
        ("precision", f"{1 - 0.75 * bad / 680:.3f}", "680"),
        ("0.00 to 0.25", str(bad), "100.0 %", "0.90"),
        ("LLM calls", "0"),
        ("0.9 to 1.0", f"{680 - bad} reports"),
    ):
        assert row in cells, row
    assert re.search(r"Rank correlation with the hallucination score: -0\.\d\d", text)
    assert '<span class="status hallucinated">Regression.</span>' in text
    assert text.count("a change, by its number below") == 3  # share, mean score, CUSUM: the change stands in each
    assert "It melts at 12 degrees. &lt;b&gt;bold&lt;/b&gt;" in text  # the claim of a worst answer
