"""Bad input and faults, item by item: each turn ends with its reason in report, log and answer.

Outcomes are a real verdict or `unverified`; never an error inside the app, and never a silent pass.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from langchain_core.documents import Document
from nemo_apps import (
    ALWAYS,
    BLOCKED,
    CLEAN,
    EVIDENCE,
    PLANTED,
    QUESTION,
    STREAMED,
    App,
    checked,
    is_sampling,
    make_app,
    user,
)

from evidencerails.adapters.nemo import run_rail
from evidencerails.testing import ReplayServer

pytestmark = pytest.mark.slow

UNVERIFIED_NOTE = "could not be verified"
SAMPLES = "self check hallucination"
PADDING = "Nothing of note happened in the harbour that day. "
SETTINGS = """
custom_data:
  evidencerails:
    activation: always
    llm: {{timeout_s: {timeout_s}, max_retries: 0}}
    {more}
rails: {{output: {{flows: [{flow}]}}}}
"""
LOOK_UP = """
define subflow look up
  $evidence = execute look_up_bridge
"""
JUDGE = "consistency: {agreement: judge, samples: 1}"
DEAD_BACKEND = 'nli: {backend: remote, url: "http://127.0.0.1:9/", timeout_s: 1.0}'


@dataclass(frozen=True, kw_only=True)
class Case:
    """One bad turn and what it must end in."""

    status: str = "unverified"
    reason: str = ""
    """Part of the report's reason."""
    flow: str = "check grounding"
    settings: str = ""
    answer: str = PLANTED
    context: Mapping[str, Any] = field(default_factory=lambda: {"evidence": EVIDENCE})
    question: str = QUESTION
    sampling: Mapping[str, Any] | None = None
    """How the model's server answers the requests for samples."""
    judging: str | None = None
    """What the model says when it is asked to judge."""
    is_ready: bool = False
    """The answer is handed over instead of written by the model."""
    timeout_s: float = 20.0


def _faulty(reason: str, *, timeout_s: float = 20.0, **sampling: Any) -> Case:
    return Case(flow=SAMPLES, reason=reason, sampling=sampling, timeout_s=timeout_s)


def _given(evidence: Any, *, status: str = "hallucinated", reason: str = "") -> Case:
    return Case(context={"evidence": evidence}, status=status, reason=reason)


def _refused(evidence: Any) -> Case:
    return _given(evidence, status="unverified", reason="bad_evidence: $evidence: evidence item 1 is ")


FAULTS = {
    "LLM timeout": _faulty("no_samples: LlmTimeoutError", timeout_s=1.0, text="late", delay_s=4.0),
    "500": _faulty("no_samples: LlmError", status=500),
    "connection cut in the reply": _faulty("no_samples: LlmError", text=CLEAN, cut=True),
    "empty reply": _faulty("no_samples: LlmReplyError", text=""),
    "non-text reply: a tool call": _faulty("no_samples: LlmReplyError", text=None, tool_calls=[{"name": "look_up"}]),
    "non-text reply: only a reasoning trace": _faulty("no_samples: LlmReplyError", text="", reasoning="Let me see."),
    "prose instead of a verdict": Case(flow=SAMPLES, settings=JUDGE, reason="check_failed: LlmReplyError",
     judging="That is a matter of perspective."),
    "missing prompt": Case(flow=SAMPLES, reason="no_prompt", question="", is_ready=True),
    "a crashing NLI backend": Case(settings=DEAD_BACKEND, reason="check_failed: NliError"),
    "no evidence": Case(context={}, reason="no_evidence"),
    "blank evidence": _given([" ", "\n"], status="unverified", reason="no_evidence"),
    "evidence: a number": _refused(5),
    "evidence: an object": _refused(object()),
    "other languages: Japanese": Case(answer="港橋は1999年に市長アナ・ルイスによって開通しました。", reason="language"),
}  # fmt: skip
VERDICTS = {
    "evidence: documents": _given([Document(page_content=EVIDENCE, metadata={"source": "harbour.txt"})]),
    "200 kB of evidence, the lie's source at the end": _given(PADDING * 4_000 + EVIDENCE),
    "100 kB of answer": Case(answer=f"{CLEAN} " * 1_900 + PLANTED, status="hallucinated"),
    "NUL characters": Case(answer=PLANTED.replace(" ", "\x00 "), status="hallucinated"),
    "bidi characters": Case(answer="\u202e" + PLANTED.replace("was", "\u2067was\u2069"), status="hallucinated"),
    "lone surrogate": Case(answer=f"{PLANTED} \ud83d", status="hallucinated"),
    "template signs": Case(answer=f"{PLANTED} {{{{ 7*7 }}}} {{% if %}}", status="hallucinated"),
    "an empty answer": Case(answer="", is_ready=True, status="grounded", reason="no_claims"),
}


def _script(server: ReplayServer, case: Case) -> None:
    if case.judging is not None:
        server.reply(case.judging, when="yes or no")
    server.reply(when=is_sampling, **(case.sampling or {"text": CLEAN}))
    server.default(case.answer)


def _app(app: App, case: Case) -> Any:
    """The app of a case; an input flow sets the evidence that no message can carry."""
    settings = SETTINGS.format(timeout_s=case.timeout_s, more=case.settings, flow=case.flow)
    rails = app(settings.replace("rails: {", "rails: {input: {flows: [look up]}, "), LOOK_UP)
    found = case.context.get("evidence")

    async def look_up_bridge() -> Any:
        return found

    rails.runtime.register_action(look_up_bridge, "look_up_bridge", override=True)
    return rails


