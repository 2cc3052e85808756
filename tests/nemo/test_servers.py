"""The HTTP API of `nemoguardrails server`: chat completions and checks, and two configs side by side."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from nemo_apps import ALWAYS, BLOCKED, CLEAN, EVIDENCE, PLANTED, QUESTION, STREAMED, app_yaml, script

from evidencerails.testing import ReplayServer

pytestmark = pytest.mark.slow

START_TIMEOUT_S = 120.0
RAIL = "rails: {output: {flows: [FLOW], " + STREAMED + "}}\n"
LENIENT = """
custom_data:
  evidencerails: {activation: always, policies: [{when: {kind: unsupported_claim}, then: allow}]}
rails: {output: {flows: [check grounding]}}
"""
CONFIGS = {
    "strict": ALWAYS + RAIL.replace("FLOW", "check grounding"),
    "lenient": LENIENT,
    "flag": RAIL.replace("FLOW", "self check hallucination"),
}


@pytest.fixture(scope="module")
def _api(_server: ReplayServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    folder = tmp_path_factory.mktemp("nemo-server")
    for name, yaml in CONFIGS.items():
        (folder / "configs" / name).mkdir(parents=True)
        (folder / "configs" / name / "config.yml").write_text(app_yaml(_server.base_url, yaml))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "nemoguardrails", "server", "--config", str(folder / "configs"), "--port"]
    environment = {**os.environ, "OPENAI_API_KEY": "test-key"}
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [*command, str(port), "--disable-chat-ui"], cwd=folder, env=environment, stdout=log, stderr=log
        )
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60, trust_env=False) as client:
            _wait_until_ready(client, process, folder / "log")
            yield client
    finally:
        process.terminate()
        process.wait(30)


def _wait_until_ready(client: httpx.Client, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if client.get("/v1/rails/configs").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    raise AssertionError(log.read_text())


@pytest.fixture
def api(_api: httpx.Client, server: ReplayServer) -> httpx.Client:
    """A client of a running `nemoguardrails server` that offers the configs above."""
    return _api


def _body(config: str, *messages: tuple[str, str], flag: str | None = None, **more: Any) -> dict[str, Any]:
    guardrails = {"config_id": config, "context": {"evidence": EVIDENCE, **({flag: True} if flag else {})}}
    listed = [{"role": role, "content": content} for role, content in messages]
    return {"model": "gpt-4o-mini", "messages": listed, "guardrails": guardrails, **more}


@pytest.mark.parametrize(
    ("config", "flow", "flag"),
    [("strict", "check grounding", None), ("flag", "self check hallucination", "check_hallucination")],
)
def test_every_way_of_asking_is_guarded(
    api: httpx.Client, server: ReplayServer, config: str, flow: str, flag: str | None
) -> None:
    """Chat completions, streamed ones, and checks of a ready answer, with the flag in the request's context."""
    for answer, is_caught in ((PLANTED, True), (CLEAN, False)):
        script(server, answer)
        reply = api.post("/v1/chat/completions", json=_body(config, ("user", QUESTION), flag=flag))
        assert reply.json()["choices"][0]["message"]["content"] == (BLOCKED if is_caught else answer)
        reply = api.post("/v1/chat/completions", json=_body(config, ("user", QUESTION), flag=flag, stream=True))
        assert (f"Blocked by {flow} rails." in reply.text) is is_caught
        ready = _body(config, ("user", QUESTION), ("assistant", answer), flag=flag)
        result = api.post("/v1/checks", json=ready).json()
        blocked = {"status": "blocked", "content": BLOCKED, "rail": flow}
        assert result == (blocked if is_caught else {"status": "passed", "content": answer})


@pytest.mark.parametrize("config", ["flag", "lenient"])
def test_one_config_does_not_block_for_another(api: httpx.Client, server: ReplayServer, config: str) -> None:
    """Neither without the flag, where nothing is checked, nor against its own policy."""
    script(server, PLANTED)
    reply = api.post("/v1/chat/completions", json=_body(config, ("user", QUESTION)))
    assert reply.json()["choices"][0]["message"]["content"] == PLANTED
    assert len(server.requests) == 1
