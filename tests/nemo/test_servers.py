"""The HTTP API of `nemoguardrails server`: chat completions and checks, and two configs side by side."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from nemo_apps import BLOCKED, CLEAN, EVIDENCE, PLANTED, QUESTION, app_yaml, script

from groundrails.testing import ReplayServer

STRICT = """
custom_data:
  groundrails: {activation: always}
rails:
  output:
    flows: [check grounding]
    streaming: {enabled: true, chunk_size: 8, context_size: 4, stream_first: false}
"""
LENIENT = """
custom_data:
  groundrails: {activation: always, policies: [{when: {kind: unsupported_claim}, then: allow}]}
rails: {output: {flows: [check grounding]}}
"""


@pytest.fixture
def api(server: ReplayServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A client of the server, which offers the configs `strict` and `lenient`."""
    from fastapi.testclient import TestClient
    from nemoguardrails.server import api as server_api

    for name, yaml in (("strict", STRICT), ("lenient", LENIENT)):
        (tmp_path / "configs" / name).mkdir(parents=True)
        (tmp_path / "configs" / name / "config.yml").write_text(app_yaml(server.base_url, yaml))
    monkeypatch.setattr(server_api.app, "rails_config_path", str(tmp_path / "configs"))
    monkeypatch.setattr(server_api, "llm_rails_instances", {})
    monkeypatch.setattr(server_api, "llm_rails_events_history_cache", {})
    yield TestClient(server_api.app)


def _body(config: str, *messages: tuple[str, str], **more: Any) -> dict[str, Any]:
    guardrails = {"config_id": config, "context": {"evidence": EVIDENCE}}
    listed = [{"role": role, "content": content} for role, content in messages]
    return {"model": "gpt-4o-mini", "messages": listed, "guardrails": guardrails, **more}


def test_chat_completion_is_blocked_by_one_config_and_not_by_the_other(api: Any, server: ReplayServer) -> None:
    answers = {}
    for config in ("strict", "lenient"):
        for answer in (PLANTED, CLEAN):
            server.reset()
            script(server, answer)
            reply = api.post("/v1/chat/completions", json=_body(config, ("user", QUESTION)))
            answers[config, answer] = reply.json()["choices"][0]["message"]["content"]
    assert answers == {
        ("strict", PLANTED): BLOCKED,
        ("strict", CLEAN): CLEAN,
        ("lenient", PLANTED): PLANTED,
        ("lenient", CLEAN): CLEAN,
    }


def test_checks_endpoint_names_the_rail_that_blocked(api: Any) -> None:
    results = [
        api.post("/v1/checks", json=_body("strict", ("user", QUESTION), ("assistant", answer))).json()
        for answer in (PLANTED, CLEAN)
    ]
    assert results[0]["status"] == "blocked" and results[0]["rail"] == "check grounding"
    assert results[1] == {"status": "passed", "content": CLEAN}


def test_streamed_completion_ends_where_the_rail_blocks(api: Any, server: ReplayServer) -> None:
    for answer, is_blocked in ((PLANTED, True), (CLEAN, False)):
        server.reset()
        script(server, answer)
        reply = api.post("/v1/chat/completions", json=_body("strict", ("user", QUESTION), stream=True))
        assert ("Blocked by check grounding rails." in reply.text) is is_blocked
