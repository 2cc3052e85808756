"""In every mode a planted hallucination is caught and a clean answer passes."""

from typing import Any

import pytest
from nemo_apps import ALWAYS, BLOCKED, CLEAN, EMBEDDINGS, EVIDENCE, PLANTED, QUESTION, WARNING, App, is_sampling
from nemo_modes import FLAGS, MODES, Mode, Seen, Turn

from evidencerails.testing import ReplayServer

pytestmark = pytest.mark.slow

WARNING_FLOW = "hallucination warning"
FLAG_OF = {**FLAGS, WARNING_FLOW: "hallucination_warning"}


@pytest.mark.parametrize("activation", ["flag", "always"])
@pytest.mark.parametrize("flow", FLAGS)
@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "general"])  # that one is in test_rails
async def test_planted_hallucination_is_caught_and_clean_answer_passes(
    app: App, server: ReplayServer, mode: str, flow: str, activation: str
) -> None:
    assert (await _seen(app, server, mode, PLANTED, flow, activation)).is_caught
    # A warning below a clean answer means that it was not verified.
    assert await _seen(app, server, mode, CLEAN, flow, activation) == (CLEAN, False)
    assert not server.unmatched


@pytest.mark.parametrize("mode", MODES)
async def test_hallucination_warning_leaves_the_answer_and_warns(app: App, server: ReplayServer, mode: str) -> None:
    """Where NeMo streams it can only let through or stop: there a warning becomes `streaming_fallback`, a block."""
    text, is_caught = await _seen(app, server, mode, PLANTED, WARNING_FLOW, "flag")
    if mode.startswith("stream_async"):
        assert is_caught, text
    else:
        assert text.startswith(PLANTED) and WARNING in text and not is_caught
    assert await _seen(app, server, mode, CLEAN, WARNING_FLOW, "flag") == (CLEAN, False)


@pytest.mark.parametrize(
    "mode", [name for name, row in MODES.items() if row.flags_by_context and "stream_" not in name]
)
async def test_without_flag_nothing_is_checked(app: App, server: ReplayServer, mode: str) -> None:
    assert await _seen(app, server, mode, PLANTED, "self check hallucination", "none") == (PLANTED, False)
    assert not any(map(is_sampling, server.requests))


@pytest.mark.parametrize("flow", FLAGS)
@pytest.mark.parametrize("mode", ["general", "parallel", "passthrough", "dialog", "single call"])
async def test_the_turns_after_a_block_are_checked_as_the_first(
    app: App, server: ReplayServer, mode: str, flow: str
) -> None:
    """One conversation: blocked, passed, blocked."""
    row, said = MODES[mode], []
    history: list[Any] = [{"role": "context", "content": {"evidence": EVIDENCE}}]
    if mode == "passthrough":
        history = [{"role": "system", "content": f"Context:\n{EVIDENCE}"}]
    for answer in (PLANTED, CLEAN, PLANTED):
        _script(server, row, answer)
        history.append({"role": "user", "content": QUESTION})
        history.append(await _app(app, row, flow, "always").generate_async(messages=history))
        said.append(history[-1]["content"])
    assert said == [BLOCKED, CLEAN, BLOCKED]


@pytest.mark.parametrize("mode", [name for name in MODES if name != "evidencerails.stream"])
async def test_shadow_alters_nothing_and_records_what_it_would_have_done(
    app: App, server: ReplayServer, caplog: pytest.LogCaptureFixture, mode: str
) -> None:
    assert await _seen(app, server, mode, PLANTED, "check grounding", "shadow") == (PLANTED, False)
    rails = _app(app, MODES[mode], "check grounding", "shadow")
    rails.runtime.llm_task_manager.evidencerails_plugin.wait_for_shadow(20)
    logged = [line for line in caplog.messages if "check grounding (shadow, answer not altered)" in line]
    assert logged and all("hallucinated, decision block" in line for line in logged)


async def _seen(app: App, server: ReplayServer, mode: str, answer: str, flow: str, activation: str) -> Seen:
    """A turn whose model gives this answer; activation `none` is by flag, without it."""
    row = MODES[mode]
    _script(server, row, answer)
    flag = {FLAG_OF[flow]: True} if activation == "flag" and row.flags_by_context else {}
    return await row.ask(_app(app, row, flow, activation), Turn(answer, QUESTION, {"evidence": EVIDENCE, **flag}))


def _app(app: App, row: Mode, flow: str, activation: str) -> Any:
    by_flag = activation in ("flag", "none")
    yaml = row.yaml.format(flow=flow, flag_flows="[set flags]" if by_flag else "[]")
    flag = f"${FLAG_OF[flow]} = True" if by_flag else "$no_flag = True"
    return app(
        yaml + ("" if by_flag else ALWAYS.replace("always", activation)),
        row.colang.replace("{flag}", flag),
        more_models=EMBEDDINGS if row.more_models else "",
    )


def _script(server: ReplayServer, row: Mode, answer: str) -> None:
    server.reset()
    server.reply(row.answers.format(CLEAN), when=is_sampling)
    server.reply("  ask about the bridge", when="This is how the user talks")
    server.default(row.answers.format(answer))
