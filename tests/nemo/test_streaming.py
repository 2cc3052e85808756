"""Streams: what NeMo's chunks hide is found anyway."""

from collections.abc import AsyncIterator

import pytest
from nemo_apps import (
    CLEAN,
    EMBEDDINGS,
    EVIDENCE,
    PLANTED,
    QUESTION,
    STREAMED,
    App,
    app_yaml,
    is_blocked,
    is_sampling,
    make_app,
    script,
    streamed,
    user,
)
from nemo_modes import DIALOG

from evidencerails.testing import ReplayServer

YAML = "rails: {dialog: {single_call: {enabled: SINGLE}}, output: {flows: [FLOW], " + STREAMED + "}}\n"
GROUNDING = YAML.replace("SINGLE", "false").replace("FLOW", "check grounding")
ANSWERS = {"false": '  "{}"', "true": 'user ask about the bridge\nbot tell about the bridge\n  "{}"'}


@pytest.mark.slow
@pytest.mark.parametrize("single_call", list(ANSWERS))
async def test_dialog_streams_are_checked(app: App, server: ReplayServer, single_call: str) -> None:
    """The flag that a dialog flow sets is invisible to the chunk calls of a stream, so it counts as set."""
    yaml = YAML.replace("SINGLE", single_call).replace("FLOW", "self check hallucination")
    rails = app(yaml, DIALOG.replace("{flag}", "$check_hallucination = True"), more_models=EMBEDDINGS)
    for answer, is_caught in ((PLANTED, True), (CLEAN, False)):
        server.reset()
        server.reply(ANSWERS[single_call].format(CLEAN), when=is_sampling)
        server.reply("  ask about the bridge", when="This is how the user talks")
        server.default(ANSWERS[single_call].format(answer))
        assert is_blocked(await streamed(rails.stream_async(messages=user()))) is is_caught


@pytest.mark.parametrize("ending", [".", ""])
async def test_answer_from_a_generator_of_the_caller_is_checked_to_its_end(app: App, ending: str) -> None:
    """No LLM call is logged then; a last sentence without a full stop passed unseen."""
    rails = app(GROUNDING)

    async def words(text: str) -> AsyncIterator[str]:
        for word in text.split(" "):
            yield f"{word} "

    for answer, is_caught in ((PLANTED, True), (CLEAN, False)):
        text = answer.rstrip(".") + ending
        stream = rails.stream_async(messages=user({"evidence": EVIDENCE}), generator=words(text))
        assert is_blocked(await streamed(stream)) is is_caught


async def test_tool_messages_are_evidence_in_a_stream(app: App, server: ReplayServer) -> None:
    """NeMo shows a chunk call the last user and context message, and no others."""
    rails = app(GROUNDING)
    tool = {"role": "tool", "name": "bridges", "tool_call_id": "1", "content": EVIDENCE}
    for answer, is_caught in ((PLANTED, True), (CLEAN, False)):
        script(server, answer)
        messages = [{"role": "user", "content": QUESTION}, tool, {"role": "user", "content": "So when?"}]
        assert is_blocked(await streamed(rails.stream_async(messages=messages))) is is_caught


async def test_evidencerails_stream_refuses_an_app_that_checks_nothing(server: ReplayServer) -> None:
    import evidencerails
    from evidencerails.errors import SettingsError

    bare = make_app(app_yaml(server.base_url, "rails: {}\n").replace("import_paths: [evidencerails/plugin]", ""))
    script(server, PLANTED)
    with pytest.raises(SettingsError, match="not set up in this app"):
        await streamed(evidencerails.stream(bare, messages=user({"evidence": EVIDENCE})))
    assert not server.requests
