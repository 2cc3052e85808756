"""An exhausted error budget changes settings by itself, only towards the stricter, and takes it back."""

import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from made import exchange, judged

from evidencerails import Guard
from evidencerails.config import GuardConfig
from evidencerails.errors import SettingsError
from evidencerails.operations.monitoring.tightening import BudgetWatch, tightened
from evidencerails.operations.store import Store, queries
from evidencerails.settings.operations import StoreSettings

FACT = "Rhenium melts at 3186 degrees."
UNSAID = "Rhenium was named by a chemist from Breslau in a letter to his sister."


def settings(url: str, when: dict[str, Any], **rest: Any) -> dict[str, Any]:
    budget = {"max_share": 0.2, "min_reports": 20, "when_exhausted": when}
    return {"store": {"url": url}, "checks": ["grounding"], "monitoring": {"budget": budget}, **rest}


def fill(url: str, score: float, count: int) -> None:
    with Store(StoreSettings(url=url)) as store:
        for _ in range(count):
            store.put(judged(score), exchange())
        assert store.flush(30)


def eventually(holds: Callable[[], bool]) -> bool:
    end = time.monotonic() + 20
    while not holds() and time.monotonic() < end:
        time.sleep(0.02)
    return holds()


@pytest.mark.parametrize(
    ("usual", "when", "place", "expected"),
    [
        ({"store": {"sample": {"low": 0.1, "medium": 0.9}}}, {"sample": {"low": 0.5, "medium": 0.5}},
         lambda c: (c.store.sample.low, c.store.sample.medium), (0.5, 0.9)),
        ({"grounding": {"max_unsupported_score": 0.2}}, {"max_unsupported_score": 0.4},
         lambda c: c.grounding.max_unsupported_score, 0.2),
        ({"quality_gate": {"max_hallucination_score": 0.8}}, {"max_hallucination_score": 0.4},
         lambda c: c.quality_gate.max_hallucination_score, 0.4),
        ({"abstention": {"answer_from": 0.8}}, {"answer_from": 0.9},
         lambda c: (c.abstention.enabled, c.abstention.answer_from), (True, 0.9)),
        ({"escalation": {}}, {"tiers": {"asynchronous": 0.1, "synchronous": 0.2, "blocking": 0.9}},
         lambda c: tuple(c.escalation.tiers.model_dump().values()), (0.1, 0.2, 0.7)),
        ({"on_unverified": "block"}, {"on_unverified": "warn"}, lambda c: c.on_unverified, "block"),
        ({}, {"on_unverified": "raise"}, lambda c: c.on_unverified, "raise"),
    ],
)  # fmt: skip
def test_each_setting_becomes_the_stricter_of_the_two(
    usual: dict[str, Any], when: dict[str, Any], place: Callable[[Any], Any], expected: Any
) -> None:
    given = {"store": {}, **usual, "monitoring": {"budget": {"when_exhausted": when}}}
    assert place(tightened(GuardConfig.load(given))) == expected


@pytest.mark.slow
def test_an_exhausted_budget_tightens_the_running_guard_and_recovery_loosens_it(
    sqlite_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    guard = Guard(settings(sqlite_url, {"max_hallucination_score": 0.05}))
    assert guard.check_sync(UNSAID, evidence=FACT).decision == "warn"
    assert guard.store is not None and guard.store.flush(30)
    fill(sqlite_url, 0.9, 60)
    with caplog.at_level(logging.WARNING, "evidencerails"):
        assert eventually(lambda: guard.settings_in_force is not guard.config)
        found = guard.check_sync(UNSAID, evidence=FACT)
        assert found.decision == "block" and found.decided_by.endswith("; error budget exhausted")
        fill(sqlite_url, 0.01, 400)
        assert eventually(lambda: guard.settings_in_force is guard.config)
    assert guard.check_sync(UNSAID, evidence=FACT).decision == "warn"
    assert "the error budget is exhausted" in caplog.text and "has recovered" in caplog.text
    guard.close()


def test_more_reports_are_kept_while_it_is_exhausted(sqlite_url: str) -> None:
    fill(sqlite_url, 0.9, 30)
    given = settings(sqlite_url, {"sample": {"low": 1.0, "medium": 1.0}})
    given["store"]["sample"] = {"low": 0.0, "medium": 0.0}
    guard = Guard(given)
    assert eventually(lambda: guard.settings_in_force is not guard.config)
    kept = guard.check_sync(FACT, evidence=FACT)
    assert kept.id and guard.store is not None and guard.store.flush(30)
    found = queries.report(guard.store.engine, kept.id)
    assert found is not None and found.sample_rate == 1.0
    guard.close()


def test_a_store_that_cannot_be_read_changes_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "no database").mkdir()
    guard = Guard(settings(f"sqlite:///{tmp_path}/no database", {"max_hallucination_score": 0.05}))
    assert guard.check_sync(FACT, evidence=FACT).status == "grounded"
    assert eventually(lambda: "the error budget cannot be read" in caplog.text)
    assert guard.settings_in_force is guard.config
    guard.close()


def test_a_forked_worker_looks_for_itself(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evidencerails.operations.monitoring.tightening.POLL_S", 60)  # the parent looks once
    config = GuardConfig.load(settings(sqlite_url, {"max_hallucination_score": 0.05}))
    fill(sqlite_url, 0.9, 30)
    with Store(config.store) as store:
        watch = BudgetWatch(config, store)
        assert eventually(lambda: watch.settings_in_force is not config)
        fill(sqlite_url, 0.01, 400)
        if not (child := os.fork()):  # no thread of the parent's runs in it
            os._exit(not eventually(lambda: watch.settings_in_force is config))
        assert os.waitpid(child, 0)[1] == 0
        watch.close()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"monitoring": {"budget": {"when_exhausted": {}}}}, "needs `store`"),
        ({"store": {}, "monitoring": {"budget": {"when_exhausted": {"tiers": {}}}}}, "needs `escalation`"),
        ({"store": {}, "monitoring": {"budget": {"when_exhausted": {"answer_form": 1}}}}, "answer_from"),
    ],
)
def test_settings_that_cannot_work_are_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        GuardConfig.load(given)
