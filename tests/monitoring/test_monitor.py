"""From stored reports to alerts: a shift is found, traced to its change, sent once, and reported as over."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from commands import Run
from made import exchange, grounded, judged

from evidencerails import Guard
from evidencerails.errors import InputError
from evidencerails.operations.monitoring.alerts import Condition, conditions_of, notify
from evidencerails.operations.monitoring.changes import add_change, changes
from evidencerails.operations.monitoring.monitor import View, retrieval_correlation, view_of
from evidencerails.operations.store import Store, queries
from evidencerails.report import Abstention, Gate
from evidencerails.settings.operations import MonitoringSettings, StoreSettings

SETTINGS = MonitoringSettings.model_validate(
    {"cusum": {"baseline_size": 200, "false_alarm_every": 50_000}, "alerts": {"repeat_h": 1}}
)


class Kept:
    """The store of a test, its clock, and what the monitor says of it."""

    def __init__(self, store: Store, passing: list[float]) -> None:
        self.store, self.passing = store, passing
        self._seed = 0

    def put(self, *scores: float, **fields: Any) -> list[str]:
        """Keep reports with these scores, a second apart; their ids."""
        ids = []
        for score in scores:
            self.passing[0] += 1
            ids.append(self.store.put(judged(float(score), **fields), exchange()))
        assert self.store.flush(60)
        return [str(one) for one in ids]

    def around(self, mean: float, count: int) -> None:
        """Keep so many reports whose scores are spread about a mean."""
        self.put(*np.random.default_rng(self._seed).beta(mean * 8, (1 - mean) * 8, count))
        self._seed += 1

    def changed(self, description: str) -> None:
        add_change(self.store, description, author="ann")

    def history(self, *steps: tuple[float, int] | str) -> None:
        """One after the other: so many reports about a mean, or a change with this description."""
        for step in steps:
            self.changed(step) if isinstance(step, str) else self.around(*step)

    @property
    def view(self) -> View:
        return view_of(self.store, SETTINGS)

    def conditions(self, begin: str = "") -> list[Condition]:
        return [one for one in conditions_of(self.view, SETTINGS) if one.key.startswith(begin)]

    def sent(self) -> list[tuple[str, str, str]]:
        """What a look at the store sends."""
        return [tuple(one) for one in notify(self.store, self.conditions(), SETTINGS.alerts)]  # type: ignore[misc]


@pytest.fixture
def kept(store: Store, passing: list[float]) -> Kept:
    return Kept(store, passing)


@pytest.fixture
def on_sqlite(sqlite_url: str, passing: list[float]) -> Iterator[Kept]:
    """For what is computed from the rows, wherever they come from."""
    with Store(StoreSettings(url=sqlite_url), now=lambda: passing[0]) as store:
        yield Kept(store, passing)


@pytest.mark.slow
def test_a_shift_is_found_and_traced_to_the_change_before_it(on_sqlite: Kept) -> None:
    on_sqlite.history((0.1, 250), "new index", (0.1, 50), "prompt v3", (0.4, 100))
    view = on_sqlite.view
    assert view.cusum.chart is not None and view.cusum.chart.arl0 >= 50_000
    first = view.cusum.shifts[0]
    assert first.direction == "up" and first.change is not None and first.change.description == "prompt v3"
    assert first.mean_since == pytest.approx(0.4, abs=0.15) and view.cusum.is_shifted
    assert view.worst[0].hallucination_score == max(row.hallucination_score or 0 for row in view.worst)


def test_a_regression_names_its_change_and_ends_when_it_is_taken_back(on_sqlite: Kept) -> None:
    on_sqlite.history((0.1, 60), "new index", (0.1, 60), "prompt v3", (0.4, 60))
    (found,) = on_sqlite.view.regressions
    assert [change.description for change in found.changes] == ["prompt v3"] and not found.is_over
    assert (found.before, found.after) == (pytest.approx(0.1, abs=0.05), pytest.approx(0.4, abs=0.05))
    (condition,) = on_sqlite.conditions("regression")
    assert "after 'prompt v3'" in condition.message and condition.key.endswith(str(found.changes[0].id))
    on_sqlite.history("prompt v2 again", (0.1, 200))
    (found,) = on_sqlite.view.regressions
    assert found.is_over and on_sqlite.conditions("regression") == []


def test_changes_too_close_to_distinguish_are_named_together(on_sqlite: Kept) -> None:
    on_sqlite.history((0.1, 60), "prompt v3", (0.4, 5), "new model", (0.4, 60))
    (found,) = on_sqlite.view.regressions
    assert [change.description for change in found.changes] == ["prompt v3", "new model"]
    (condition,) = on_sqlite.conditions("regression")
    assert any("evidencerails bisect" in step for step in condition.data["recommended"])


def test_a_change_without_a_rise_or_with_few_reports_is_no_regression(on_sqlite: Kept) -> None:
    on_sqlite.history((0.3, 60), "new index", (0.3, 60), "prompt v3", (0.6, 20))
    assert on_sqlite.view.regressions == () and on_sqlite.view.cusum.chart is None  # too few for a chart, too


def test_of_a_long_history_the_chart_keeps_its_baseline_and_reads_the_newest(kept: Kept) -> None:
    for mean, count in ((0.1, 200), (0.4, 100), (0.1, 150)):
        kept.around(mean, count)
    whole, cut = kept.view.cusum, view_of(kept.store, SETTINGS, max_reports=120).cusum
    assert whole.chart is not None and cut.chart == whole.chart
    assert [shift.direction for shift in whole.shifts] and not cut.is_shifted
    assert len(cut.line) == 120 and all(shift.direction != "up" for shift in cut.shifts)


def test_an_alert_is_sent_once_then_again_and_then_over(kept: Kept, caplog: pytest.LogCaptureFixture) -> None:
    kept.history((0.1, 250), (0.45, 60))
    found = kept.conditions()
    sent: list[Any] = []
    threads = [
        threading.Thread(target=lambda: sent.extend(notify(kept.store, found, SETTINGS.alerts))) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [(one.event, one.key) for one in sent] == [("opened", "shift")]  # of two monitors one sends
    assert kept.sent() == []
    kept.passing[0] += 3601
    assert [one[:2] for one in kept.sent()] == [("repeated", "shift")]
    kept.around(0.1, 150)
    assert [one[:2] for one in kept.sent()] == [("recovered", "shift")]
    assert kept.sent() == []
    assert "the hallucination score has risen from 0.1" in caplog.text


def test_an_exhausted_budget_is_an_alert(kept: Kept) -> None:
    kept.around(0.5, 60)
    (condition,) = kept.conditions()
    assert condition.key == "budget" and "is spent: 2" in condition.message
    assert any("evidencerails gate" in line for line in condition.data["recommended"])


def test_right_answers_spend_no_budget_however_unsure_their_scores(on_sqlite: Kept) -> None:
    on_sqlite.put(*[0.35] * 60)
    budget = on_sqlite.view.budget
    assert (budget.state, budget.spent, budget.reports) == ("ok", 0.0, 60.0)


def failed(score: float, passed: bool | None = False) -> dict[str, Any]:
    gate = None if passed is None else Gate(passed=passed, scores={"hallucination_score": score})
    return {"gate": gate, "risk_level": "high"}


def test_each_answer_that_failed_the_gate_is_sent_once_and_the_alert_ends(kept: Kept) -> None:
    kept.put(0.9, **failed(0.9, None))
    kept.put(0.3, **failed(0.3, True))
    assert kept.sent() == []
    (first,) = kept.put(0.8, **failed(0.8))
    said = f"an answer failed the quality gate in the last 1 h; the worst: {first} (score 0.80)"
    (condition,) = kept.conditions()
    (output,) = condition.data["outputs"]  # what the webhook gets: no text
    assert (output["id"], output["severity"], output["hallucination_score"]) == (first, "high", 0.8)
    assert set(output) == {"id", "at", "severity", "stakes", "decision", "hallucination_score", "composite_score"}
    assert kept.sent() == [("opened", "quality_gate", said)]
    assert kept.sent() == []
    second, third = kept.put(0.95, 0.7, **failed(0.9))
    ((event, _, message),) = kept.sent()
    assert event == "repeated" and message.startswith("3 answers failed the quality gate")
    assert message.index(second) < message.index(first) < message.index(third)
    assert kept.sent() == []
    kept.passing[0] += 3601
    assert kept.sent() == [("recovered", "quality_gate", f"over: {message}")]


async def test_the_command_shows_what_a_guard_has_held_back(tmp_path: Path, evidencerails: Run) -> None:
    settings = {"store": {"url": f"sqlite:///{tmp_path}/s.db"}, "quality_gate": {"max_hallucination_score": 0.5}}
    (tmp_path / "s.yml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    guard = Guard(settings)
    evidence = ["Refunds are paid within 5 business days."]
    await guard.check("Refunds are paid within 5 business days.", evidence=evidence)
    bad = await guard.check("Refunds are paid within 30 business days.", evidence=evidence)
    guard.close()
    first, again = (evidencerails("alert", "--config", tmp_path / "s.yml") for _ in range(2))
    assert first.code == again.code == 1 and again.out == ""
    assert f"opened: an answer failed the quality gate in the last 1 h; the worst: {bad.id}" in first.out


def test_retrieval_quality_is_set_against_the_score(on_sqlite: Kept) -> None:
    for quality in np.linspace(0.1, 0.9, 30):
        abstention = Abstention(action="answer", parts={"retrieval_quality": float(quality)})
        on_sqlite.store.put(grounded(float(1 - quality), abstention=abstention), exchange())
    on_sqlite.store.flush(10)
    assert retrieval_correlation(list(queries.summaries(on_sqlite.store.engine))) == pytest.approx(-1.0)


def test_a_change_needs_words(store: Store) -> None:
    with pytest.raises(InputError, match="1 to 1000 characters, got 0"):
        add_change(store, "  ")
    hostile = "v3 \x00\ud800 '; DROP TABLE changes; --"
    add_change(store, hostile)
    assert [change.description for change in changes(store)] == [hostile]


def test_the_commands(tmp_path: Path, evidencerails: Run, passing: list[float]) -> None:
    url = f"sqlite:///{tmp_path}/store.db"

    def fill(mean: float, count: int) -> None:
        with Store(StoreSettings(url=url), now=lambda: passing[0]) as store:
            Kept(store, passing).around(mean, count)

    def run(*arguments: str) -> tuple[int, str]:
        return evidencerails(*arguments, "--store", url)[:2]

    fill(0.1, 600)
    assert run("gate")[0] == 0
    assert run("alert") == (0, "")
    assert run("change", "prompt v3", "--author", "ann")[1].endswith("prompt v3\n")
    fill(0.6, 400)
    code, out = run("alert")
    assert code == 1 and "opened: the hallucination score has risen" in out and "'prompt v3'" in out
    assert run("alert") == (1, "")
    code, out = run("gate", "--json")
    assert code == 1 and json.loads(out)["state"] == "exhausted"
