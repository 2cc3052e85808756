"""What a provider or a backend says may quote what it was sent: that leaves the app only if evidence is exposed."""

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from scripted_nli import ScriptedNli

from evidencerails import Guard, Report
from evidencerails.testing import ReplayServer

SECRET = "The vault code of Halden is Quorzyn."
ANSWER = "The vault in Halden was opened in 1932 by the mayor."


@pytest.fixture
def server() -> Iterator[ReplayServer]:
    with ReplayServer() as server:
        server.reply(status=400, message=f"content filter: {SECRET}", when=lambda _: True)
        yield server


def quoting(premise: str, _: str) -> Any:
    raise OSError(f"cannot tokenize {premise!r}")


SAMPLES = {"checks": ["consistency"]}, {"prompt": f"Say it: {SECRET}"}
FAILURES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "samples": SAMPLES,
    "judge": ({"checks": ["claims"], "claims": {"classifier": "llm", "extractor": "llm"}}, {"evidence": SECRET}),
    "measure": ({"checks": ["claims"], "scoring": {"measures": ["judge"]}, "claims": {"classifier": "offline"}},
                {"evidence": SECRET}),
    "agreement": ({"checks": ["consistency"], "consistency": {"agreement": "judge"}},
                  {"prompt": "Which?", "samples": [SECRET]}),
    "nli": ({}, {"evidence": SECRET}),
}  # fmt: skip
"""Settings and arguments by what fails; the backend's errors repeat their input."""


def report_of(server: ReplayServer, settings: dict[str, Any], arguments: dict[str, Any], **parts: Any) -> Report:
    llm = {"model": "m", "base_url": server.base_url, "api_key": "k", "max_retries": 0}
    return Guard({**settings, "llm": llm}, **parts).check_sync(ANSWER, **arguments)


@pytest.mark.parametrize("failure", FAILURES)
def test_external_text_stays_inside_unless_exposed(
    failure: str, server: ReplayServer, caplog: pytest.LogCaptureFixture
) -> None:
    # The HTTP clients' own debug logs hold whole requests; they are not ours and off by default.
    with caplog.at_level(logging.DEBUG, logger="evidencerails"):
        parts = {"nli": ScriptedNli(quoting)} if failure == "nli" else {}
        report = report_of(server, *FAILURES[failure], **parts)
    assert "Quorzyn" in report.model_dump_json(), "the report of the process itself keeps everything"
    hidden = report.plain(expose_evidence=False)
    assert "Quorzyn" not in json.dumps(hidden)
    reasons = [hidden["reason"], *(check["reason"] for check in hidden["checks"].values())]
    assert all(reasons), "a reason is left"
    assert "Quorzyn" in json.dumps(report.plain(expose_evidence=True))
    for redaction in ("hash", "drop"):
        assert "Quorzyn" not in json.dumps(report.plain(redaction=redaction, expose_evidence=True))
    assert not [record.getMessage() for record in caplog.records if "Quorzyn" in record.getMessage()]


def test_what_a_provider_failed_with_is_still_reported(server: ReplayServer) -> None:
    reason = report_of(server, *SAMPLES).plain(expose_evidence=False)["reason"]
    assert reason == "no_samples: LlmError: model 'm' failed: BadRequestError, status 400"


def test_an_answer_that_holds_the_mark_is_not_cut() -> None:
    answer = "The clerk read; its own words: the bridge of Halden was opened in 1932."
    report = Guard().check_sync(answer, evidence=answer)
    assert report.plain(expose_evidence=False)["claims"][0]["span"]["text"] in answer
    assert "1932" in report.plain(expose_evidence=False)["claims"][0]["span"]["text"]
