"""The store on both databases: what goes in comes out, in order, filtered, redacted, exported and deleted."""

import csv
import io
import json
import sys
import time
from pathlib import Path

import pytest
from extras import needs
from made import ANSWER, EVIDENCE, exchange, grounded, report

from evidencerails import Guard, Report
from evidencerails.config import GuardConfig
from evidencerails.errors import MissingExtraError, SettingsError, StoreError
from evidencerails.operations.store import Store, queries
from evidencerails.operations.store.engine import open_engine, sqlite_file
from evidencerails.operations.store.queries import Filter, export
from evidencerails.report import Review
from evidencerails.settings.operations import SampleRates, StoreSettings

HOSTILE = "a\x00b \ud800 '; DROP TABLE reports; -- \u202e{{7*7}}"


def test_a_report_comes_out_as_it_went_in(store: Store) -> None:
    given = report()
    report_id = store.put(given, exchange(flow="check claims", agent="writer", model="m-1"))
    assert store.flush(10)
    kept = queries.report(store.engine, str(report_id))
    assert Report.model_validate(kept.body["report"]).claims == given.claims
    assert (kept.body["response"], kept.body["question"]) == (ANSWER, "Melting point?")
    row = kept.summary
    assert (row.status, row.decision, row.hallucination_score, row.faithfulness) == ("hallucinated", "block", 0.9, 0.1)
    assert (row.flow, row.agent, row.model, row.llm_calls, row.llm_tokens) == ("check claims", "writer", "m-1", 2, 120)


def test_history_goes_backwards_page_by_page(store: Store) -> None:
    ids = [store.put(report(), exchange()) for _ in range(5)]
    store.flush(10)
    first = queries.history(store.engine, limit=2)
    second = queries.history(store.engine, limit=2, before_seq=first[-1].seq)
    assert [row.id for row in (*first, *second)] == ids[:0:-1]


def test_filters_counts_and_trends(store: Store) -> None:
    for score in (0.7, 0.9):
        store.put(report(score), exchange(flow="a"))
    store.put(grounded(), exchange(flow="b"))
    store.put(grounded(None, status="unverified"), exchange(flow="b"))
    store.flush(10)
    engine = store.engine
    assert queries.count(engine) == 4 and queries.count(engine, Filter(since=time.time() + 60)) == 0
    assert [row.hallucination_score for row in queries.history(engine, Filter(min_score=0.8))] == [0.9]
    assert [row.hallucination_score for row in queries.worst(engine, limit=2)] == [0.9, 0.7]
    by_flow = {c.value: c for c in queries.counts(engine, "flow")}
    assert (by_flow["a"].reports, by_flow["a"].hallucinated, by_flow["a"].mean_score) == (2, 2, pytest.approx(0.8))
    assert (by_flow["b"].hallucinated, by_flow["b"].unverified, by_flow["b"].mean_score) == (0, 1, 0.1)
    assert queries.finding_counts(engine, "kind") == {"unsupported_claim": 2}
    assert queries.finding_counts(engine, "check", Filter(flow="b")) == {}
    assert [(p.reports, p.hallucinated) for p in queries.trend(engine, step_s=1e7)] == [(4, 2)]


def test_hostile_text_and_names_are_kept_and_harm_nothing(store: Store) -> None:
    report_id = store.put(grounded(reason=HOSTILE), exchange(HOSTILE, flow=HOSTILE, session=HOSTILE))
    assert store.flush(10)
    kept = queries.report(store.engine, str(report_id))
    assert kept is not None and kept.body["response"] == HOSTILE and kept.body["session"] == HOSTILE
    assert kept.summary.flow is not None and "\x00" not in kept.summary.flow
    assert queries.report(store.engine, HOSTILE) is None
    assert [row.id for row in queries.history(store.engine, Filter(flow=HOSTILE))] == [report_id]
    assert queries.count(store.engine) == 1


@pytest.mark.parametrize("redaction", ["hash", "drop"])
def test_redaction_keeps_no_word_of_answer_and_evidence(url: str, redaction: str, tmp_path: Path) -> None:
    config = GuardConfig.load({"redaction": "off", "store": {"url": url, "redaction": redaction}})
    with Store(config.store, redaction=config.redaction) as store:
        report_id = store.put(report(answer="Rhenium melts at 3186 degrees, they say."), exchange())
        store.flush(10)
        kept = queries.report(store.engine, str(report_id))
    assert kept is not None and kept.redaction == redaction
    whole = json.dumps(kept.body)
    assert not any(word in whole for word in ("Rhenium", "melts", "3186", "Melting"))
    assert ("response" in kept.body) == (redaction == "hash")
    if sqlite_file(url):
        files = [file.read_bytes() for file in tmp_path.glob("store.db*") if file.is_file()]
        assert files and not any(b"Rhenium" in data for data in files)


