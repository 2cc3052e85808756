"""In every mode a planted hallucination is caught and a clean answer passes."""

from collections.abc import Iterable
from typing import Any

import pytest
from nemo_apps import ALWAYS, BLOCKED, CLEAN, EMBEDDINGS, EVIDENCE, PLANTED, QUESTION, WARNING, App, is_sampling
from nemo_modes import FLAGS, MODES, Mode, Seen, Turn

from evidencerails.testing import ReplayServer

WARNING_FLOW = "hallucination warning"
FLAG_OF = {**FLAGS, WARNING_FLOW: "hallucination_warning"}


def modes(names: Iterable[str] = MODES) -> list[Any]:
    """All but the commonest mode take their time."""
    return [pytest.param(name, marks=() if name == "general" else pytest.mark.slow) for name in names]


@pytest.mark.slow
@pytest.mark.parametrize("activation", ["flag", "always"])
@pytest.mark.parametrize("flow", list(FLAGS))
@pytest.mark.parametrize("mode", list(MODES))
async def test_planted_hallucination_is_caught_and_clean_answer_passes(
    app: App, server: ReplayServer, mode: str, flow: str, activation: str
) -> None:
    row = MODES[mode]
    rails = _app(app, row, flow, activation)
    for answer, is_caught in ((PLANTED, True), (CLEAN, False)):
        _script(server, row, answer)
        seen = await row.ask(rails, Turn(answer, QUESTION, _context(row, flow, activation)))
        assert seen.is_caught is is_caught, (answer, seen)
        assert is_caught or seen.text == answer  # a warning below a clean answer means that it was not verified
    assert not server.unmatched


@pytest.mark.parametrize("activation", ["flag", "always"])
@pytest.mark.parametrize("mode", modes())
async def test_hallucination_warning_leaves_the_answer_and_warns(
    app: App, server: ReplayServer, mode: str, activation: str
) -> None:
    """Where NeMo streams it can only let through or stop: there a warning becomes `streaming_fallback`, a block."""
    row = MODES[mode]
    rails = _app(app, row, WARNING_FLOW, activation)
    for answer, is_warned in ((PLANTED, True), (CLEAN, False)):
        _script(server, row, answer)
        seen = await row.ask(rails, Turn(answer, QUESTION, _context(row, WARNING_FLOW, activation)))
        if mode.startswith("stream_async"):
            assert seen.is_caught is is_warned, (answer, seen)
        else:
            assert seen.text.startswith(answer) and not seen.is_caught, (answer, seen)
            assert (WARNING in seen.text) is is_warned, (answer, seen)
            assert is_warned or seen.text == answer


@pytest.mark.parametrize(
    "mode", modes(name for name, row in MODES.items() if row.flags_by_context and "stream_" not in name)
)
async def test_without_flag_nothing_is_checked(app: App, server: ReplayServer, mode: str) -> None:
    row = MODES[mode]
    _script(server, row, PLANTED)
    seen: Seen = await row.ask(
        _app(app, row, "check grounding", "flag"), Turn(PLANTED, QUESTION, {"evidence": EVIDENCE})
    )
    assert not seen.is_caught
    assert not any(is_sampling(request) for request in server.requests)


@pytest.mark.parametrize("flow", list(FLAGS))
@pytest.mark.parametrize("mode", modes(["general", "parallel", "passthrough", "dialog", "single call"]))
async def test_the_turns_after_a_block_are_checked_as_the_first(
    app: App, server: ReplayServer, mode: str, flow: str
) -> None:
    """One conversation: blocked, passed, blocked."""
    row, seen = MODES[mode], []
    rails = _app(app, row, flow, "always")
    if mode == "passthrough":
        history = [{"role": "system", "content": f"Context:\n{EVIDENCE}"}]
    else:
        history = [{"role": "context", "content": {"evidence": EVIDENCE}}]
    for answer in (PLANTED, CLEAN, PLANTED):
        _script(server, row, answer)
        history.append({"role": "user", "content": QUESTION})
        message = await rails.generate_async(messages=history)
        history.append(message)
        seen.append(message["content"])
    assert seen == [BLOCKED, CLEAN, BLOCKED]


@pytest.mark.parametrize("mode", modes(name for name in MODES if name != "evidencerails.stream"))
async def test_shadow_alters_nothing_and_records_what_it_would_have_done(
    app: App, server: ReplayServer, caplog: pytest.LogCaptureFixture, mode: str
) -> None:
    row = MODES[mode]
    rails = _app(app, row, "check grounding", "shadow")
    _script(server, row, PLANTED)
    seen = await row.ask(rails, Turn(PLANTED, QUESTION, {"evidence": EVIDENCE}))
    assert (seen.text, seen.is_caught) == (PLANTED, False)
    rails.runtime.llm_task_manager.evidencerails_plugin.wait_for_shadow(20)
    logged = [line for line in caplog.messages if "check grounding (shadow, answer not altered)" in line]
    assert logged and all("hallucinated, decision block" in line for line in logged)


def _app(app: App, row: Mode, flow: str, activation: str) -> Any:
    flag_flows = "[set flags]" if activation == "flag" else "[]"
    yaml = row.yaml.format(flow=flow, flag_flows=flag_flows) + (
        "" if activation == "flag" else ALWAYS.replace("always", activation)
    )
    flag = f"${FLAG_OF[flow]} = True" if activation == "flag" else "$no_flag = True"
    colang = row.colang.replace("{flag}", flag)
    return app(yaml, colang, more_models=EMBEDDINGS if row.more_models else "")


def _context(row: Mode, flow: str, activation: str) -> dict[str, Any]:
    context: dict[str, Any] = {"evidence": EVIDENCE}
    if activation == "flag" and row.flags_by_context:
        context[FLAG_OF[flow]] = True
    return context


def _script(server: ReplayServer, row: Mode, answer: str) -> None:
    server.reset()
    shape = row.answers or "{}"
    server.reply(shape.format(CLEAN), when=is_sampling)
    server.reply("  ask about the bridge", when="This is how the user talks")
    server.default(shape.format(answer))
