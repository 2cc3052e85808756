"""From stored reports to alerts: a shift is found, traced to its change, sent once, and reported as over."""

from __future__ import annotations

import json
import socketserver
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made import exchange, grounded, report

from evidencerails.cli.main import _exit_code
from evidencerails.errors import InputError
from evidencerails.operations.monitoring.alerts import conditions_of, notify
from evidencerails.operations.monitoring.changes import add_change, changes
from evidencerails.operations.monitoring.monitor import retrieval_correlation, view_of
from evidencerails.operations.store import Store, queries
from evidencerails.operations.store.clock import SteadyClock
from evidencerails.report import Abstention
from evidencerails.settings.monitoring import AlertSettings, MonitoringSettings
from evidencerails.settings.store import StoreSettings

SETTINGS = MonitoringSettings.model_validate(
    {"window": 100, "cusum": {"baseline_size": 200, "false_alarm_every": 50_000}}
)


def put(store: Store, passing: list[float], mean: float, count: int, seed: int = 0, **labels: str) -> None:
    for score in np.random.default_rng(seed).beta(mean * 8, (1 - mean) * 8, count):
        passing[0] += 1
        made = report(float(score)) if score > 0.5 else grounded(hallucination_score=float(score))
        store.put(made, exchange(**labels))
    assert store.flush(60)


def test_a_shift_is_found_and_traced_to_the_change_before_it(store: Store, passing: list[float]) -> None:
    put(store, passing, 0.1, 250, flow="check claims", model="m-1")
    add_change(store, "new index", author="ann")
    put(store, passing, 0.1, 50, seed=1)
    add_change(store, "prompt v3", author="bob")
    put(store, passing, 0.4, 100, seed=2, model="m-2")
    view = view_of(store, SETTINGS)
    assert view.cusum.chart is not None and view.cusum.chart.arl0 >= 50_000
    first = view.cusum.shifts[0]
    assert first.direction == "up" and first.change is not None
    assert first.change.description == "prompt v3"
    assert first.mean_since == pytest.approx(0.4, abs=0.15)
    assert view.cusum.is_shifted
    assert view.window.reports == 100 and view.window.mean_score == pytest.approx(0.4, abs=0.05)
    assert view.worst[0].hallucination_score == max(row.hallucination_score or 0 for row in view.worst)


def test_a_regression_names_its_change_and_ends_when_it_is_taken_back(store: Store, passing: list[float]) -> None:
    put(store, passing, 0.1, 60)
    add_change(store, "new index")
    put(store, passing, 0.1, 60, seed=1)
    add_change(store, "prompt v3")
    put(store, passing, 0.4, 60, seed=2)
    view = view_of(store, SETTINGS)
    (found,) = view.regressions
    assert [change.description for change in found.changes] == ["prompt v3"] and not found.is_over
    assert (found.before, found.after) == (pytest.approx(0.1, abs=0.05), pytest.approx(0.4, abs=0.05))
    keys = {condition.key: condition.message for condition in conditions_of(view, SETTINGS)}
    assert "after 'prompt v3'" in keys[f"regression-{found.changes[0].id}"]
    add_change(store, "prompt v2 again")
    put(store, passing, 0.1, 200, seed=3)
    (found,) = view_of(store, SETTINGS).regressions
    assert found.is_over
    assert not [c for c in conditions_of(view_of(store, SETTINGS), SETTINGS) if c.key.startswith("regression")]


def test_changes_too_close_to_distinguish_are_named_together(store: Store, passing: list[float]) -> None:
    put(store, passing, 0.1, 60)
    add_change(store, "prompt v3")
    put(store, passing, 0.4, 5)
    add_change(store, "new model")
    put(store, passing, 0.4, 60, seed=2)
    (found,) = view_of(store, SETTINGS).regressions
    assert [change.description for change in found.changes] == ["prompt v3", "new model"]
    (condition,) = [c for c in conditions_of(view_of(store, SETTINGS), SETTINGS) if c.key.startswith("regression")]
    assert any("evidencerails bisect" in step for step in condition.data["recommended"])


def test_a_change_without_a_rise_or_with_few_reports_is_no_regression(store: Store, passing: list[float]) -> None:
    put(store, passing, 0.3, 60)
    add_change(store, "new index")
    put(store, passing, 0.3, 60, seed=1)
    add_change(store, "prompt v3")
    put(store, passing, 0.6, 20, seed=2)
    assert view_of(store, SETTINGS).regressions == ()


def test_of_a_long_history_the_chart_keeps_its_baseline_and_reads_the_newest(
    store: Store, passing: list[float]
) -> None:
    put(store, passing, 0.1, 200)
    put(store, passing, 0.4, 100, seed=1)
    put(store, passing, 0.1, 150, seed=2)
    whole, cut = view_of(store, SETTINGS), view_of(store, SETTINGS, max_reports=120)
    assert whole.cusum.chart is not None and cut.cusum.chart == whole.cusum.chart
    assert [shift.direction for shift in whole.cusum.shifts] and not cut.cusum.is_shifted
    assert len(cut.cusum.line) == 120 and cut.window == whole.window
    assert all(shift.direction != "up" for shift in cut.cusum.shifts)