async def _turn(rails: Any, case: Case) -> tuple[str, dict[str, Any]]:
    asked = user(text=case.question)
    if case.is_ready:
        return await checked(rails, messages=[*asked, {"role": "assistant", "content": case.answer}], rails=["output"])
    return await checked(rails, messages=asked)


@pytest.mark.parametrize("name", FAULTS)
async def test_what_cannot_be_checked_is_unverified_in_report_log_and_answer(
    app: App, server: ReplayServer, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    case = FAULTS[name]
    _script(server, case)
    rails = _app(app, case)
    with caplog.at_level(logging.WARNING, logger="evidencerails"):
        text, report = await _turn(rails, case)
    assert (report["status"], report["decision"]) == ("unverified", "warn"), report["reason"]
    assert case.reason in report["reason"]
    assert report["hallucination_score"] is None
    lines = [line for line in caplog.messages if f"{case.flow}: unverified, decision warn" in line]
    assert len(lines) == 1 and case.reason.split(":")[0] in lines[0]
    assert EVIDENCE not in caplog.text and PLANTED not in caplog.text
    assert text.startswith(case.answer) and UNVERIFIED_NOTE in text


@pytest.mark.parametrize("name", VERDICTS)
async def test_what_can_be_checked_gets_its_verdict(app: App, server: ReplayServer, name: str) -> None:
    case = VERDICTS[name]
    _script(server, case)
    rails = _app(app, case)
    text, report = await _turn(rails, case)
    assert report["status"] == case.status and case.reason in report["reason"], report["reason"]
    assert text == (BLOCKED if case.status == "hallucinated" else case.answer)
    for claim in report["claims"]:
        assert case.answer[claim["span"]["start"] : claim["span"]["end"]] == claim["span"]["text"]


def _streaming(app: App) -> Any:
    settings = SETTINGS.format(timeout_s=20, more="", flow="check grounding")
    return app(settings.replace("flows: [check grounding]", f"flows: [check grounding], {STREAMED}"))


ASKED = user({"evidence": EVIDENCE})


async def test_a_cut_stream_ends_in_an_error_and_what_had_come_was_checked(app: App, server: ReplayServer) -> None:
    rails = _streaming(app)
    for answer in (PLANTED, CLEAN):
        server.reset()
        server.reply(f"{answer} " * 20, cut=True)
        pieces = [piece async for piece in rails.stream_async(messages=ASKED)]
        assert pieces[-1].startswith('{"error"')
        assert "1999" not in "".join(pieces)
    assert "".join(pieces[:-1]).startswith(CLEAN)


PROVIDER_ERROR = '{"error": {"message": "The service of the provider was down in 1999.", "type": "server_error"}}'
OUR_BLOCK = '{"error": {"message": "Blocked by check grounding rails."'


@pytest.mark.parametrize(
    ("answer", "last"),
    [
        (PLANTED, OUR_BLOCK),
        (CLEAN, PROVIDER_ERROR),
        (PLANTED.rstrip("."), OUR_BLOCK),
        (CLEAN.rstrip("."), PROVIDER_ERROR),
        ("The Harbour Bridge of Porto", PROVIDER_ERROR),
    ],
    ids=["contradicted", "supported", "contradicted, cut", "supported, cut", "no statement yet"],
)
async def test_what_a_broken_stream_leaves_is_checked_without_its_error(app: App, answer: str, last: str) -> None:
    """The user has it before them, so it counts as said; docs/rails.md. The error that NeMo appends was checked as if
    the model had said it, and blocked for want of evidence."""

    async def broken() -> AsyncIterator[str]:
        for word in answer.split(" "):
            yield f"{word} "
        yield PROVIDER_ERROR

    pieces = [piece async for piece in _streaming(app).stream_async(messages=ASKED, generator=broken())]
    assert pieces[-1].startswith(last)


async def test_cancellation_stops_the_turn_and_the_next_one_is_checked(
    app: App, server: ReplayServer, caplog: pytest.LogCaptureFixture
) -> None:
    """A cancelled turn is cancelled, neither answered nor reported; its request to the model is given up."""
    rails = _app(app, Case(flow=SAMPLES))
    server.reply(CLEAN, when=is_sampling, delay_s=20.0)
    server.default(PLANTED)
    turn = asyncio.ensure_future(_turn(rails, Case()))
    while not any(map(is_sampling, server.requests)):  # noqa: ASYNC110  the server runs in a thread, without events
        await asyncio.sleep(0.02)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    assert not [line for line in caplog.messages if f"{SAMPLES}: " in line]
    server.reset()
    server.reply(CLEAN, when=is_sampling)
    server.default(PLANTED)
    text, report = await _turn(rails, Case())
    assert (text, report["status"]) == (BLOCKED, "hallucinated")


async def test_app_without_a_model_is_unverified() -> None:
    rails = make_app(SETTINGS.format(timeout_s=20, more="", flow=SAMPLES) + "import_paths: [evidencerails/plugin]\n")
    text, report = await _turn(rails, Case(is_ready=True))
    assert report["status"] == "unverified" and "no_model" in report["reason"]
    assert text.startswith(PLANTED) and UNVERIFIED_NOTE in text


@pytest.mark.parametrize(
    ("settings", "context", "status"),
    [
        (ALWAYS, {}, "unverified"),
        ("", {"check_grounding": True}, "unverified"),
        ("", {}, "skipped"),
        ("custom_data: {evidencerails: {activation: shadow}}\n", {}, "skipped"),
    ],
)
async def test_a_history_that_cannot_be_read_breaks_no_turn(
    app: App, settings: str, context: dict[str, Any], status: str
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
