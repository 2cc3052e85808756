"""Whatever fails behind a rail ends in the configured outcome, with its reason in report and log, never in an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from nemo_apps import EVIDENCE, PLANTED, is_sampling, script, user

from evidencerails.adapters.nemo import run_rail
from evidencerails.testing import ReplayServer

CONSISTENCY = """
custom_data: {evidencerails: {activation: always, llm: {timeout_s: 1.0, max_retries: 0}}}
rails: {output: {flows: [self check hallucination]}}
"""
GROUNDING = "custom_data: {evidencerails: {activation: always}}\n"
FAULTS: dict[str, dict[str, Any]] = {
    "timeout": {"text": "late", "delay_s": 5.0},
    "rate limit": {"status": 429},
    "server error": {"status": 500},
    "cut": {"cut": True},
    "hung up": {"cut": "at_once"},
    "broken JSON": {"broken_json": True},
    "empty": {"text": ""},
    "null content": {"text": None},
}


async def _report(app: Any, context: dict[str, Any]) -> tuple[dict[str, Any], str]:
    response = await app.generate_async(messages=user(context), options={"output_vars": ["hallucination_report"]})
    return response.output_data["hallucination_report"], response.response[0]["content"]


@pytest.mark.parametrize("fault", list(FAULTS))
async def test_samples_that_fail_make_the_answer_unverified(
    app: Callable[..., Any], server: ReplayServer, caplog: pytest.LogCaptureFixture, fault: str
) -> None:
    """NeMo's own rail lets the answer pass when its extra calls fail."""
    server.reply(when=is_sampling, **FAULTS[fault])
    server.default(PLANTED)
    report, text = await _report(app(CONSISTENCY), {"x": 1})
    assert (report["status"], report["decision"]) == ("unverified", "warn")
    assert report["reason"].startswith("no_samples: ")
    assert text.startswith(PLANTED) and "could not be verified" in text
    assert any("self check hallucination: unverified" in record.getMessage() for record in caplog.records)


async def test_app_without_a_model_is_unverified(server: ReplayServer) -> None:
    from nemoguardrails import LLMRails, RailsConfig

    yaml = f"import_paths: [evidencerails/plugin]\n{CONSISTENCY}"
    app = LLMRails(RailsConfig.from_content(yaml_content=yaml))
    response = await app.generate_async(
        messages=[*user(), {"role": "assistant", "content": PLANTED}],
        options={"rails": ["output"], "output_vars": ["hallucination_report"]},
    )
    assert "no_model" in response.output_data["hallucination_report"]["reason"]


async def test_answer_without_any_prompt_is_unverified(app: Callable[..., Any]) -> None:
    response = await app(CONSISTENCY).generate_async(
        messages=[{"role": "user", "content": ""}, {"role": "assistant", "content": PLANTED}],
        options={"rails": ["output"], "output_vars": ["hallucination_report"]},
    )
    report = response.output_data["hallucination_report"]
    assert (report["status"], report["decision"]) == ("unverified", "warn")
    assert "no_prompt" in report["reason"]


@pytest.mark.parametrize(
    ("answer", "evidence", "status"),
    [
        ("NUL \x00 and bidi \u202e marks: the bridge of Porto Lindo was opened in 1999.", EVIDENCE, "hallucinated"),
        ("Le pont du port a été inauguré en 1999 par le maire de la ville, Ana Ruiz.", EVIDENCE, "unverified"),
        (PLANTED, f"{'Nothing of note happened that day. ' * 6000}{EVIDENCE}", "hallucinated"),
        ("Hello! How can I help you?", EVIDENCE, "grounded"),
    ],
)
async def test_unusual_text_gets_a_verdict_or_a_reason(
    app: Callable[..., Any], server: ReplayServer, answer: str, evidence: str, status: str
) -> None:
    script(server, answer)
    report, _text = await _report(app(GROUNDING), {"evidence": evidence})
    assert report["status"] == status, report["reason"]


async def test_nli_backend_that_fails_makes_the_answer_unverified(
    app: Callable[..., Any], server: ReplayServer
) -> None:
    yaml = """
    custom_data:
      evidencerails: {activation: always, nli: {backend: remote, url: "http://127.0.0.1:9/", timeout_s: 1.0}}
    """
    script(server, PLANTED)
    report, text = await _report(app(yaml), {"evidence": EVIDENCE})
    assert (report["status"], report["decision"]) == ("unverified", "warn")
    assert "NliError" in report["reason"]
    assert text.startswith(PLANTED)


async def test_prompt_variable_of_a_wrong_type_is_no_prompt(app: Callable[..., Any], server: ReplayServer) -> None:
    script(server, PLANTED)
    report, _ = await _report(app(GROUNDING), {"evidence": EVIDENCE, "_last_bot_prompt": 5})
    assert report["status"] == "hallucinated"


@pytest.mark.parametrize(
    ("settings", "context", "status"),
    [
        (GROUNDING, {}, "unverified"),
        ("", {"check_grounding": True}, "unverified"),
        ("", {}, "skipped"),
        ("custom_data: {evidencerails: {activation: shadow}}\n", {}, "skipped"),
    ],
)
async def test_a_history_that_cannot_be_read_breaks_no_turn(
    app: Callable[..., Any], settings: str, context: dict[str, Any], status: str
) -> None:
    result = await run_rail(
        "check grounding",
        flag="check_grounding",
        context={"bot_message": PLANTED, **context},
        events=5,
        llm_task_manager=app(settings).runtime.llm_task_manager,
    )
    verdict = result.return_value
    assert (verdict.status, bool(verdict)) == (status, False)
    assert status == "skipped" or verdict.reason.startswith("check_failed: TypeError")