def test_too_few_reports_have_no_chart(store: Store, passing: list[float]) -> None:
    put(store, passing, 0.1, 20)
    view = view_of(store, SETTINGS)
    assert view.cusum.chart is None and view.cusum.up is None and view.budget.state == "too_few_reports"


def test_an_alert_is_sent_once_then_again_and_then_over(
    store: Store, passing: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    put(store, passing, 0.1, 250)
    put(store, passing, 0.45, 60, seed=1)
    settings = AlertSettings(repeat_h=1)

    def look() -> list[tuple[str, str]]:
        return [(t.event, t.key) for t in notify(store, conditions_of(view_of(store, SETTINGS), SETTINGS), settings)]

    assert look() == [("opened", "shift")]
    assert look() == []
    passing[0] += 3601
    assert look() == [("repeated", "shift")]
    put(store, passing, 0.1, 150, seed=3)
    assert look() == [("recovered", "shift")]
    assert look() == []
    assert "the hallucination score has risen from 0.1" in caplog.text


def test_two_monitors_send_once(store: Store, passing: list[float]) -> None:
    put(store, passing, 0.1, 250)
    put(store, passing, 0.45, 60, seed=1)
    found = conditions_of(view_of(store, SETTINGS), SETTINGS)
    sent: list[Any] = []
    threads = [threading.Thread(target=lambda: sent.extend(notify(store, found, AlertSettings()))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(sent) == 1


def test_an_exhausted_budget_is_an_alert(store: Store, passing: list[float]) -> None:
    put(store, passing, 0.5, 60)
    (condition,) = conditions_of(view_of(store, SETTINGS), SETTINGS)
    assert condition.key == "budget" and "is spent: 2" in condition.message
    assert any("evidencerails gate" in line for line in condition.data["recommended"])


def test_right_answers_spend_no_budget_however_unsure_their_scores(store: Store, passing: list[float]) -> None:
    for _ in range(60):
        passing[0] += 1
        store.put(grounded(hallucination_score=0.35), exchange())
    store.flush(10)
    budget = view_of(store, SETTINGS).budget
    assert (budget.state, budget.spent, budget.reports) == ("ok", 0.0, 60.0)


def test_retrieval_quality_is_set_against_the_score(store: Store, passing: list[float]) -> None:
    for quality in np.linspace(0.1, 0.9, 30):
        passing[0] += 1
        abstention = Abstention(action="answer", parts={"retrieval_quality": float(quality)})
        store.put(grounded(hallucination_score=float(1 - quality), abstention=abstention), exchange())
    store.flush(10)
    assert retrieval_correlation(list(queries.summaries(store.engine))) == pytest.approx(-1.0)


def test_a_change_needs_words(store: Store) -> None:
    with pytest.raises(InputError, match="1 to 1000 characters, got 0"):
        add_change(store, "  ")
    hostile = "v3 \x00\ud800 '; DROP TABLE changes; --"
    add_change(store, hostile)
    assert [change.description for change in changes(store)] == [hostile]


def test_mail_goes_to_a_server(store: Store) -> None:
    lines: list[bytes] = []

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write(b"220 test\r\n")
            is_data = False
            for line in self.rfile:
                lines.append(line)
                word = line.strip().upper()
                if is_data and word != b".":
                    continue
                is_data = word == b"DATA"
                self.wfile.write({b"DATA": b"354 go\r\n", b"QUIT": b"221 bye\r\n"}.get(word, b"250 ok\r\n"))
                if word == b"QUIT":
                    return

    from evidencerails.operations.monitoring.alerts import Condition

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        port = server.server_address[1]
        mail = {
            "host": "127.0.0.1",
            "port": port,
            "sender": "a@example.com",
            "to": ["b@example.com"],
            "starttls": False,
        }
        notify(store, [Condition("shift", "it has risen", {})], AlertSettings.model_validate({"email": mail}))
        server.shutdown()
    whole = b"".join(lines)
    assert b"Subject: evidencerails: shift opened" in whole and b"it has risen" in whole and b"b@example.com" in whole


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str], passing: list[float]) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    clock = SteadyClock(wall=lambda: passing[0], monotonic=lambda: passing[0])
    with Store(StoreSettings(url=url), clock=clock) as store:
        put(store, passing, 0.1, 600, flow="\x1b[31m")

    def run(*arguments: str) -> tuple[int, str]:
        capsys.readouterr()
        code = _exit_code([*arguments, "--store", url])
        return code, capsys.readouterr().out

    assert run("gate")[0] == 0
    assert run("alert") == (0, "")
    assert run("change", "prompt v3", "--author", "ann")[1].endswith("prompt v3\n")
    with Store(StoreSettings(url=url), clock=clock) as store:
        put(store, passing, 0.6, 400, seed=1)
    code, out = run("alert")
    assert code == 1 and "opened: the hallucination score has risen" in out and "'prompt v3'" in out
    assert run("alert") == (1, "")
    code, out = run("gate", "--json")
    assert code == 1 and json.loads(out)["state"] == "exhausted"
