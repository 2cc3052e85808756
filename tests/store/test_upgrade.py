"""A store of an earlier version: its tables are brought up to date, and what that version had spooled still fits."""

from __future__ import annotations

import json
from pathlib import Path

from alembic import command
from alembic.config import Config
from made import exchange, report
from sqlalchemy import text

import evidencerails.operations.store
from evidencerails.operations.store import Store, queries
from evidencerails.operations.store.engine import _engine, open_engine, parsed_url, reading, writing
from evidencerails.operations.store.records import Entry, record_of
from evidencerails.settings.store import StoreSettings

NEW = ("attribution_existence", "attribution_accuracy", "attribution_entailment", "retrieval_quality", "gate_passed")
"""Columns of reports that the first version did not have."""


def old_record() -> dict[str, object]:
    """A report as the first version kept it."""
    entry = Entry(report=report(id="old"), exchange=exchange(), created_at=1e9, sample_rate=1.0, redaction="off")
    columns = record_of(entry)["report"]
    return {name: value for name, value in columns.items() if name not in NEW}


def make_first_version(url: str) -> None:
    """A database with the first tables and one report in them."""
    config = Config()
    config.set_main_option("script_location", str(Path(evidencerails.operations.store.__file__).parent / "migrations"))
    engine = _engine(parsed_url(url), 5.0)
    with writing(engine) as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        columns = old_record()
        names = ", ".join(columns)
        marks = ", ".join(f":{name}" for name in columns)
        connection.execute(text(f"INSERT INTO reports ({names}) VALUES ({marks})"), columns)
        connection.execute(text("INSERT INTO changes (at, after_seq, description) VALUES (1.0, 0, '\"prompt v2\"')"))
    engine.dispose()


def test_an_earlier_store_is_brought_up_to_date_and_keeps_what_it_has(url: str) -> None:
    make_first_version(url)
    engine = open_engine(url)
    kept = queries.report(engine, "old")
    assert kept is not None and kept.summary.hallucination_score == 0.9
    assert kept.summary.attribution_existence is None
    with reading(engine) as connection:
        assert connection.execute(text("SELECT description, state FROM changes")).one() == ('"prompt v2"', None)
    engine.dispose()


def test_what_an_earlier_version_spooled_is_replayed_beside_new_records(tmp_path: Path, url: str) -> None:
    spool = tmp_path / "spool"
    with Store(StoreSettings(url=url, spool=str(spool))) as store:
        new = record_of(Entry(report=report(id="new"), exchange=exchange(), created_at=2e9, sample_rate=1.0,
                              redaction="off"))  # fmt: skip
        store.spool.append([{"report": old_record(), "findings": []}, json.loads(json.dumps(new))])
        assert store.replay() == 2
        assert [row.id for row in queries.history(store.engine)] == ["new", "old"]
