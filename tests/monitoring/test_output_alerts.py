"""An answer that fails the quality gate is an alert of its own, sent once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from made import exchange, grounded, report
from sqlalchemy import select

from evidencerails import Guard
from evidencerails.cli.main import _exit_code
from evidencerails.operations.monitoring.alerts import conditions_of, notify
from evidencerails.operations.monitoring.monitor import view_of
from evidencerails.operations.store import Store
from evidencerails.operations.store.engine import reading
from evidencerails.operations.store.models import NoticeRow
from evidencerails.report import Gate
from evidencerails.settings.monitoring import MonitoringSettings

SETTINGS = MonitoringSettings.model_validate(
    {"alerts": {"webhook": {"url": "https://hooks.example.com/a", "secret_env": "HOOK_SECRET"}}}
)


def put(store: Store, passing: list[float], score: float, passed: bool | None) -> str:
    """Keep a report; its id."""
    passing[0] += 1
    gate = None if passed is None else Gate(passed=passed, scores={"hallucination_score": score})
    made = report(score) if score > 0.5 else grounded(hallucination_score=score)
    report_id = store.put(made.model_copy(update={"gate": gate, "id": "", "risk_level": "high"}), exchange())
    assert store.flush(60) and report_id is not None
    return report_id


def look(store: Store) -> list[tuple[str, str]]:
    sent = notify(store, conditions_of(view_of(store, SETTINGS), SETTINGS), SETTINGS.alerts)
    assert all(one.key == "quality_gate" for one in sent)
    return [(one.event, one.message) for one in sent]


def test_each_failed_output_is_sent_once_and_the_alert_ends(store: Store, passing: list[float]) -> None:
    put(store, passing, 0.9, None)
    put(store, passing, 0.3, True)
    assert look(store) == []
    first = put(store, passing, 0.8, False)
    said = f"an answer failed the quality gate in the last 1 h; the worst: {first} (score 0.80)"
    assert look(store) == [("opened", said)]
    assert look(store) == []
    second, third = put(store, passing, 0.95, False), put(store, passing, 0.7, False)
    ((event, message),) = look(store)
    assert event == "repeated" and message.startswith("3 answers failed the quality gate")
    assert message.index(second) < message.index(first) < message.index(third)
    assert look(store) == []
    passing[0] += 3601
    assert look(store) == [("recovered", f"over: {message}")]
    assert look(store) == []


def test_the_webhook_gets_the_outputs_without_their_texts(store: Store, passing: list[float]) -> None:
    failed = put(store, passing, 0.8, False)
    look(store)
    with reading(store.engine) as connection:
        ((subject, body),) = connection.execute(select(NoticeRow.subject, NoticeRow.body)).all()
    assert subject == "alert:quality_gate"
    (output,) = json.loads(body)["outputs"]
    assert output["id"] == failed and output["severity"] == "high" and output["hallucination_score"] == 0.8
    assert set(output) == {
        "id", "at", "severity", "stakes", "decision", "hallucination_score", "composite_score"
    }  # fmt: skip


async def test_the_command_shows_what_a_guard_has_held_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = {"store": {"url": f"sqlite:///{tmp_path}/s.db"}, "quality_gate": {"max_hallucination_score": 0.5}}
    (tmp_path / "s.yml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    guard = Guard(settings)
    evidence = ["Refunds are paid within 5 business days."]
    await guard.check("Refunds are paid within 5 business days.", evidence=evidence)
    bad = await guard.check("Refunds are paid within 30 business days.", evidence=evidence)
    guard.close()
    assert bad.gate is not None and bad.gate.passed is False
    assert _exit_code(["alert", "--config", str(tmp_path / "s.yml")]) == 1
    assert f"opened: an answer failed the quality gate in the last 1 h; the worst: {bad.id}" in capsys.readouterr().out
    assert _exit_code(["alert", "--config", str(tmp_path / "s.yml")]) == 1
    assert capsys.readouterr().out == ""
