"""The config `grounded_generation` in real turns: our generation takes the place of NeMo's."""

import json
from typing import Any

import pytest
from nemoguardrails import LLMRails, RailsConfig

from evidencerails.settings.paths import data_folder
from evidencerails.testing import ReplayServer

EVIDENCE = "The Halden bridge opened in 1932. It is 412 metres long."
QUESTION = "When did the Halden bridge open?"
GENERATES = "You answer questions from evidence"


@pytest.fixture
def rails(server: ReplayServer) -> LLMRails:
    config = RailsConfig.from_path(str(data_folder("configs") / "grounded_generation"))
    config.models[0].parameters = {"base_url": server.base_url, "api_key": "none"}
    return LLMRails(config)


def claims(*pairs: tuple[str, list[str]]) -> str:
    rows = [
        {"statement": text, "claim_type": "factual", "source_refs": refs, "confidence": 0.9, "caveats": []}
        for text, refs in pairs
    ]
    return json.dumps({"claims": rows})


async def ask(rails: LLMRails) -> str:
    context = {"role": "context", "content": {"relevant_chunks": EVIDENCE}}
    message: dict[str, Any] = await rails.generate_async(messages=[context, {"role": "user", "content": QUESTION}])
    return str(message["content"])


async def test_the_answer_is_made_of_sourced_claims(rails: LLMRails, server: ReplayServer) -> None:
    server.reply(
        claims(
            ("The Halden bridge opened in 1932.", ["1"]),
            ("It was painted green.", []),
            ("It is 412 metres long.", ["1"]),
            ("It opened in 1875.", ["1"]),
        ),
        when=GENERATES,
    )
    content = await ask(rails)
    assert "opened in 1932 [1]." in content and "412 metres long [1]." in content
    assert "green" not in content and "1875" not in content


@pytest.mark.parametrize("reply", ["It opened in 1875.", ""])
async def test_prose_never_reaches_the_user(rails: LLMRails, server: ReplayServer, reply: str) -> None:
    server.reply(reply, when=GENERATES)
    assert "1875" not in await ask(rails)
