"""The service and its store: away, and shared by two."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from service_process import BAD, GOOD, Service

pytestmark = pytest.mark.slow


def test_without_its_database_checks_go_on_and_history_says_why(serve: Callable[..., Service], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    settings = {"store": {"url": f"sqlite:///{tmp_path}/file/reports.db", "spool": str(tmp_path / "spool")}}
    with serve(settings).client() as client:
        made = client.post("/v1/check", json=BAD)
        history = client.get("/v1/history")
    assert (made.status_code, made.json()["status"]) == (200, "hallucinated")
    assert (history.status_code, history.json()["error"]["code"]) == (503, "store_unavailable")
    assert int(history.headers["retry-after"]) >= 1


def test_readiness_and_metrics_show_what_is_lost(serve: Callable[..., Service], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    place = {"url": f"sqlite:///{tmp_path}/file/reports.db", "spool": str(tmp_path / "file" / "spool"), "queue_size": 2}
    with serve({"store": place}).client() as client:
        assert client.get("/readyz").json() == {"status": "ready"}
        for _ in range(5):
            assert client.post("/v1/check", json=GOOD).status_code == 200
            time.sleep(0.2)  # the writer's own time
        ready, metrics = client.get("/readyz"), client.get("/metrics").text
    store = {"is_written": False, "waiting_in_memory": 2, "lost": 3}
    assert (ready.status_code, ready.json()) == (200, {"status": "ready", "store": store})
    assert "evidencerails_store_lost 3.0" in metrics and "evidencerails_store_waiting 2.0" in metrics


def test_two_services_share_one_store(serve: Callable[..., Service], tmp_path: Path) -> None:
    settings = {"store": {"url": f"sqlite:///{tmp_path}/shared.db"}}
    one, other = serve(settings), serve(settings)
    made = set()
    for service, body in ((one, GOOD), (other, BAD)):
        with service.client() as client:
            answer = client.post("/v1/batch", json={"items": [body] * 10}).json()
            made |= {result["report"]["id"] for result in answer["results"]}
    assert len(made) == 20
    for service in (one, other):
        with service.client() as client:
            for _ in range(100):  # the stores write off the turn
                seen = {row["id"] for row in client.get("/v1/history").json()["reports"]}
                if seen == made:
                    break
                time.sleep(0.1)
            assert seen == made