def test_a_sample_is_kept_by_stakes_and_says_its_rate(sqlite_url: str) -> None:
    with Store(StoreSettings(url=sqlite_url, sample=SampleRates(low=0.0, medium=0.5))) as store:
        low = [store.put(grounded(stakes="low"), exchange()) for _ in range(50)]
        medium = [store.put(grounded(stakes="medium"), exchange()) for _ in range(400)]
        high = [store.put(grounded(stakes="high"), exchange()) for _ in range(10)]
        review = Review(id="1", tier="synchronous", state="pending", risk=0.6)
        assert store.put(grounded(stakes="low", review=review), exchange())  # whatever the sample
        store.flush(10)
        kept = {k.sample_rate for k in queries.each(store.engine) if k.summary.stakes == "medium"}
    assert not any(low) and all(high) and kept == {0.5}
    assert 130 <= sum(1 for report_id in medium if report_id) <= 270  # 200 +- 7 standard deviations


def test_the_same_record_is_never_there_twice(store: Store) -> None:
    for _ in range(3):
        store.put(report(id="one"), exchange())
    store.flush(10)
    assert queries.count(store.engine) == 1
    assert queries.finding_counts(store.engine, "kind") == {"unsupported_claim": 1}


def test_retention_deletes_what_is_old_and_nothing_else(store: Store, passing: list[float]) -> None:
    store.put(report(id="old"), exchange())
    passing[0] += 91 * 86_400
    store.put(report(id="new"), exchange())
    store.flush(10)
    assert store.purge() == 1
    assert [row.id for row in queries.history(store.engine)] == ["new"]
    assert queries.finding_counts(store.engine, "kind") == {"unsupported_claim": 1}
    passing[0] += 400 * 86_400
    with pytest.raises(StoreError, match="would delete every report"):
        store.purge()
    assert store.purge(force=True) == 1


def test_export_in_both_formats(store: Store) -> None:
    store.put(report(id="r1"), exchange(flow="=HYPERLINK(1)"))
    store.put(grounded(id="r2"), exchange())
    store.flush(10)
    lines, table = io.StringIO(), io.StringIO()
    assert export(queries.each(store.engine), lines, "jsonl") == export(queries.each(store.engine), table, "csv") == 2
    rows = [json.loads(line) for line in lines.getvalue().splitlines()]
    assert [row["id"] for row in rows] == ["r1", "r2"]
    assert rows[0]["report"]["claims"][0]["evidence"][0]["span"]["text"] == EVIDENCE
    cells = list(csv.DictReader(io.StringIO(table.getvalue())))
    assert cells[0]["flow"] == "'=HYPERLINK(1)" and cells[1]["status"] == "grounded"


def test_the_guard_keeps_its_reports_and_gives_their_ids(sqlite_url: str) -> None:
    guard = Guard({"store": {"url": sqlite_url}})
    made = guard.check_sync("Paris is in Italy.", evidence="Paris is the capital of France.")
    assert guard.store is not None and guard.store.flush(10)
    kept = queries.report(guard.store.engine, made.id)
    assert kept is not None and kept.summary.status == made.status == "hallucinated"
    assert kept.body["report"] == made.plain(max_bytes=1_000_000)
    guard.close()


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("mysql://u:secret@h/db", "cannot use 'mysql'"),
        ("not a url, secret", "cannot be read"),
        ("postgresql://u:secret@127.0.0.1:9/db", "postgresql\\+psycopg://u:\\*\\*\\*@127.0.0.1:9/db failed"),
    ],
)
def test_a_wrong_url_is_named_without_its_password(address: str, message: str) -> None:
    if address.startswith("postgresql"):
        needs("psycopg")
    with pytest.raises(StoreError, match=message) as caught:
        open_engine(address)
    assert "secret" not in str(caught.value)


def test_a_driver_without_its_library_is_an_extra_that_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "psycopg.py").write_text('raise ImportError("no pq wrapper available.")\n')
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.partition(".")[0] == "psycopg"]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(MissingExtraError, match=r'pip install "evidencerails\[postgresql\]"'):
        open_engine("postgresql://u:secret@127.0.0.1:9/db")


def test_settings_take_the_url_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = StoreSettings(url_env="DATABASE")
    with pytest.raises(SettingsError, match="'DATABASE' is not set"):
        _ = settings.address
    monkeypatch.setenv("DATABASE", "sqlite:///x.db")
    assert settings.address == "sqlite:///x.db"
